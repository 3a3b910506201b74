"""Recurrent networks as a torch with cuDNN runs them: their weights in one buffer, and as one operator, `_cudnn_rnn`.

Only cuDNN knows the buffer's layout, and torch asks it of a card even where a composite operator merely wants to know what
to call. Source: aten/src/ATen/native/cudnn/RNN.cpp and `use_cudnn` in aten/src/ATen/native/RNN.cpp.
"""

from __future__ import annotations

from typing import Any

from . import cudnn
from .errors import NeedsDevice

ALIGNMENT = 16
"""Bytes; Triton specialises a pointer by whether its address divides by it."""
BFLOAT16_VERSION, BFLOAT16_CAPABILITY = 91300, (8, 0)
"""From which cuDNN, and on which cards, torch gives it recurrent networks in bfloat16."""


def flatten_weight(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Make the weights views of one buffer of zeros, into which they are copied.

    Their order is not cuDNN's: where every weight fills whole units of alignment, all of them are aligned in any order.
    Raises NeedsDevice for others.
    """
    _check_aligned(func, args[0])
    with native.mode:
        return _copied_into_one(args[0], moved=True)


def _check_aligned(func: Any, weights: Any) -> None:
    if any(weight.numel() * weight.element_size() % ALIGNMENT for weight in weights):
        raise NeedsDevice(func.name(), "cuDNN alone knows where in its buffer weights of such odd sizes lie")


def _copied_into_one(weights: Any, moved: bool) -> Any:
    buffer = weights[0].new_zeros(sum(weight.numel() for weight in weights))
    offset = 0
    for weight in weights:
        view = buffer.narrow(0, offset, weight.numel()).view(weight.shape)
        view.copy_(weight)
        if moved:
            weight.set_(view)
        offset += weight.numel()
    return buffer


def recurrent(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`lstm`, `gru`, `rnn_tanh`, `rnn_relu`: `_cudnn_rnn` where cuDNN takes the input, else aten's composition of cells."""
    torch, name = native.torch, func._schema.name.split("::")[-1]
    given = {
        argument.name: args[place] if place < len(args) else kwargs[argument.name]
        for place, argument in enumerate(func._schema.arguments)
    }
    tensor = given["input"] if "input" in given else given["data"]
    if not _takes(torch, func, tensor):
        return cudnn.without(native, func, args, kwargs)
    state, cell = given["hx"] if name == "lstm" else (given["hx"], None)
    hidden = state.shape[2] if cell is None else cell.shape[2]
    projection = state.shape[2] if state.shape[2] != hidden else 0
    if given["train"] and given["dropout"] > 0:
        raise NeedsDevice(func.name(), "cuDNN's dropout has a state of its own")
    packed = given["batch_sizes"].tolist() if "batch_sizes" in given else []
    with native.mode:
        outputs = torch._cudnn_rnn(
            tensor,
            given["params"],
            (4 if given["has_biases"] else 2) + (projection != 0),
            _buffer(given["params"]),
            state,
            cell,
            cudnn.MODES[name],
            hidden,
            projection,
            given["num_layers"],
            bool(given.get("batch_first")),
            given["dropout"],
            given["train"],
            given["bidirectional"],
            packed,
            None,
        )
    return tuple(outputs[: 2 if cell is None else 3])


def _takes(torch: Any, func: Any, tensor: Any) -> bool:
    if tensor.dtype != torch.bfloat16 or not cudnn.is_used(torch):
        return cudnn.takes(torch, tensor)
    version = torch.backends.cudnn.version()
    if version is None:
        raise NeedsDevice(func.name(), "in bfloat16 it depends on the version of cuDNN, and this torch has none")
    return bool(version >= BFLOAT16_VERSION and torch.cuda.get_device_capability() >= BFLOAT16_CAPABILITY)


def _buffer(weights: Any) -> Any:
    """The one buffer that the weights are views of, as `flatten_weight` made them; None if they are not."""
    first, end = weights[0], 0
    for weight in weights:
        inside = weight.untyped_storage()._cdata == first.untyped_storage()._cdata
        if not (inside and weight.is_contiguous() and weight.storage_offset() == end):
            return None
        end += weight.numel()
    return first.detach().as_strided((end,), (1,), 0)


def forward(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`_cudnn_rnn`: a dense input, and weights that are not in one buffer copied into one."""
    tensor, weights, stride, buffer, *rest = args
    batch_first, packed = rest[6], rest[10]
    with native.mode:
        (tensor.transpose(0, 1) if batch_first and not packed else tensor).contiguous()
        buffer = _copied_into_one(weights, moved=False) if buffer is None else buffer
    output, *states = native.leaf(func, (tensor, weights, stride, buffer, *rest), kwargs)
    if batch_first and not packed:  # the fake's strides are not those of cuDNN, which computes time first
        with native.mode.fake_mode:
            output = output.new_empty((output.shape[1], output.shape[0], output.shape[2])).transpose(0, 1)
    return (output, *states)


def backward(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`_cudnn_rnn_backward`: dense gradients, missing ones zeros, and the weights' gradients views of one buffer of zeros."""
    given = dict(zip((argument.name for argument in func._schema.arguments), args, strict=True))
    tensor, weights, state, cell, output = (given[name] for name in ("input", "weight", "hx", "cx", "output"))
    gradients = [given[f"grad_{name}"] for name in ("output", "hy", "cy")]
    if all(gradient is None for gradient in gradients):
        return None, None, None, [None] * len(weights)
    _check_aligned(func, weights)
    time_second = given["batch_first"] and not given["batch_sizes"]
    zeros_like, dense = native.torch.zeros_like, native.torch.contiguous_format
    with native.mode:
        likes = [like for like in (output, state, cell) if like is not None]
        filled = [
            zeros_like(like, memory_format=dense) if gradient is None else gradient
            for like, gradient in zip(likes, gradients, strict=False)
        ]
        time_first = tensor.transpose(0, 1) if time_second else tensor
        time_first.contiguous()
        (filled[0].transpose(0, 1) if time_second else filled[0]).contiguous()
        into_input = native.torch.empty_like(time_first, memory_format=dense)
        into_states = [native.torch.empty_like(gradient.contiguous(), memory_format=dense) for gradient in filled[1:]]
        into_input = into_input.transpose(0, 1) if time_second else into_input
        into_weights = [None] * len(weights)
        if given["output_mask"][3]:
            time_first.contiguous()
            parts = given["weight_buf"].new_zeros(given["weight_buf"].shape).split([one.numel() for one in weights])
            into_weights = [part.view(weight.shape) for part, weight in zip(parts, weights, strict=True)]
    return into_input, into_states[0], into_states[1] if cell is not None else None, into_weights
