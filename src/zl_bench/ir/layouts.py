"""Layout attributes of MLIR stages under short names, `#blocked1` for `#ttg.blocked<{…}>`, each with what it means in words.

Normalised MLIR has every alias written out, which is what a fingerprint needs and what nobody can read. Here the attributes get
names again, the same for the two sides of a comparison: equal names are equal layouts, so that a line differs only where its
layout does. The parameters are those of Triton's TritonGPUAttrDefs.td, from `triton_gpu` (before 3.3) to `ttg`; an attribute of
a vendor's own gets a name too, and its parameters have to speak for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

INNERMOST = re.compile(r"#\w+\.(?!slice<|dot_op<)([\w.]+)<([^<>]*=[^<>]*)>")
"""An attribute with parameters and with no other inside. Slices and operands of dots are short once what they are made of has
a name, and stay in the form in which everybody knows them."""
KEPT = re.compile(r"#\w+\.(slice|dot_op)(?=<)")
PARAMETER = re.compile(r"(\w+) = (\[(?:[^\[\]]|\[[^\[\]]*\])*\]|[^,{}\s]+)")
NUMBER = re.compile(r"-?\d+")
SHORT_NAMES = {
    "nvidia_mma": "mma",
    "amd_mfma": "mma",
    "amd_wmma": "mma",
    "swizzled_shared": "shared",
    "nvmma_shared": "shared",
    "padded_shared": "shared",
    "amd_rotating_shared": "shared",
    "tensor_memory_encoding": "tmem",
}
"""As Triton's own printer calls them; every other kind is called what it is."""
MMA_GENERATIONS = {"1": "Volta", "2": "Ampere, mma.sync", "3": "Hopper, wgmma", "5": "Blackwell, tcgen05"}

Parameters = Mapping[str, str]


@dataclass(frozen=True)
class Layout:
    """One layout attribute, or a kind that keeps its own form: then `definition` is empty."""

    name: str
    definition: str
    meaning: str


def name_layouts(texts: Iterable[str]) -> tuple[tuple[str, ...], tuple[Layout, ...]]:
    """The texts with their layouts under names that they share, and the layouts in order of first appearance."""
    naming = _Naming()
    named = tuple(naming.rename(text) for text in texts)
    return named, tuple(naming.layouts.values())


class _Naming:
    """Gives out names, the same for the same definition."""

    def __init__(self) -> None:
        self.layouts: dict[str, Layout] = {}
        self._counts: dict[str, int] = {}

    def rename(self, text: str) -> str:
        """Innermost attributes first, so that what is made of others is written with their names."""
        while (renamed := INNERMOST.sub(self._name, text)) != text:
            text = renamed
        for match in KEPT.finditer(text):
            self.layouts.setdefault(match.group(), Layout(match.group(), "", explain(match[1], "")))
        return text

    def _name(self, match: re.Match[str]) -> str:
        definition = match.group()
        if definition not in self.layouts:
            kind = match[1]
            short = SHORT_NAMES.get(kind, kind.replace(".", "_"))
            number = self._counts.get(short, 0)
            self._counts[short] = number + 1
            self.layouts[definition] = Layout(f"#{short}{number or ''}", definition, explain(kind, match[2]))
        return self.layouts[definition].name


def explain(kind: str, body: str) -> str:
    """What an attribute of that kind with these parameters (`sizePerThread = [1, 4], …`) means, in sentences."""
    known = MEANINGS.get(kind)
    return known(dict(PARAMETER.findall(body))) if known else f"A layout of the kind {kind}; see its parameters."


def _blocked(parameters: Parameters) -> str:
    each, threads, warps = (_numbers(parameters, name) for name in ("sizePerThread", "threadsPerWarp", "warpsPerCTA"))
    said = (
        f"Elements lie in registers: {_product(each)} per thread, {_product(threads)} threads per warp, "
        f"{_product(warps)} warps."
    )
    if len(each) == len(threads) == len(warps):
        tile = [a * b * c for a, b, c in zip(each, threads, warps, strict=True)]
        said += f" Together they cover {_product(tile)} elements; larger tensors repeat that, smaller ones are held in copies."
    return said + _order(parameters)


def _mma(parameters: Parameters) -> str:
    generation = MMA_GENERATIONS.get(parameters.get("versionMajor", ""), "")
    return (
        f"The result of NVIDIA's tensor cores{f' ({generation})' if generation else ''}: the instruction sets which element "
        f"each thread holds; its shape is {_product(_numbers(parameters, 'instrShape'))}; "
        f"warps are laid out {_product(_numbers(parameters, 'warpsPerCTA'))}."
    )


def _amd(parameters: Parameters) -> str:
    shape = _numbers(parameters, "instrShape")
    transposed = " The result is held transposed." if parameters.get("isTransposed") == "true" else ""
    return (
        f"The result of AMD's matrix cores: the instruction sets which element each lane holds"
        f"{f'; its shape is {_product(shape)}' if shape else ''}; warps are laid out "
        f"{_product(_numbers(parameters, 'warpsPerCTA'))}.{transposed}"
    )


def _swizzled(parameters: Parameters) -> str:
    vector, per_phase, phases = (parameters.get(name, "?") for name in ("vec", "perPhase", "maxPhase"))
    how = (
        "as they are, without swizzling"
        if phases == "1"
        else f"in groups of {vector} whose places are permuted from row to row ({phases} phases, the next every "
        f"{per_phase} rows), so that a warp's accesses meet different banks"
    )
    return f"Elements lie in shared memory, {how}.{_order(parameters)}"


def _nvmma(parameters: Parameters) -> str:
    width = parameters.get("swizzlingByteWidth", "?")
    swizzle = "without swizzling" if width == "0" else f"swizzled over {width} bytes"
    transposed = ", transposed" if parameters.get("transposed") == "true" else ""
    return (
        f"Elements of {parameters.get('elementBitWidth', '?')} bits lie in shared memory as tensor cores and TMA read them, "
        f"{swizzle}{transposed}."
    )


def _padded(parameters: Parameters) -> str:
    return (
        f"Elements lie in shared memory with gaps between, so that accesses meet different banks.{_order(parameters)}"
    )


def _linear(_: Parameters) -> str:
    return (
        "Which element lies where is written out bit by bit: each vector says by how much the coordinates move when that "
        "bit of the register's, lane's, warp's or block's number is set. Zeros are copies."
    )


def _tensor_memory(_: Parameters) -> str:
    return "Elements lie in Blackwell's tensor memory, in blocks of the given shape."


def _slice(_: Parameters) -> str:
    return "What is left of the parent layout when its dimension `dim` is taken away, as a reduction or expand_dims needs it."


def _dot_operand(_: Parameters) -> str:
    return (
        "An operand of a dot (opIdx 0 is the left one, 1 the right one), in registers as the instruction of the parent layout "
        "reads it; each thread holds kWidth consecutive elements along K."
    )


MEANINGS: dict[str, Callable[[Parameters], str]] = {
    "blocked": _blocked,
    "nvidia_mma": _mma,
    "amd_mfma": _amd,
    "amd_wmma": _amd,
    "swizzled_shared": _swizzled,
    "shared": _swizzled,
    "nvmma_shared": _nvmma,
    "padded_shared": _padded,
    "linear": _linear,
    "tensor_memory_encoding": _tensor_memory,
    "slice": _slice,
    "dot_op": _dot_operand,
}


def _numbers(parameters: Parameters, name: str) -> list[int]:
    return [int(number) for number in NUMBER.findall(parameters.get(name, ""))]


def _product(numbers: list[int]) -> str:
    return " × ".join(map(str, numbers)) or "?"


def _order(parameters: Parameters) -> str:
    order = _numbers(parameters, "order")
    return f" Dimension {order[0]} is the contiguous one." if len(order) > 1 else ""
