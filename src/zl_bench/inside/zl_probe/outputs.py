"""Samples what the call of a row returned, so that the tool can compare the two sides' results.

A bounded part of each tensor comes to the host as it lies in memory, by plain copies of contiguous bytes between device and
host. Nothing else happens on the device: a suite's library may have put kernels of its own in the place of aten's, and one
of those would be compiled, tuned and launched on the sample's account. So the few operators that are used here are views,
which only exist on the host, and `copy_` of contiguous bytes of one type.
"""

import hashlib
import math
import os
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import wire
from .recorder import EventSink, write_whole

TENSOR_BYTES = 64 * 1024
"""At most this much is kept of a tensor; one that is larger in memory is sampled by blocks."""
BLOCKS = 8
BLOCK_BYTES = TENSOR_BYTES // BLOCKS
OUTPUTS = 16
"""At most this many tensors and numbers are kept of a row, which makes 1 MiB."""
LONGEST_REASON = 300

Dimensions = tuple[tuple[int, int], ...]
"""(size, stride) in elements, the outermost in memory first."""


@dataclass(frozen=True)
class Block:
    """A part of a tensor that one copy brings: where it starts, from the tensor's first element, and what it holds."""

    start: int
    dimensions: Dimensions

    @property
    def span(self) -> int:
        """Elements from its first to its last, with those in the gaps between its own."""
        return span_of(self.dimensions)

    @property
    def elements(self) -> int:
        """Elements of the tensor in it."""
        return math.prod(size for size, _ in self.dimensions)


@dataclass(frozen=True)
class Sample:
    """Some elements of one output, in the order in which they lie in memory, outermost dimension first."""

    dtype: str
    shape: list[int]
    data: bytes
    elements: int
    of: int
    strides: list[int] | None = None
    """Of a tensor that is not contiguous: they decide which elements were taken."""


class CanNotSample(Exception):
    """An output of a kind that has no plain memory to take elements from; the message says which."""


class Outputs:
    """Writes the `outputs` events of one run and the files that they name."""

    def __init__(self, recorder: EventSink, directory: str):
        self._recorder = recorder
        self._directory = directory
        self._files: set[str] = set()

    def record(self, key: dict[str, Any], value: object) -> None:
        """Sample what a row's first call returned: a tensor, a number, or tuples, lists and dicts of them, nested.

        What can not be sampled is told as the event's reason and fails nothing. OSError (a full disk) is not caught, as
        it is not for any event.
        """
        try:
            samples, reason = take_samples(value)
        except Exception as error:  # noqa: BLE001 - a vendor's torch may raise anything, and a row is not lost over its sample
            samples, reason = [], f"{type(error).__name__}: {error}"
        tensors = [self._stored(sample) for sample in samples]
        self._recorder.event("outputs", **key, tensors=tensors, reason=" ".join(reason.split())[:LONGEST_REASON])

    def _stored(self, sample: Sample) -> dict[str, Any]:
        digest = hashlib.sha256(sample.data).hexdigest()
        name = f"{wire.OUTPUTS_FOLDER}/{digest}.bin"
        if name not in self._files:
            path = os.path.join(self._directory, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_whole(path, sample.data)
            self._files.add(name)
        strides = {} if sample.strides is None else {"strides": sample.strides}
        return {
            "dtype": sample.dtype,
            "shape": sample.shape,
            "sha256": digest,
            "file": name,
            "elements": sample.elements,
            "of": sample.of,
            **strides,
        }


def take_samples(value: object) -> tuple[list[Sample], str]:
    """The samples of a call's result, and what was left out of them with why, empty if nothing was.

    Which outputs are left out follows from their number and kinds alone, so both sides of a pair leave out the same ones.
    Raises what torch raises when it can not copy: then the result is not sampled at all.
    """
    outputs = list(_leaves(value))
    if not outputs:
        return [], f"the call returned no tensor and no number, but {type(value).__name__}"
    samples: list[Sample] = []
    left_out: list[str] = []
    for output in outputs[:OUTPUTS]:
        try:
            samples.append(_number(output) if isinstance(output, complex | float | int) else _tensor(output))
        except CanNotSample as refusal:
            left_out.append(str(refusal))
    if len(outputs) > OUTPUTS:
        left_out.append(f"more than {OUTPUTS}")
    if not left_out:
        return samples, ""
    told = ", ".join(dict.fromkeys(left_out))
    return samples, f"{len(outputs) - len(samples)} of {len(outputs)} outputs not sampled: {told}"


def _leaves(value: object) -> Iterable[Any]:
    """The tensors and numbers in nested tuples, lists and dicts, in order; a container that holds itself is met once."""
    torch = sys.modules.get("torch")
    kinds = (complex, float, int) if torch is None else (complex, float, int, torch.Tensor)
    waiting, met = [value], set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, kinds):
            yield item
        elif isinstance(item, tuple | list | dict) and id(item) not in met:
            met.add(id(item))
            waiting.extend(reversed(list(item.values() if isinstance(item, dict) else item)))


def _number(value: complex | float | int) -> Sample:
    if isinstance(value, bool):
        return Sample("bool", [], struct.pack("<?", value), 1, 1)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise CanNotSample("an integer of more than 64 bits")
        return Sample("int64", [], struct.pack("<q", value), 1, 1)
    if isinstance(value, float):
        return Sample("float64", [], struct.pack("<d", value), 1, 1)
    return Sample("complex128", [], struct.pack("<2d", value.real, value.imag), 1, 1)


def _tensor(tensor: Any) -> Sample:
    _require_plain_memory(tensor)
    _await_device(tensor.device.type)
    size, of = int(tensor.element_size()), int(tensor.numel())
    shape, strides = [int(length) for length in tensor.shape], [int(step) for step in tensor.stride()]
    blocks = plan_blocks(shape, strides, size) if of else []
    values = tensor.detach()
    data = b"".join(pick(_copied(values, block, size), block.dimensions, size) for block in blocks)
    return Sample(
        dtype=str(tensor.dtype).rsplit(".", 1)[-1],
        shape=shape,
        data=data,
        elements=sum(block.elements for block in blocks),
        of=of,
        strides=None if tensor.is_contiguous() else strides,
    )


def _require_plain_memory(tensor: Any) -> None:
    """Raise CanNotSample for a tensor whose values are not simply what its memory holds."""
    import torch

    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise CanNotSample(f"a tensor of class {type(tensor).__name__}")
    if tensor.layout is not torch.strided or tensor.is_nested:
        raise CanNotSample("a nested tensor" if tensor.is_nested else f"layout {tensor.layout}")
    if tensor.is_meta:
        raise CanNotSample("a tensor without values (meta)")
    if tensor.is_quantized:
        raise CanNotSample("a quantised tensor")
    if tensor.is_conj() or tensor.is_neg():
        raise CanNotSample("a lazily conjugated or negated view")


def _await_device(kind: str) -> None:
    """Wait for everything that the call has started, on whatever stream; a copy waits for its own stream alone."""
    import torch

    synchronize = getattr(getattr(torch, kind, None), "synchronize", None)
    if kind != "cpu" and synchronize is not None:
        synchronize()


def _copied(values: Any, block: Block, size: int) -> bytes:
    """The memory of a block, gaps and all, on the host."""
    import torch

    first = int(values.storage_offset()) + block.start
    memory = values.as_strided((block.span,), (1,), first).view(torch.uint8)
    held = bytearray(block.span * size)
    torch.frombuffer(held, dtype=torch.uint8).copy_(memory)
    return bytes(held)


def plan_blocks(shape: Sequence[int], strides: Sequence[int], size: int) -> list[Block]:
    """Which parts of a tensor with at least one element to copy: all of it, or blocks that are spread evenly over it.

    `size` is that of an element in bytes, `strides` are in elements. Raises CanNotSample for elements that share memory,
    other than those of an expanded dimension, which count once.
    """
    dimensions = _in_memory(shape, strides)
    for place, (_, stride) in enumerate(dimensions):
        if stride < span_of(dimensions[place + 1 :]):
            raise CanNotSample("a tensor whose elements share memory")
    if span_of(dimensions) * size <= TENSOR_BYTES:
        return [Block(0, dimensions)]
    room = BLOCK_BYTES // size
    place = next(place for place in reversed(range(len(dimensions))) if span_of(dimensions[place:]) > room)
    # Of dimension `place` a block holds a part, of those inside it all, and of those outside it one index each.
    outer, (length, stride), inner = dimensions[:place], dimensions[place], dimensions[place + 1 :]
    part = 1 + (room - span_of(inner)) // stride
    positions = math.prod(length for length, _ in outer) * length
    starts: dict[int, None] = {}
    for number in range(BLOCKS):
        outside, first = divmod(number * (positions - part) // (BLOCKS - 1), length)
        starts[min(first, length - part) * stride + _offset(outside, outer)] = None
    return [Block(start, ((part, stride), *inner)) for start in starts]


def span_of(dimensions: Dimensions) -> int:
    """Elements from the first to the last of such a tensor."""
    return 1 + sum((length - 1) * stride for length, stride in dimensions)


def _in_memory(shape: Sequence[int], strides: Sequence[int]) -> Dimensions:
    """The dimensions in the order of memory, those that lie within one another without a gap as one."""
    held: list[tuple[int, int]] = []
    parts = [(length, stride) for length, stride in zip(shape, strides, strict=True) if length > 1 and stride]
    for length, stride in sorted(parts, key=lambda part: part[1], reverse=True):
        if held and held[-1][1] == length * stride:
            held[-1] = (held[-1][0] * length, stride)
        else:
            held.append((length, stride))
    return tuple(held)


def _offset(index: int, dimensions: Dimensions) -> int:
    """Where the element of that number, counted with the last dimension fastest, lies."""
    offset = 0
    for length, stride in reversed(dimensions):
        index, position = divmod(index, length)
        offset += position * stride
    return offset


def pick(memory: bytes, dimensions: Dimensions, size: int) -> bytes:
    """The elements of a block out of its memory, without what lies in the gaps between them."""
    if dimensions in ((), ((len(memory) // size, 1),)):
        return memory
    places = [0]
    for length, stride in dimensions:
        places = [place + number * stride for place in places for number in range(length)]
    return b"".join(memory[place * size : (place + 1) * size] for place in places)
