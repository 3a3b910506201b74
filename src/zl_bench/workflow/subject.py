"""The one kernel of a screened root that is to be looked into: which it is, and how each side compiles it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.nodes import distinct_rows
from zl_bench.analysis.reasons import describe_row
from zl_bench.analysis.wording import listed
from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import backend_for_target, hidden_cards
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.model import (
    SIDES,
    BrokenRow,
    JudgedOperator,
    Kernel,
    NodeVerdict,
    RowKey,
    Run,
    Side,
    StageText,
    split_entry,
)
from zl_bench.running.environment import side_environment
from zl_bench.running.switch import Switch, is_interpreter, parse_switch
from zl_bench.store.request import ScreenRequest, read_request
from zl_bench.store.screened import LoadedOperator, load_operator, named_entry
from zl_bench.workflow.judged_again import judge_again
from zl_bench.workflow.plan import seeing
from zl_bench.workflow.show import numbered_rows

SOURCE = "source"
FIRST_STAGE = "ttir"


@dataclass(frozen=True)
class KernelSide:
    """The kernel on one side: what was recorded of it, and how it is compiled again."""

    side: Side
    kernel: Kernel
    """As it was launched on this side; where it failed to compile here, as on the other."""
    source: StageText
    made: str
    """The stage whose result `source` is: `source`, before the first stage, or `ttir`."""
    options: Mapping[str, object]
    interpreter: Path
    environment: Mapping[str, str]
    dropped_pass: Mapping[str, object] | None
    triton: str = ""
    """Its version in the screen; empty if it was not recorded."""
    library: str = ""
    """SHA-256 of the native library that the screen used on this side; empty if it was not recorded."""
    failed: BrokenRow | None = None


@dataclass(frozen=True)
class Subject:
    """A kernel of a row. `notes` say for people what was assumed."""

    root: Path
    entry: str
    row: int
    row_key: RowKey
    switch: Switch
    request: ScreenRequest
    backend: DeviceBackend
    target: str
    sides: Mapping[Side, KernelSide]
    notes: tuple[str, ...]

    @property
    def row_text(self) -> str:
        """The row, for people."""
        return describe_row(self.row_key)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.sides["before"].kernel.identity.name

    @property
    def criterion(self) -> str:
        """The stage that decides whether the kernel has changed."""
        return self.request.criterion

    @property
    def last(self) -> str:
        """The stage at which the screen stopped, empty where it went on to machine code."""
        return "" if self.request.stages == "all" else self.request.stages


@dataclass(frozen=True)
class _Candidate:
    """A row that can be chosen, with the kernel of each side."""

    row: int
    row_key: RowKey
    kernels: Mapping[Side, Kernel]
    changed: bool
    runs: Mapping[Side, Run]
    failed: BrokenRow | None = None


def choose_subject(
    root: Path,
    entry: str,
    row: int | None = None,
    kernel: str | None = None,
    *,
    inherited: Mapping[str, str],
    python: Path | None = None,
) -> Subject:
    """The kernel to look at: of that row and name, or else the first that is broken, has changed, or is there at all.

    `kernel` is a name, or a number among the row's launches as `show` lists them. `python` replaces the interpreters that
    the root names. Raises UsageError, which says what there is, for what the root does not have.
    """
    request = read_request(root)
    if request is None:
        raise UsageError(f"{root} is not the root of a screen: it has no screen.json.")
    entry = named_entry(root, entry)
    loaded = load_operator(root, *split_entry(entry))
    again = judge_again(root, loaded, request)
    chosen = _choose(list(_candidates(loaded, again.judged)), entry, row, kernel, again.told)
    target = _target(chosen, request)
    switch, backend = parse_switch(request.switch), backend_for_target(target)
    if switch.kind == "build" and python is not None:
        raise UsageError("--python names one interpreter; the two of a build: axis are in the root.")
    notes = list(again.lost)
    sides: dict[Side, KernelSide] = {}
    for side in SIDES:
        own = chosen.kernels[side]
        source, made = _source(own, entry)
        sides[side] = KernelSide(
            side=side,
            kernel=own,
            source=source,
            made=made,
            options=_options(own, chosen.runs[side]),
            interpreter=_interpreter(chosen, side, switch, python),
            environment=_environment(side, switch, backend, request, target, inherited),
            dropped_pass=switch.dropped_pass(side),
            triton=str(_triton(chosen.runs[side]).get("version", "")),
            library=str(_triton(chosen.runs[side]).get("library_sha256", "")),
            failed=chosen.failed if chosen.failed is not None and chosen.failed.side == side else None,
        )
        notes += _notes(sides[side])
    return Subject(
        root, entry, chosen.row, chosen.row_key, switch, request, backend, target, sides, tuple(dict.fromkeys(notes))
    )


def _candidates(loaded: LoadedOperator, judged: JudgedOperator) -> Iterator[_Candidate]:
    runs = {node.node: {side: loaded.run(node.node, side) for side in SIDES} for node in judged.nodes}
    nodes = {id(row): node.node for node in judged.nodes for row in node.paired}
    shown = numbered_rows(loaded, judged.nodes)
    for one in shown:
        for launch, before, after in one.matches:
            if before is not None and after is not None:
                yield _Candidate(
                    row=one.number,
                    row_key=one.row.key,
                    kernels={"before": before, "after": after},
                    changed=bool(launch.changed_stages),
                    runs=runs[nodes[id(one.row)]],
                )
    number = len(shown)
    for node in judged.nodes:
        for broken in node.broken:
            number += 1
            yield from _broken(number, broken, node, runs[node.node])


def _broken(number: int, broken: BrokenRow, node: NodeVerdict, runs: Mapping[Side, Run]) -> Iterator[_Candidate]:
    """The kernel that failed, as the other side compiled it."""
    healthy = runs["after" if broken.side == "before" else "before"]
    row = next((row for row in distinct_rows(healthy.rows) if row.key == broken.key), None)
    for kernel in row.launches if row is not None and broken.phase == "compile" else ():
        if kernel.identity.name == broken.kernel:
            kernels: dict[Side, Kernel] = dict.fromkeys(SIDES, kernel)
            yield _Candidate(number, broken.key, kernels, True, runs, broken)


def _choose(
    candidates: list[_Candidate], entry: str, row: int | None, kernel: str | None, lost: Sequence[str]
) -> _Candidate:
    there = [one for one in candidates if row is None or one.row == row]
    if not there:
        rows = sorted({str(one.row) for one in candidates}, key=int)
        if not rows:
            what = "is left with" if lost else "has"
            none = f"no row of {entry} {what} a kernel that both sides compiled, or that failed on one."
            raise UsageError(" ".join([none, *lost]))
        others = (
            f"{entry} has no row {row} with a kernel on both sides, or with one that failed to compile on one: rows "
            f"{listed(rows, shown=20)} have. `zl-bench show` lists them."
        )
        raise UsageError(" ".join([others, *lost]))
    if kernel is not None and kernel.isdigit():
        own = [one for one in there if one.row == there[0].row]
        if not 1 <= int(kernel) <= len(own):
            raise UsageError(f"row {there[0].row} has kernels 1 to {len(own)}, not {kernel}.")
        return own[int(kernel) - 1]
    named = [one for one in there if kernel is None or one.kernels["before"].identity.name == kernel]
    if not named:
        names = listed((one.kernels["before"].identity.name for one in there), shown=20)
        raise UsageError(f"there is no kernel {kernel}: there are {names}.")
    # What is broken comes first, then what has changed.
    return min(named, key=lambda one: (one.failed is None, not one.changed))


def _source(kernel: Kernel, entry: str) -> tuple[StageText, str]:
    if kernel.source is not None:
        return kernel.source, SOURCE
    first = kernel.stage(FIRST_STAGE)
    if first is None:
        raise UsageError(f"of {kernel.identity.name} in {entry} neither source nor {FIRST_STAGE} was recorded.")
    return first, FIRST_STAGE


def _options(kernel: Kernel, run: Run) -> dict[str, object]:
    """What the compile was asked for, but for libraries that lie in the compiler's own folder: it finds them itself."""
    identity = kernel.identity
    if kernel.options is None:
        asked = {name: getattr(identity, name) for name in ("num_warps", "num_stages", "num_ctas")}
        return {name: value for name, value in asked.items() if value}
    folder = str(_triton(run).get("path", ""))
    options = dict(kernel.options)
    libraries = options.get("extern_libs")
    pairs = libraries.items() if isinstance(libraries, dict) else libraries if isinstance(libraries, list) else ()
    if folder and all(str(path).startswith(folder) for _, path in pairs):
        options.pop("extern_libs", None)
    return options


def _triton(run: Run) -> Mapping[str, object]:
    """Version, path and hash of the Triton that the run had."""
    found = run.environment.get("triton")
    return found if isinstance(found, dict) else {}


def _target(chosen: _Candidate, request: ScreenRequest) -> str:
    target = chosen.kernels["before"].target or request.target
    if not target:
        raise UsageError(
            "What the kernel was compiled for is not recorded: this root was made on a card by an older zl-bench. Screen "
            "again, or with --target."
        )
    return target


def _interpreter(chosen: _Candidate, side: Side, switch: Switch, python: Path | None) -> Path:
    recorded = chosen.runs[side].environment.get("interpreter")
    path = python or switch.interpreter(side) or (Path(str(recorded)) if recorded else None)
    if path is None or not is_interpreter(str(path)):
        raise EnvironmentUnfit(
            f"The Python of the {side} side, {path or 'which was not recorded'}, is not on this machine. Nothing was "
            "compiled; name one that has the same Triton with --python."
        )
    return path


def _environment(
    side: Side,
    switch: Switch,
    backend: DeviceBackend,
    request: ScreenRequest,
    target: str,
    inherited: Mapping[str, str],
) -> dict[str, str]:
    own = request.env_before if side == "before" else request.env_after
    kept, selected = seeing(None, backend, inherited)
    return side_environment(
        kept,
        switch.variables(side),
        {**backend.environment, **selected, **request.env, **own},
        hidden_cards(backend, target),
    )


def _notes(side: KernelSide) -> Iterator[str]:
    if side.failed is not None:
        yield f"the kernel failed on the {side.side} side, which compiles what was recorded of it on the other"
    if side.made != SOURCE:
        yield f"the frontend's result was not recorded, so the kernel is compiled from its recorded {side.made}"
    if side.kernel.options is None:
        yield "the options of the launch were not recorded; its warps, stages and ctas are, and the rest is taken as default"
