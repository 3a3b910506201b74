"""The parts of a switch: what they are, and a kernel's side with some of them on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from zl_bench.analysis.wording import listed
from zl_bench.errors import UsageError
from zl_bench.model import SIDES
from zl_bench.running.switch import OWN_VARIABLES, VARIABLE, with_vendor
from zl_bench.workflow.subject import KernelSide, Subject

Parts = tuple[str, ...]
MASK_VALUE = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")


@dataclass(frozen=True)
class SwitchParts:
    """`side` is the kernel's side with those parts on, which is what the after side has when all are."""

    names: Parts
    side: Callable[[Parts], KernelSide]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mask:
    """A variable that the compiler reads as bits, and those that are on."""

    name: str
    value: str

    @property
    def bits(self) -> dict[str, int]:
        """Each bit that is on, by what it is called, from the lowest."""
        number = int(self.value, 0) if self.value[:2] in ("0x", "0X") else int(self.value)
        ones = [position for position in range(number.bit_length()) if number >> position & 1]
        return {f"{self.name} bit {position} ({self.written(1 << position)})": 1 << position for position in ones}

    def written(self, number: int) -> str:
        """A number as the variable has it: hexadecimal where it was given so."""
        return hex(number) if self.value[:2] in ("0x", "0X") else str(number)


def parse_mask(text: str, segment: str | None) -> Mask:
    """`NAME=VALUE`, `{VENDOR}` standing for the vendor's segment. Raises UsageError for anything else."""
    name, _, value = with_vendor(text, segment).partition("=")
    if not VARIABLE.match(name) or not MASK_VALUE.fullmatch(value):
        raise UsageError(
            f"{text!r} is no mask; write NAME=VALUE with a whole number, as in SOME_PHASE_MASK=15 or =0xf."
        )
    if name in OWN_VARIABLES:
        raise UsageError(f"{name} is set by zl-bench for every compile and can not be a mask.")
    return Mask(name, value)


def mask_parts(subject: Subject, mask: Mask) -> SwitchParts:
    """The bits of a mask that the after side is given. Raises UsageError for a mask without any."""
    bits = mask.bits
    if not bits:
        raise UsageError(f"{mask.name}={mask.value} has no bits to look at.")
    after, notes = _by_environment(subject)

    def side(parts: Parts) -> KernelSide:
        number = sum(bits[part] for part in parts)
        return replace(after, environment={**after.environment, mask.name: mask.written(number)})

    return SwitchParts(tuple(bits), side, notes)


def switch_parts(subject: Subject, pipeline: Sequence[str]) -> SwitchParts:
    """The occurrences of the switch's pass in the TTGIR pipeline, and the variables in which the sides differ; maybe none.

    `pipeline` are the passes of the before side.
    """
    before, after = subject.sides["before"], subject.sides["after"]
    variables = differing_variables(subject)
    occurrences = _occurrences(subject, pipeline)
    own, notes = _by_environment(subject)

    def side(parts: Parts) -> KernelSide:
        environment = dict(before.environment)
        for name in (variables[part] for part in parts if part in variables):
            if name in after.environment:
                environment[name] = after.environment[name]
            else:
                environment.pop(name, None)
        dropped = [occurrences[part] for part in parts if part in occurrences]
        drop = {"name": subject.switch.name, "occurrence": dropped} if dropped else None
        return replace(own, environment=environment, dropped_pass=drop)

    return SwitchParts((*variables, *occurrences), side, notes)


def differing_variables(subject: Subject) -> dict[str, str]:
    """The variables in which the sides differ, by what the part is called."""
    before, after = (subject.sides[side].environment for side in SIDES)
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return {f"{name}={after[name]}" if name in after else f"{name} unset": name for name in names}


def _occurrences(subject: Subject, pipeline: Sequence[str]) -> dict[str, int]:
    """The numbers of the occurrences that the after side leaves out, by what the part is called."""
    drop = subject.switch.dropped_pass("after")
    if drop is None:
        return {}
    count = pipeline.count(subject.switch.name)
    numbers = subject.switch.occurrences or range(1, count + 1)
    return {f"{subject.switch.name}@{number}": number for number in numbers}


def _by_environment(subject: Subject) -> tuple[KernelSide, tuple[str, ...]]:
    """The after side, whose options leave to the compiler those in which the sides differ: it may read the switch there."""
    before, after = subject.sides["before"].options, subject.sides["after"].options
    other = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if not other:
        return subject.sides["after"], ()
    options = {name: value for name, value in after.items() if name not in other}
    note = f"the sides' options differ in {listed(other, shown=20)}, which the compiler is left to choose in every step"
    return replace(subject.sides["after"], options=options), (note,)
