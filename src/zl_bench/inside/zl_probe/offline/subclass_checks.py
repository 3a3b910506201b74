"""Operators that aten composes otherwise for a subclass of Tensor, which an accelerator's tensor here is and on a card is not.

A composite operator of aten sees a Python tensor, or an active mode, through `isTensorSubclassLike`, and then takes a road
that suits any subclass. These are composed here as aten composes them for a plain tensor. To reach the dispatch mode whole,
they are registered for the accelerator, as an operator with a kernel of its own would be.
Source: ATen/native/BatchLinearAlgebra.cpp, `_may_require_fw_or_bw_grad`; ATen/native/LinearAlgebra.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _needs_vectors(torch: Any, matrix: Any) -> bool:
    """The derivative of eigenvalues and singular values takes the vectors."""
    return bool(torch.is_grad_enabled() and matrix.requires_grad)


def eigvals(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`linalg_eigvals`."""
    if func._overloadname != "default":
        return NotImplemented
    aten, matrix = native.torch.ops.aten, args[0]
    with native.mode:
        if _needs_vectors(native.torch, matrix):
            return aten.linalg_eig.default(matrix)[0]
        return aten._linalg_eigvals.default(matrix)


def eigvalsh(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`linalg_eigvalsh`."""
    if func._overloadname != "default":
        return _as_composed(native, func, args, kwargs)
    matrix, triangle = args[0], args[1] if len(args) > 1 else kwargs.get("UPLO", "L")
    vectors = _needs_vectors(native.torch, matrix)
    with native.mode:
        return native.torch.ops.aten._linalg_eigh.default(matrix, triangle, vectors)[0]


def svdvals(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`linalg_svdvals`."""
    if func._overloadname != "default":
        return _as_composed(native, func, args, kwargs)
    vectors = _needs_vectors(native.torch, args[0])
    with native.mode:
        return native.torch.ops.aten._linalg_svd.default(args[0], False, vectors, driver=kwargs.get("driver"))[1]


def matrix_rank(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`matrix_rank_impl`: the sum is written into a result made before."""
    matrix = args[0]
    if func.name() not in MATRIX_RANK or matrix.dim() < 2 or matrix.numel() == 0:
        return _as_composed(native, func, args, kwargs)
    torch, aten = native.torch, native.torch.ops.aten
    with native.mode:
        rank = torch.empty(matrix.shape[:-2], dtype=torch.int64, device=matrix.device)
        absolute, relative = _tolerances(torch, matrix, kwargs.get("atol"), kwargs.get("rtol"))
        if kwargs.get("hermitian", False):
            values = aten.linalg_eigvalsh.default(matrix).abs()
            largest = values.amax(-1, keepdim=True)
        else:
            values = aten.linalg_svdvals.default(matrix)
            largest = values.narrow(-1, 0, 1)
        tolerance = torch.max(absolute.unsqueeze(-1), relative.unsqueeze(-1) * largest)
        return torch.sum(values > tolerance, -1, out=rank)


def _tolerances(torch: Any, matrix: Any, absolute: Any, relative: Any) -> tuple[Any, Any]:
    """`get_atol_rtol`, for tensors and for numbers."""
    options = {"dtype": torch.float64, "device": matrix.device}
    default = torch.finfo(matrix.dtype).eps * max(matrix.shape[-2:])
    if any(isinstance(value, float) for value in (absolute, relative)):
        if relative is None:
            relative = 0.0 if absolute > 0.0 else default
        return torch.full((), absolute or 0.0, **options), torch.full((), relative, **options)
    given, absolute = absolute is not None, torch.zeros((), **options) if absolute is None else absolute
    if relative is None:
        relative = torch.full((), default, **options)
        if given:
            relative = torch.where(absolute > 0, torch.zeros((), **options), relative)
    return absolute, relative


def _as_composed(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    with native.mode:
        return func.decompose(*args, **kwargs)


TABLE: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "linalg_eigvals": eigvals,
    "linalg_eigvalsh": eigvalsh,
    "linalg_svdvals": svdvals,
    "linalg_matrix_rank": matrix_rank,
}
MATRIX_RANK = ["aten::linalg_matrix_rank.atol_rtol_tensor", "aten::linalg_matrix_rank.atol_rtol_float"]
OVERLOADS = ["aten::linalg_eigvals", "aten::linalg_eigvalsh", "aten::linalg_svdvals", *MATRIX_RANK]
"""What is taken over of these, as a library would name it."""


def register(torch: Any, key: str) -> Any:
    """Have these operators reach the dispatch mode whole. The library that is returned must be kept."""
    # Not through torch.library, which lets nobody register them again.
    library = torch._C._dispatch_library("IMPL", "aten", key, __file__, 0)

    def unreachable(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("an operator of the stand-in device was called past its dispatch mode")

    for name in OVERLOADS:
        library.impl(name.removeprefix("aten::"), key, unreachable)
    return library
