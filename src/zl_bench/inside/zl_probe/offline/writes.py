"""Which of its tensors a kernel writes, read off its Triton IR; what a launch writes is unknown from then on.

Nothing is executed, so values that a kernel would have stored are not known. What it only reads stays known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FUNCTION = re.compile(r"tt\.func public @[^(]*\(")
NAME = re.compile(r"%[A-Za-z0-9_$.-]+")
PARAMETER = re.compile(r"(%[A-Za-z0-9_$.-]+):\s*(!tt\.[a-z]+)?")
DEFINITION = re.compile(r"^\s*(%[^=]*?)\s=\s(.*)$")
CARRIED = re.compile(r"(%[A-Za-z0-9_$.-]+)\s=\s(%[A-Za-z0-9_$.-]+)")
STORE = re.compile(
    r"\btt\.(?:store|atomic_rmw|atomic_cas|(?:experimental_)?descriptor_(?:store|reduce|scatter))\b(.*)$"
)
POINTERS = ("!tt.ptr", "!tt.tensordesc")


@dataclass(frozen=True)
class Writes:
    """How many pointer parameters a kernel has, and which of them (by position among these) it may write."""

    pointers: int
    written: frozenset[int]

    def may_write(self, position: int, pointers: int) -> bool:
        """Whether the launch's argument at `position` of `pointers` may be written; unsure means yes."""
        return pointers != self.pointers or position in self.written


def parse_writes(ttir: str) -> Writes | None:
    """Follow the target of every store back to the parameters. None for text in which that can not be followed."""
    start = FUNCTION.search(ttir)
    if start is None or "tt.call" in ttir:
        return None
    head, *lines = ttir[start.end() :].splitlines()
    pointers = [name for name, kind in PARAMETER.findall(head) if kind in POINTERS]
    sources: dict[str, set[str]] = {}
    targets: list[str] = []
    regions: list[list[str]] = []  # of each open region, the names that what it yields becomes
    for line in lines:
        names = _note(line, sources)
        store = STORE.search(line)
        if store is not None:
            targets.extend(NAME.findall(store[1])[:1])
        if "scf.yield" in line or "scf.condition" in line:
            for name in regions[-1] if regions else ():
                sources.setdefault(name, set()).update(NAME.findall(line))
        stripped = line.split(" loc(", 1)[0].strip()
        if stripped.startswith("}") and regions and not stripped.endswith("{"):
            regions.pop()
        elif stripped.endswith("{") and not stripped.startswith("}"):
            regions.append(names)
    reached: set[str] = set()
    while targets:
        name = targets.pop()
        if name not in reached:
            reached.add(name)
            targets.extend(sources.get(name, ()))
    return Writes(len(pointers), frozenset(place for place, name in enumerate(pointers) if name in reached))


def _note(line: str, sources: dict[str, set[str]]) -> list[str]:
    """Note what a line's results may come from, and return them. What is loaded comes from no parameter."""
    definition = DEFINITION.match(line)
    names = NAME.findall(definition[1]) if definition is not None else []
    if definition is not None:
        loads_data = re.match(r"tt\.(?:experimental_)?(?:descriptor_)?(?:load|gather)\b", definition[2]) is not None
        operands = set() if loads_data and "!tt.ptr<!tt.ptr" not in line else set(NAME.findall(definition[2]))
        for name in names:
            sources.setdefault(name, set()).update(operands)
    carried = CARRIED.findall(line.split("iter_args(", 1)[1]) if "iter_args(" in line else []
    for inner, outer in carried:
        sources.setdefault(inner, set()).add(outer)
    return names + [inner for inner, _ in carried]


def watch(forget: Callable[[Any], None]) -> None:
    """Have every launch in this process call `forget` for each tensor that its kernel may write."""
    from triton.compiler import CompiledKernel

    original = CompiledKernel.launch_metadata
    known: dict[int, tuple[Any, Writes | None]] = {}  # keeps the kernel, so that an id is never reused

    def launch_metadata(compiled: Any, grid: Any, stream: Any, *arguments: Any) -> Any:
        if id(compiled) not in known:
            known[id(compiled)] = (compiled, parse_writes(str(compiled.asm.get("ttir", ""))))
        writes = known[id(compiled)][1]
        tensors = [tensor for tensor in map(_tensor, arguments) if tensor is not None]
        for position, tensor in enumerate(tensors):
            if writes is None or writes.may_write(position, len(tensors)):
                forget(tensor)
        return original(compiled, grid, stream, *arguments)

    CompiledKernel.launch_metadata = launch_metadata


def _tensor(argument: Any) -> Any:
    """The tensor behind a kernel's argument: itself, or the base of a descriptor or of a reinterpreted tensor."""
    if hasattr(argument, "untyped_storage"):
        return argument
    base = getattr(argument, "base", None)
    return base if hasattr(base, "untyped_storage") else None
