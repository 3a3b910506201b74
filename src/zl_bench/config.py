"""zl-bench.toml: what a project or a machine settles once, so that command lines need not repeat it.

    python = "/opt/musa/bin/python"      # of the measured processes; relative paths start at the file's folder
    vendor = "mthreads"

    [flaggems]
    checkout = "../FlagGems"

    [axis.rlc-loads]                     # `--axis rlc-loads`; runs/ab_rlc-loads_…
    switch = "FLAGTREE_{VENDOR}_RLC_PHASE_MASK=1..15"
    note = "only the load phase against all four"

The file of the working directory or of the nearest folder above it counts. A flag is stronger than the environment, and
the environment than the file.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from zl_bench.errors import UsageError

FILE = "zl-bench.toml"
CHECKOUT_VARIABLE = "ZL_FLAGGEMS"
AXIS_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")


@dataclass(frozen=True)
class Axis:
    """A named switch. `switch` is written as for --switch; `note` says what it is, for people."""

    name: str
    switch: str
    note: str = ""

    @property
    def described(self) -> str:
        """One line about a named axis, empty for a switch that has no name."""
        return f"axis {self.name}: {self.switch}{f' ({self.note})' if self.note else ''}" if self.name else ""


SHIPPED_AXES: Mapping[str, Axis] = MappingProxyType(
    {
        "rlc": Axis(
            "rlc",
            "FLAGTREE_{VENDOR}_RLC_ENHANCE",
            "FlagTree's enhanced remove-layout-conversions; a phase mask or policy variable is set for both sides by --env",
        )
    }
)


@dataclass(frozen=True)
class FlagGemsConfig:
    """`[flaggems]`. `checkout` is absolute."""

    checkout: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the file says, its axes beside those that ship with the tool; `path` is None where there is no file."""

    path: Path | None = None
    python: str | None = None
    vendor: str | None = None
    flaggems: FlagGemsConfig = field(default_factory=FlagGemsConfig)
    axes: Mapping[str, Axis] = field(default_factory=lambda: SHIPPED_AXES)

    def axis(self, name: str) -> Axis:
        """The axis of that name. Raises UsageError with the nearest."""
        found = self.axes.get(name)
        if found is None:
            raise UsageError(
                f"There is no axis {name!r}.{_nearest(name, self.axes)} Known axes: {', '.join(self.axes)}. "
                f'Three lines in {FILE} make one: [axis.{name}], switch = "…", note = "…".'
            )
        return found

    def checkout(self, given: Path | None, environment: Mapping[str, str]) -> Path:
        """The FlagGems checkout: as given, or by ZL_FLAGGEMS, or by the file. Raises UsageError when nobody says."""
        if given is not None:
            return given
        if environment.get(CHECKOUT_VARIABLE):
            return Path(environment[CHECKOUT_VARIABLE])
        if self.flaggems.checkout is not None:
            return self.flaggems.checkout
        raise UsageError(
            f"Where is the FlagGems checkout? Name it with --checkout DIR, {CHECKOUT_VARIABLE}=DIR, or in {FILE}: "
            '[flaggems] and below it checkout = "DIR".'
        )


def find_config(start: Path) -> Path | None:
    """The configuration file of that folder or of the nearest one above it."""
    return next((folder / FILE for folder in (start, *start.parents) if (folder / FILE).is_file()), None)


def load_config(path: Path | None) -> Config:
    """Read a configuration; the defaults for None. Raises UsageError for what it does not understand."""
    if path is None:
        return Config()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} can not be read: {getattr(error, 'strerror', None) or error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}.") from error
    reader = _Reader(path)
    reader.require_known("", table, ("python", "vendor", "flaggems", "axis"))
    flaggems = reader.table("flaggems", table.get("flaggems", {}))
    reader.require_known("flaggems.", flaggems, ("checkout",))
    checkout = reader.text("flaggems.checkout", flaggems.get("checkout"))
    python = reader.text("python", table.get("python"))
    axes = {name: reader.axis(name, axis) for name, axis in reader.table("axis", table.get("axis", {})).items()}
    folder = path.absolute().parent
    return Config(
        path=path,
        python=str(folder / Path(python).expanduser()) if python else None,
        vendor=reader.text("vendor", table.get("vendor")),
        flaggems=FlagGemsConfig(folder / Path(checkout).expanduser() if checkout else None),
        axes={**SHIPPED_AXES, **axes},
    )


@dataclass(frozen=True)
class _Reader:
    """Checks the parts of one file; every complaint names it."""

    path: Path

    def require_known(self, prefix: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                raise UsageError(
                    f"{self.path}: there is no key {prefix + key!r}.{_nearest(key, known, prefix)} "
                    f"Known here: {', '.join(prefix + name for name in known)}."
                )

    def table(self, key: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise UsageError(f"{self.path}: {key} must be a table, [{key}].")
        return value

    def text(self, key: str, value: Any) -> str | None:
        if value is not None and (not isinstance(value, str) or not value):
            raise UsageError(f"{self.path}: {key} must be a text in quotes.")
        return value

    def axis(self, name: str, value: Any) -> Axis:
        if not AXIS_NAME.fullmatch(name):
            raise UsageError(f"{self.path}: {name!r} can not name an axis; use letters, digits, `_`, `-` and `.`.")
        table = self.table(f"axis.{name}", value)
        self.require_known(f"axis.{name}.", table, ("switch", "note"))
        switch = self.text(f"axis.{name}.switch", table.get("switch"))
        if switch is None:
            raise UsageError(f'{self.path}: [axis.{name}] needs its switch, as in switch = "NAME=0..1".')
        return Axis(name, switch, self.text(f"axis.{name}.note", table.get("note")) or "")


def _nearest(word: str, known: Iterable[str], prefix: str = "") -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" Did you mean {prefix}{near[0]}?" if near else ""
