"""Operators that aten composes otherwise for a subclass of Tensor, which an accelerator's tensor here is and on a card is not.

A composite operator of aten sees a Python tensor, or an active mode, through `isTensorSubclassLike`, and then takes a road
that suits any subclass. These are composed here as aten composes them for a plain tensor. To reach the dispatch mode whole,
they are registered for the accelerator, as an operator with a kernel of its own would be.
Source: ATen/native/BatchLinearAlgebra.cpp, `_may_require_fw_or_bw_grad`.
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


def _as_composed(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    with native.mode:
        return func.decompose(*args, **kwargs)


TABLE: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "linalg_eigvals": eigvals,
    "linalg_eigvalsh": eigvalsh,
    "linalg_svdvals": svdvals,
}


def register(torch: Any, key: str) -> Any:
    """Have these operators reach the dispatch mode whole. The library that is returned must be kept."""
    # Not through torch.library, which lets nobody register them again.
    library = torch._C._dispatch_library("IMPL", "aten", key, __file__, 0)

    def unreachable(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("an operator of the stand-in device was called past its dispatch mode")

    for name in TABLE:
        library.impl(name, key, unreachable)
    return library
