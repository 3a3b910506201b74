"""Operators that aten composes of others for CUDA only, re-enacted.

Their CUDA kernels call the dispatcher, so that parts of them reach a library's functions. The source of each is named;
order and kind of the nested calls are what counts, since a nested copy or fill may be a launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import cudnn, linalg, linalg_unstructured, recurrent, subclass_checks
from .values import GUESS_LIMIT

Composition = Callable[[Any, Any, Any, Any], Any]
"""(native, func, args, kwargs) -> result, or NotImplemented to run the operator as one kernel."""


def zero_(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/Fill.cpp: on every device but the host, `zero_` is `fill_(0)`."""
    if args[0].layout != native.torch.strided:
        return NotImplemented
    with native.mode:
        return args[0].fill_(0)


def fill_(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/Fill.cpp: filling with a tensor of the same device copies it; with the host's, it fills at once.

    A tensor of the host is filled with the number that the device's tensor holds.
    """
    tensor, value = args
    if not isinstance(value, native.torch.Tensor):
        return NotImplemented
    if value.device != tensor.device and not isinstance(value, native.fake_tensor):
        return NotImplemented
    with native.mode:
        if value.device != tensor.device:
            return tensor.fill_(value.item())
        return tensor.copy_(value.clone() if native.torch._C._is_alias_of(tensor, value) else value)


def copy_(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/cuda/Copy.cu: between host and device, what is not contiguous or of one dtype goes through temporaries."""
    torch, (target, source) = native.torch, args[:2]
    if target.device.type == source.device.type or target.layout != torch.strided or source.layout != torch.strided:
        return NotImplemented
    same = (target.dtype, target.shape, target.stride()) == (source.dtype, source.shape, source.stride())
    if not (same and _is_dense(target)):
        with native.mode:
            dense = (
                target if target.is_contiguous() else torch.empty_like(target, memory_format=torch.contiguous_format)
            )
            dense.copy_(source.to(target.dtype).expand_as(target).contiguous())
            if dense is not target:
                target.copy_(dense)
        return target
    if isinstance(target, native.fake_tensor):
        return NotImplemented  # host to device: the fake operator knows
    target.copy_(native.values.needed(source, "aten::copy_ to the host"))
    return target


def _is_dense(tensor: Any) -> bool:
    """Whether the tensor fills one block of memory, in whatever order of its dimensions."""
    expected = 1
    for stride, extent in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def to_copy(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/TensorConversions.cpp is composed for every device; only a large copy to the host is special here.

    Its values are not known and not guessed: it stays a fake tensor, which raises NeedsDevice when it is read.
    """
    source, device = args[0], kwargs.get("device")
    fake = isinstance(source, native.fake_tensor)
    to_host = device is not None and native.torch.device(device).type == "cpu"
    if fake and to_host and source.numel() > GUESS_LIMIT and native.values.known(source) is None:
        return NotImplemented
    if fake and source.layout != native.torch.strided:
        return NotImplemented
    with native.mode:
        return func._op_dk(native.torch._C.DispatchKey.CompositeExplicitAutograd, *args, **kwargs)


def local_scalar_dense(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`.item()`: the value."""
    return native.values.needed(args[0], "aten::_local_scalar_dense (.item())").item()


def equal(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/cuda/Equal.cpp: compare, reduce, read."""
    one, other = args
    if one.shape != other.shape:
        return False
    with native.mode:
        return bool(one.eq(other).all().item())


def index(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/TensorAdvancedIndexing.cpp: a mask among the indices is turned into positions by `nonzero`."""
    tensor, indices, *rest = args
    masks = (native.torch.bool, native.torch.uint8)
    if not any(isinstance(index, native.torch.Tensor) and index.dtype in masks for index in indices):
        return NotImplemented
    positions: list[Any] = []
    with native.mode:
        for index in indices:
            if index is not None and index.dtype in masks:
                found = index.nonzero()
                positions.extend(found.select(1, dimension) for dimension in range(index.dim()))
            else:
                positions.append(index)
        return func(tensor, positions, *rest, **kwargs)


def masked_select(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/cuda/IndexKernel.cpp: indexing by the broadcast mask."""
    tensor, mask = args
    if "out" in kwargs:
        return NotImplemented
    with native.mode:
        mask = mask.unsqueeze(0) if mask.dim() == 0 else mask
        tensor = tensor.unsqueeze(0) if tensor.dim() == 0 else tensor
        mask, tensor = native.torch.broadcast_tensors(mask, tensor)
        return native.torch.ops.aten.index.Tensor(tensor, [mask])


def convolution(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/Convolution.cpp with cuDNN, which a build for the host would not choose: dense inputs, bias added after."""
    torch, (tensor, weight, bias, *rest) = native.torch, args
    if tensor.dtype.is_complex or tensor.layout != torch.strided:
        return NotImplemented
    with native.mode:
        memory_format = cudnn.convolution_format(native, tensor, weight)
        tensor, weight = (value.contiguous(memory_format=memory_format) for value in (tensor, weight))
    result = native.leaf(func, (tensor, weight, None, *rest), kwargs)
    result = cudnn.in_format(native, result, memory_format)
    if bias is not None:
        with native.mode:
            result.add_(bias.reshape(1, -1, *([1] * (tensor.dim() - 2))))
    return result


def flash_attention_forward(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/transformers/cuda/flash_attn/flash_api.cpp is built with FLASHATTENTION_DISABLE_ALIBI."""
    if kwargs.get("alibi_slopes") is not None:
        raise RuntimeError("This flash attention build does not support alibi.")
    return NotImplemented


def as_one_kernel(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """An operator that a host's build composes otherwise than a card's, whose fake is known."""
    return NotImplemented


def fills_its_outputs(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """A helper of aten's that returns nothing and has no fake; what it fills is unknown then."""
    for tensor in native.written(func, args, kwargs):
        native.values.forget(tensor)


def all_or_any(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """ATen/native/ReduceOps.cpp, `allany_impl`: of one element there is nothing to reduce, of none even less."""
    torch, tensor = native.torch, args[0]
    if tensor.numel() > 1 or tensor.layout != torch.strided or not isinstance(tensor, native.fake_tensor):
        return NotImplemented
    result = native.leaf(func, args, kwargs)
    with native.mode:
        scratch = torch.empty_like(result, memory_format=torch.contiguous_format)
        if tensor.numel():
            scratch.copy_(tensor.view(result.shape).to(torch.bool))
        else:
            scratch.fill_(int(func.name().startswith("aten::all")))
    return result


def check_errors(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Whether a factorisation succeeded is read from the device; where nobody knows, it is supposed to have."""
    with native.mode:
        failed = args[0].any().item()
    known = native.values.known(args[0])
    if failed and known is not None and not native.values.is_guessed(args[0]):
        return func(known, *args[1:], **kwargs)
    return None


TABLE: dict[str, Composition] = {
    "zero_": zero_,
    "fill_": fill_,
    "copy_": copy_,
    "_to_copy": to_copy,
    "_local_scalar_dense": local_scalar_dense,
    "equal": equal,
    "index": index,
    "index_put": index,
    "index_put_": index,
    "_index_put_impl_": index,
    "masked_select": masked_select,
    "all": all_or_any,
    "any": all_or_any,
    "_linalg_check_errors": check_errors,
    "convolution": convolution,
    "_cummax_helper": fills_its_outputs,
    "_cummin_helper": fills_its_outputs,
    "convolution_backward": as_one_kernel,
    "_flash_attention_forward": flash_attention_forward,
    **linalg.TABLE,
    **linalg_unstructured.TABLE,
    **subclass_checks.TABLE,
    "_cudnn_rnn_flatten_weight": recurrent.flatten_weight,
    "_cudnn_rnn": recurrent.forward,
    "_cudnn_rnn_backward": recurrent.backward,
    **dict.fromkeys(cudnn.MODES, recurrent.recurrent),
    "_batch_norm_impl_index": cudnn.batch_norm_impl_index,
    "grid_sampler": cudnn.grid_sampler,
    "cudnn_grid_sampler": cudnn.cudnn_grid_sampler,
    "cudnn_grid_sampler_backward": cudnn.cudnn_grid_sampler_backward,
    "_use_cudnn_ctc_loss": cudnn.use_ctc_loss,
    "_use_miopen_ctc_loss": cudnn.use_miopen_ctc_loss,
    "_fused_sdp_choice": cudnn.attention_choice,
}
