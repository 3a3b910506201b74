"""Where a torch with cuDNN calls it, and a build for the host composes something else.

Both builds take the same way here, that of a card of the target. MIOpen is not modelled: for hip, both take the host's.
"""

from __future__ import annotations

from typing import Any

from .errors import NeedsDevice
from .targets import Target

MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}
"""cudnnRNNMode_t, by aten's operator."""
COMPOSITES = (
    *(f"{name}.{kind}" for name in MODES for kind in ("input", "data")),
    "_batch_norm_impl_index",
    "grid_sampler",
)
"""Operators that torch composes differently where it has cuDNN."""
MOST_SAMPLES_TRAINING, MOST_SAMPLES = 880801, 65535
MOST_GRID_CHANNELS = 1024


def install(torch: Any, target: Target) -> list[Any]:
    """Let torch find cuDNN as on a card of the target, whether this build has it or not.

    Returns what must be kept: registrations that let a dispatch mode see the composites before they are decomposed.
    """
    library = torch._C._dispatch_library("IMPL", "aten", "CUDA", __file__, 0)
    for name in COMPOSITES:
        # Not through torch.library, which lets nobody register it again; the suite's library may want to.
        library.impl(name, "CUDA", _never_called)
    if target.backend == "cuda":
        from torch.backends.cudnn import rnn

        torch.backends.cudnn.is_acceptable = lambda tensor: _accepts(torch, tensor)
        rnn.get_cudnn_mode = lambda mode: MODES[mode.lower()]
    torch._use_cudnn_rnn_flatten_weight = lambda: target.backend == "cuda"
    return [library]


def _never_called(*args: Any, **kwargs: Any) -> Any:
    raise NeedsDevice("an operator of cuDNN's", "it was called where the stand-in does not look")


def _accepts(torch: Any, tensor: Any) -> bool:
    cudnn = torch.backends.cudnn
    return bool(cudnn.enabled) and tensor.device.type == "cuda" and tensor.dtype in cudnn.CUDNN_TENSOR_DTYPES


def is_used(torch: Any) -> bool:
    """Whether the card would have cuDNN, and the suite has not switched it off."""
    return bool(torch.backends.cudnn.enabled) and not torch.cuda.get_device_properties(0).gcnArchName


def takes(torch: Any, tensor: Any) -> bool:
    """`cudnn_is_acceptable` in aten/src/ATen/native/Cudnn.cpp."""
    return is_used(torch) and tensor.numel() > 0 and _accepts(torch, tensor)


def without(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """What torch composes without cuDNN; a build that has it must not open it."""
    with native.mode, native.torch.backends.cudnn.flags(enabled=False):
        return func.decompose(*args, **kwargs)


def batch_norm_impl_index(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`_select_batch_norm_backend` in aten/src/ATen/native/Normalization.cpp."""
    torch, (tensor, weight, bias, mean, variance, training, momentum, epsilon, *_) = native.torch, args
    half, bfloat16 = torch.float16, torch.bfloat16
    if not (
        is_used(torch)
        and weight is not None
        and bias is not None
        and bfloat16 not in (tensor.dtype, weight.dtype)
        and (tensor.dtype != half or weight.dtype == torch.float32)
        and ((mean is None) == (variance is None))
        and (mean is not None or training)
        and tensor.dim() >= 3
        and tensor.shape[0] <= (MOST_SAMPLES_TRAINING if training else MOST_SAMPLES)
    ):
        return without(native, func, args, kwargs)
    with native.mode:
        dense = tensor.contiguous(memory_format=torch._prims_common.suggest_memory_format(tensor))
        others = [None if value is None else value.contiguous() for value in (weight, bias, mean, variance)]
        return (*torch.ops.aten.cudnn_batch_norm.default(dense, *others, training, momentum, epsilon), 1)


def grid_sampler(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`cond_cudnn_grid_sampler` in aten/src/ATen/native/GridSamplerUtils.h."""
    tensor, grid, interpolation, padding, align_corners = args
    fits = tensor.dim() == 4 and tensor.shape[1] <= MOST_GRID_CHANNELS and max(tensor.numel(), grid.numel()) < 2**31
    bilinear_zeros = interpolation == 0 and padding == 0 and align_corners
    if fits and bilinear_zeros and takes(native.torch, tensor) and takes(native.torch, grid):
        with native.mode:
            return native.torch.ops.aten.cudnn_grid_sampler.default(tensor, grid)
    return without(native, func, args, kwargs)


def cudnn_grid_sampler(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """aten/src/ATen/native/cudnn/GridSampler.cpp: what is expanded is made dense; torch has no fake for it."""
    with native.mode:
        tensor, grid = (value.contiguous() if 0 in value.stride() else value for value in args)
    with native.mode.fake_mode:
        return tensor.new_empty((tensor.shape[0], tensor.shape[1], grid.shape[1], grid.shape[2]))


def cudnn_grid_sampler_backward(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """aten/src/ATen/native/cudnn/GridSampler.cpp."""
    with native.mode:
        tensor, grid, _ = (value.contiguous() if 0 in value.stride() else value for value in args)
    with native.mode.fake_mode:
        return tensor.new_empty(tensor.shape), grid.new_empty(grid.shape)


def use_ctc_loss(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """aten/src/ATen/native/cudnn/LossCTC.cpp: what cuDNN never takes; the rest hangs on lengths and on its version."""
    torch, (probabilities, targets, *_, blank) = native.torch, args
    never = blank != 0 or targets.dim() != 1 or targets.dtype != torch.int32 or probabilities.dtype != torch.float32
    if never or not is_used(torch):
        return False
    raise NeedsDevice(func.name(), "whether cuDNN takes it hangs on the lengths and on its version")


def use_miopen_ctc_loss(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Asked by newer torch where cuDNN does not take it. Off where the suite has switched such libraries off."""
    if is_used(native.torch) or not native.torch.backends.cudnn.enabled:
        return False
    raise NeedsDevice(func.name(), "whether MIOpen takes it hangs on its version")


def attention_choice(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Which attention kernel a card takes hangs on its driver's and cuDNN's versions."""
    raise NeedsDevice(func.name(), "it hangs on the card and on the versions of its libraries")


def convolution_format(native: Any, tensor: Any, weight: Any) -> Any:
    """`cudnn_conv_suggest_memory_format` in aten/src/ATen/native/ConvUtils.h; contiguous without cuDNN."""
    torch = native.torch
    dense = torch.contiguous_format
    if tensor.dtype == torch.float64 or not is_used(torch):
        return dense
    formats = [torch._prims_common.suggest_memory_format(value) for value in (tensor, weight)]
    return next((one for one in formats if one != dense), dense)


def in_format(native: Any, result: Any, memory_format: Any) -> Any:
    """A fresh result laid out as cuDNN would, values kept."""
    if result.is_contiguous(memory_format=memory_format):
        return result
    with native.mode.fake_mode:
        laid_out = native.torch.empty_like(result, memory_format=memory_format)
    known = native.values.known(result)
    if known is not None:
        native.values.attach(laid_out, known, native.values.is_guessed(result))
    return laid_out
