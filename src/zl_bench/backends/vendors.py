"""The vendors: those that ship with the tool as one explicit table, third parties' by entry point, and how one is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points

from zl_bench.backends import (
    aipu,
    amd,
    arm,
    ascend,
    cambricon,
    enflame,
    hygon,
    iluvatar,
    kunlunxin,
    metax,
    mthreads,
    nvidia,
    spacemit,
    sunrise,
    thead,
    tsingmicro,
)
from zl_bench.backends.base import DeviceBackend
from zl_bench.errors import UsageError

BACKENDS = (
    nvidia.BACKEND,
    amd.BACKEND,
    mthreads.BACKEND,
    ascend.BACKEND,
    cambricon.BACKEND,
    metax.BACKEND,
    hygon.BACKEND,
    iluvatar.BACKEND,
    kunlunxin.BACKEND,
    tsingmicro.BACKEND,
    sunrise.BACKEND,
    enflame.BACKEND,
    thead.BACKEND,
    aipu.BACKEND,
    arm.BACKEND,
    spacemit.BACKEND,
)
ENTRY_POINTS = "zl_bench.backends"
"""A third party's distribution names its DeviceBackend in this group."""
FLAGGEMS_VENDOR = ("GEMS_VENDOR", "FLAGGEMS_VENDOR", "GEMS_BACKEND", "FLAGGEMS_BACKEND")
"""Where FlagGems looks for its vendor, the first that is set."""


def all_backends() -> tuple[DeviceBackend, ...]:
    """Those that ship with the tool, then those of third parties. Raises UsageError for one that can not be used."""
    return BACKENDS + registered(entry_points(group=ENTRY_POINTS))


def registered(points: Iterable[EntryPoint]) -> tuple[DeviceBackend, ...]:
    """The backends of entry points. A name or a target kind that is taken can not be taken over."""
    found: list[DeviceBackend] = []
    for point in points:
        backend = _load(point)
        for known in (*BACKENDS, *found):
            shared = {known.name} & {backend.name} or set(known.target_kinds) & set(backend.target_kinds)
            if shared:
                raise UsageError(
                    f"The backend {backend.name!r} of entry point {point.name} = {point.value} and {known.name!r} "
                    f"share {min(shared)!r}. Uninstall one, or give it a name and target kinds of its own."
                )
        found.append(backend)
    return tuple(found)


def _load(point: EntryPoint) -> DeviceBackend:
    try:
        backend = point.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"The backend of entry point {point.name} = {point.value} can not be loaded: {error}."
        ) from error
    if not isinstance(backend, DeviceBackend):
        raise UsageError(
            f"Entry point {point.name} = {point.value} is no DeviceBackend but a {type(backend).__name__}."
        )
    return backend


def backend_named(name: str) -> DeviceBackend:
    """The backend of that vendor. Raises UsageError naming the known ones."""
    backends = all_backends()
    for backend in backends:
        if backend.name == name:
            return backend
    known = ", ".join(backend.name for backend in backends)
    raise UsageError(f"There is no vendor {name!r}. Known vendors: {known}.")


def backend_for_target(target: str) -> DeviceBackend:
    """The backend whose Triton compiles for that target kind. Raises UsageError for a kind that no vendor here has."""
    kind = target.partition(":")[0]
    backends = all_backends()
    for backend in backends:
        if kind in backend.target_kinds:
            return backend
    kinds = ", ".join(kind for backend in backends for kind in backend.target_kinds)
    raise UsageError(
        f"No vendor compiles for {target!r}. Known target kinds: {kinds}; for example cuda:90, hip:gfx942."
    )


def hidden_cards(backend: DeviceBackend, target: str) -> tuple[str, ...]:
    """Mask variables for a run that must touch no card: the vendor's own, and those of the target's maker."""
    kind = target.partition(":")[0]
    makers = [maker for maker in all_backends() if kind in maker.target_kinds]
    return tuple(dict.fromkeys(name for maker in (backend, *makers) for name in maker.mask_variables))


def variables_of_other_vendors(backend: DeviceBackend) -> frozenset[str]:
    """Variables by which FlagGems would take another vendor than this one."""
    others = {name for other in all_backends() for name in other.selected_by} - set(backend.selected_by)
    return frozenset(others.union(FLAGGEMS_VENDOR))


def backend_of_environment(environment: Mapping[str, str]) -> DeviceBackend | None:
    """The vendor that FlagGems would take from these variables, None if they name none.

    Raises UsageError for a name that is no vendor's.
    """
    for backend in all_backends():
        if any(name in environment for name in backend.selected_by):
            return backend
    for variable in FLAGGEMS_VENDOR:
        if variable in environment:
            return backend_named(environment[variable].lower())
    return None
