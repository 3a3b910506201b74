"""Linear algebra whose CUDA kernels are no structured ones, re-enacted as far as they call the dispatcher.

What they dispatch is dispatched on tensors like those of a card, beside the operator's own result. An output that is
given is not looked into: there these operators dispatch nothing here. Source, unless another is named:
ATen/native/BatchLinearAlgebra.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .linalg import batch_count, check, column_major, fresh_info, geqrf, orgqr

Kernel = Callable[..., None]
"""(native, result, arguments of the operator): what it dispatches."""


def _beside(kernel: Kernel) -> Callable[[Any, Any, Any, Any], Any]:
    """The composition for an operator's functional overload."""

    def run(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
        result = native.leaf(func, args, kwargs)
        if func._overloadname == "default":
            with native.mode:
                kernel(native, result, *args, **kwargs)
        return result

    return run


def _column_major_like(torch: Any, matrix: Any, dtype: Any = None) -> Any:
    return torch.empty_like(matrix.mT, memory_format=torch.contiguous_format, dtype=dtype).mT


def _eig(native: Any, result: Any, matrix: Any) -> None:
    """`linalg_eig_out` looks for infinities first."""
    finite = matrix.isfinite().all()
    if not native.values.is_guessed(finite) and native.values.known(finite) is not None:
        finite.item()
    _eigenvalues(native, result, matrix, "torch.linalg.eig")


def _eigvals(native: Any, result: Any, matrix: Any) -> None:
    _eigenvalues(native, (result,), matrix, "torch.linalg.eigvals")


def _eigenvalues(native: Any, result: Any, matrix: Any, name: str) -> None:
    """`linalg_eig_out_info` with cuSOLVER's Xgeev, seen on an H200.

    Of a real matrix, the eigenvalues are real if no imaginary part is found. What is done where one is found was not seen
    on a card: complex eigenvectors are supposed to be made by a kernel that dispatches nothing.
    """
    torch, (values, *vectors) = native.torch, result
    infos = torch.zeros((max(1, batch_count(matrix)),), dtype=torch.int32, device=matrix.device)
    if matrix.numel() == 0:
        return
    made = [torch.empty_like(values, memory_format=torch.contiguous_format)]
    made += [_column_major_like(torch, matrix, values.dtype) for _ in vectors]
    matrix.mT.contiguous()
    if not matrix.is_complex():
        parts = _real_and_imaginary(native, values, matrix)
        real, imaginary = parts.chunk(2, -1)
        if torch.all(imaginary == 0.0).item():
            for complex_values, real_values in zip(made, (real, _column_major_like(torch, matrix)), strict=False):
                complex_values.copy_(real_values)
        else:
            torch.complex(real, imaginary, out=made[0])
    for found in made:
        torch.empty_like(found, memory_format=torch.contiguous_format).copy_(found)
    check(torch, infos, name, matrix)


def _real_and_imaginary(native: Any, values: Any, matrix: Any) -> Any:
    """The real parts of eigenvalues and then the imaginary ones. Of a matrix that nobody knows, some are not 0."""
    torch = native.torch
    shape = (*values.shape[:-1], 2 * values.shape[-1])
    parts = torch.empty(shape, dtype=matrix.dtype, device=matrix.device)
    with torch.utils._python_dispatch._disable_current_modes():
        known = native.values.known(values)
        if known is not None:
            real = torch.cat([known.real, known.imag], -1)
        else:
            real = torch.full(shape, float(values.shape[-1] > 1), dtype=matrix.dtype)
        native.values.attach(parts, real, known is None or native.values.is_guessed(values))
    return parts


def _geqrf(native: Any, result: Any, matrix: Any) -> None:
    """`geqrf_out_helper` factors a column-major copy."""
    factor = _column_major_like(native.torch, matrix)
    factor.copy_(matrix)
    geqrf(native.torch, factor)


def _householder_product(native: Any, result: Any, matrix: Any, tau: Any) -> None:
    """`householder_product_out_helper`."""
    product = _column_major_like(native.torch, matrix)
    if product.numel() == 0:
        return
    product.copy_(matrix)
    tau.contiguous()
    orgqr(native.torch, product, tau.shape[-1])


def _cholesky(native: Any, result: Any, matrix: Any, upper: bool = False) -> None:
    """The old `cholesky`: a column-major copy, checked and cut to a triangle."""
    torch = native.torch
    if matrix.numel() == 0:
        return
    factor = column_major(torch, matrix)
    check(torch, torch.empty(matrix.shape[:-2], dtype=torch.int32, device=matrix.device), "cholesky", matrix)
    if upper:
        factor.triu_()
    else:
        factor.tril_()


def _cholesky_solve_helper(native: Any, result: Any, right: Any, factor: Any, upper: bool) -> None:
    """`_cholesky_solve_helper_cuda`: column-major copies of both. MAGMA, for more than one matrix, reports to the host."""
    if batch_count(right) == 1:
        fresh_info(native.torch, right)
    for tensor in (right, factor):
        column_major(native.torch, tensor)


def _cholesky_inverse(native: Any, result: Any, factor: Any, upper: bool = False) -> None:
    """`cholesky_inverse_out_info`, which solves for the identity. MAGMA's, for more than one matrix, was not looked into."""
    if factor.numel() == 0:
        return
    inverse = _column_major_like(native.torch, factor)
    inverse.copy_(factor)
    if batch_count(factor) == 1:
        column_major(native.torch, inverse)
        fresh_info(native.torch, factor)
        inverse.fill_(0)
        inverse.diagonal(0, -2, -1).fill_(1)


def _solve_triangular(
    native: Any, result: Any, matrix: Any, right: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> None:
    """`linalg_solve_triangular_out`: the right side is copied to where the solution goes; the matrix only if it must be."""
    torch = native.torch
    solution = _column_major_like(torch, result)
    solution.copy_(right.expand(solution.shape))
    matrix = matrix.expand(*solution.shape[:-2], *matrix.shape[-2:])
    if not (matrix.is_contiguous() or matrix.mT.is_contiguous()):
        column_major(torch, matrix)


def least_squares(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`linalg_lstsq` with `linalg_lstsq_gels` of cuda/linalg/BatchLinearAlgebra.cpp, the only driver on CUDA.

    Seen on an H200 for a tall matrix. What is dispatched for a wide one follows the source.
    """
    if func._overloadname != "default":
        return NotImplemented
    torch, (matrix, other) = native.torch, args[:2]
    vector = other.dim() == 1 or (matrix.dim() - 1 == other.dim() and other.shape == matrix.shape[:-1])
    rows, columns = matrix.shape[-2:]
    with native.mode:
        right = other.unsqueeze(-1) if vector else other
        batch = torch.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
        infos = torch.zeros((max(1, batch_count(matrix)),), dtype=torch.int32, device=matrix.device)
        shape = (*batch, right.shape[-1], max(rows, columns))
        solution = torch.empty(shape, dtype=matrix.dtype, device=matrix.device).mT
        solution.narrow(-2, 0, rows).copy_(right)
        factor = _column_major_like(torch, matrix)
        factor.copy_(matrix)
        _gels(torch, factor, solution)
        residuals = torch.empty(0, dtype=matrix.real.dtype, device=matrix.device)
        if rows > columns:
            rest = solution.narrow(-2, columns, rows - columns)
            rest = rest.mul_(rest.conj()).real if rest.is_complex() else rest.pow_(2)
            torch.sum(rest, -2, keepdim=False, out=residuals)
        solution = solution.narrow(-2, 0, columns)
        solution = solution.squeeze(-1) if vector else solution
        rank = torch.empty(0, dtype=torch.int64, device=matrix.device)
        result = (solution, residuals, rank, torch.empty(0, dtype=residuals.dtype, device=matrix.device))
        check(torch, infos, "torch.linalg.lstsq", matrix)
    for output in result[:2]:
        native.values.forget(output)
    native.learn(func, args[:2], {"driver": "gels"}, result)
    return result


def _gels(torch: Any, factor: Any, solution: Any) -> None:
    rows, columns = factor.shape[-2:]
    if rows < columns:
        factor = column_major(torch, factor.mH)
    elif rows <= 256 and batch_count(solution) >= max(2, rows // 16):
        return  # cuBLAS does it in one
    geqrf(torch, factor)
    expanded = factor.expand(*solution.shape[:-2], *factor.shape[-2:])
    if not expanded.mT.is_contiguous():
        column_major(torch, expanded)
    if rows < columns:
        solution.narrow(-2, rows, columns - rows).zero_()
    fresh_info(torch, factor)  # of ormqr


TABLE: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "linalg_eig": _beside(_eig),
    "_linalg_eigvals": _beside(_eigvals),
    "geqrf": _beside(_geqrf),
    "linalg_householder_product": _beside(_householder_product),
    "cholesky": _beside(_cholesky),
    "_cholesky_solve_helper": _beside(_cholesky_solve_helper),
    "cholesky_inverse": _beside(_cholesky_inverse),
    "linalg_solve_triangular": _beside(_solve_triangular),
    "linalg_lstsq": least_squares,
}
