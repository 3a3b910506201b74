"""The switch under test: how it is written, and what each side gets of it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zl_bench.errors import UsageError
from zl_bench.model import Side

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
PASS = re.compile(r"pass:([A-Za-z_][A-Za-z0-9_]*)(?:@([1-9][0-9]{0,3}(?:,[1-9][0-9]{0,3})*))?\Z")
VENDOR = "{VENDOR}"
OWN_VARIABLES = frozenset({"TRITON_CACHE_DIR", "FLAGGEMS_CACHE_DIR", "PYTHONPATH", "PYTHONHASHSEED"})
"""Set by the tool for every run; a switch can not be one of them."""
FORMS = (
    "Write NAME (0 against 1), NAME=BEFORE..AFTER (an empty value means unset), pass:NAME, pass:NAME@N[,N…], "
    "or build:BEFORE..AFTER with two Python interpreters."
)


@dataclass(frozen=True)
class Switch:
    """An axis with two values. For `variable`, None as a value means unset; for `build`, the values are interpreters."""

    text: str
    kind: Literal["variable", "pass", "build"]
    name: str
    before: str | None = None
    after: str | None = None
    occurrences: tuple[int, ...] = ()
    """Of the pass, those that are left out; all of them if none is named."""

    @property
    def is_null_control(self) -> bool:
        """Both sides are asked to be the same (`NAME=x..x`)."""
        return self.kind == "variable" and self.before == self.after

    @property
    def axis(self) -> str:
        """The axis' name, as in `runs/ab_<axis>_<timestamp>`."""
        if self.kind == "build":
            return "build"
        if self.kind == "pass":
            return f"pass:{_pass_text(self.name, self.occurrences)}"
        return self.name

    def variables(self, side: Side) -> dict[str, str | None]:
        """Environment variables of one side, None for one that must be unset."""
        if self.kind != "variable":
            return {}
        return {self.name: self.before if side == "before" else self.after}

    def dropped_pass(self, side: Side) -> dict[str, object] | None:
        """The pass that this side leaves out, in the form of input.json."""
        if self.kind != "pass" or side == "before":
            return None
        one = self.occurrences[0] if self.occurrences else None
        return {"name": self.name, "occurrence": list(self.occurrences) if len(self.occurrences) > 1 else one}

    def interpreter(self, side: Side) -> Path | None:
        """The Python that this side runs in, if the switch says so."""
        if self.kind != "build":
            return None
        return Path(str(self.before if side == "before" else self.after))


def with_vendor(text: str, segment: str | None) -> str:
    """Put a vendor's segment in the place of `{VENDOR}`; an empty segment takes one underscore with it (R3)."""
    if VENDOR not in text:
        return text
    if segment is None:
        raise UsageError(f"The vendor's segment for {VENDOR} is not known; give it with --vendor-segment.")
    if segment:
        return text.replace(VENDOR, segment)
    return text.replace(VENDOR + "_", "").replace("_" + VENDOR, "").replace(VENDOR, "")


def dropped_text(drop: Mapping[str, Any]) -> str:
    """A pass that is left out, from the form of input.json, as it is written behind `pass:`: `NAME` or `NAME@1,3`."""
    found = drop.get("occurrence")
    return _pass_text(drop["name"], found if isinstance(found, list) else [found] if found else [])


def _pass_text(name: str, occurrences: Sequence[int]) -> str:
    return name + (f"@{','.join(map(str, occurrences))}" if occurrences else "")


def parse_switch(text: str, segment: str | None = None) -> Switch:
    """Read a switch as written on the command line. Raises UsageError with the forms there are."""
    text = with_vendor(text, segment)
    if text.startswith("pass:"):
        match = PASS.match(text)
        if not match:
            raise UsageError(f"{text!r} names no pass. {FORMS}")
        return Switch(text, "pass", match[1], occurrences=tuple(map(int, match[2].split(","))) if match[2] else ())
    if text.startswith("build:"):
        return _build(text)
    name, equals, values = text.partition("=")
    if not VARIABLE.match(name) or "\0" in values:  # no environment holds a NUL
        raise UsageError(f"{text!r} is no switch. {FORMS}")
    if name in OWN_VARIABLES:
        raise UsageError(f"{name} is set by zl-bench for every run and can not be the switch under test.")
    if not equals:
        return Switch(text, "variable", name, "0", "1")
    before, dots, after = values.partition("..")
    if not dots:
        raise UsageError(f"{text!r} has one value; a switch has two, as in {name}={values or '0'}..1. {FORMS}")
    return Switch(text, "variable", name, before or None, after or None)


def _build(text: str) -> Switch:
    """Two interpreters. A path may hold `..` itself, so the split is where both halves are interpreters."""
    paths = text.removeprefix("build:")
    splits = [(paths[: match.start()], paths[match.end() :]) for match in re.finditer(r"(?=\.\.)", paths)]
    halves = [(before, after.removeprefix("..")) for before, after in splits]
    good = [(before, after) for before, after in halves if is_interpreter(before) and is_interpreter(after)]
    if not good:
        raise UsageError(
            f"{text!r} does not name two Python interpreters that exist and can be executed, "
            "as in build:/opt/a/bin/python../opt/b/bin/python."
        )
    before, after = good[0]
    return Switch(text, "build", "build", str(Path(before).absolute()), str(Path(after).absolute()))


def is_interpreter(path: str) -> bool:
    """Whether that is a file which can be executed; any text may be asked about."""
    try:
        return Path(path).is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):  # too long for a file name, below a folder that can not be read, not encodable
        return False
