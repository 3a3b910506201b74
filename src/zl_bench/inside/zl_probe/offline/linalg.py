"""The CUDA kernels of aten's linear algebra, re-enacted as far as they call the dispatcher.

The factorisations themselves are the vendor's (cuSOLVER, cuBLAS). Around them aten copies, fills and cuts triangles
through the dispatcher, and any of these may be a library's. Source, unless another is named:
ATen/native/BatchLinearAlgebra.cpp, and the `lu_factor`, `geqrf` and `svd` of cuda/linalg/BatchLinearAlgebra*.cpp as
they stood in torch 2.11, built with MAGMA. `linalg_unstructured` has the rest.

These are structured: their kernel writes outputs whose strides its meta function chose, usually column-major. An output given
with other strides, be it only for an extent of one, stands back for a proxy, which is copied into it at the end (torchgen,
`maybe_create_proxy`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Kernel = Callable[[Any, Any, Any], None]
"""(torch, outputs, arguments by name): what a structured kernel dispatches."""


def _structured(kernel: Kernel) -> Callable[[Any, Any, Any, Any], Any]:
    """The composition for all overloads of a structured operator."""

    def run(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
        name = func._schema.name.split("::", 1)[-1].lstrip("_")
        functional = getattr(native.torch.ops.aten, func._schema.name.split("::", 1)[-1]).default
        names = [argument.name for argument in functional._schema.arguments]
        inputs = {name: value for name, value in kwargs.items() if name in names}
        given = [kwargs[argument.name] for argument in func._schema.arguments if argument.is_out]
        with native.mode.fake_mode:
            result = functional(*args, **inputs)
            made = list(result) if isinstance(result, (tuple, list)) else [result]
            outputs = [_usable(out, fresh) for out, fresh in zip(given, made, strict=True)] if given else made
        defaults = {argument.name: argument.default_value for argument in functional._schema.arguments}
        arguments = {**defaults, **dict(zip(names, args, strict=False)), **inputs}
        with native.mode:
            kernel(native.torch, outputs, arguments)
        for output in outputs:
            native.values.forget(output)
        native.learn(functional, *_unchecked(names, args, inputs), outputs)
        with native.mode:
            if arguments.get("check_errors"):
                check(native.torch, outputs[-1], f"torch.{name.replace('_', '.', 1)}", arguments[names[0]])
            for out, output in zip(given, outputs, strict=False):
                if out is not output:
                    out.copy_(output)
        if not given:
            return result
        return tuple(given) if isinstance(result, (tuple, list)) else given[0]

    return run


def _unchecked(names: list[str], args: Any, inputs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments without the wish for an error: the values tell it, and the check is dispatched for itself."""
    place = names.index("check_errors") if "check_errors" in names else len(args)
    kept = tuple(False if position == place else value for position, value in enumerate(args))
    return kept, {name: value for name, value in inputs.items() if name != "check_errors"}


def _usable(out: Any, fresh: Any) -> Any:
    """The output as given, resized where its shape is another, or the proxy where its strides are."""
    if out.shape != fresh.shape:
        out.resize_(fresh.shape)
        out.as_strided_(fresh.shape, fresh.stride())
    return out if out.stride() == fresh.stride() else fresh


def column_major(torch: Any, tensor: Any) -> Any:
    """`cloneBatchedColumnMajor`."""
    return tensor.mT.clone(memory_format=torch.contiguous_format).mT


def batch_count(tensor: Any) -> int:
    """`batchCount`: the matrices in a batch."""
    return math.prod(tensor.shape[:-2])


def fresh_info(torch: Any, matrix: Any) -> Any:
    """The error code of a cuSOLVER function, which starts as 0."""
    return torch.zeros((1,), dtype=torch.int32, device=matrix.device)


def check(torch: Any, info: Any, name: str, matrix: Any) -> None:
    """Dispatch the check of a factorisation's error codes."""
    torch.ops.aten._linalg_check_errors.default(info, name, is_matrix=matrix.dim() == 2)


def geqrf(torch: Any, matrix: Any) -> None:
    """`geqrf_kernel`: cuBLAS's for many small matrices keeps its error code on the host."""
    rows = matrix.shape[-2]
    if not (rows <= 256 and batch_count(matrix) >= max(2, rows // 16)):
        fresh_info(torch, matrix)


def orgqr(torch: Any, matrix: Any, reflectors: int) -> None:
    """`apply_orgqr`, which cuSOLVER does except where there is nothing to reflect."""
    if reflectors:
        fresh_info(torch, matrix)
    else:
        matrix.fill_(0)
        matrix.diagonal(0, -2, -1).fill_(1)


def _cholesky_ex(torch: Any, outputs: Any, given: Any) -> None:
    factor, info = outputs
    if factor.numel() == 0:
        info.zero_()
        return
    factor.copy_(given["self"])
    if given["upper"]:
        factor.triu_()
    else:
        factor.tril_()


def _ldl_factor_ex(torch: Any, outputs: Any, given: Any) -> None:
    factor, _, info = outputs
    if factor.numel() == 0:
        info.zero_()
        return
    torch.tril(given["self"], out=factor)


def _ldl_solve(torch: Any, outputs: Any, given: Any) -> None:
    """With `apply_ldl_solve_cusolver` of cuda/linalg/BatchLinearAlgebraLib.cpp, which wants 64-bit pivots."""
    factor, pivots = given["LD"], given["pivots"]
    if factor.numel() == 0 or pivots.numel() == 0:
        return
    pivots = pivots.contiguous()
    if not factor.mT.is_contiguous():
        column_major(torch, factor)
    outputs[0].copy_(given["B"])
    pivots.to(torch.int64)
    torch.zeros((), dtype=torch.int32, device=factor.device)


def _lu_factor_ex(torch: Any, outputs: Any, given: Any) -> None:
    """With `lu_factor`, which fills in the pivots where there is no pivoting.

    MAGMA's, for rectangular matrices and for many or large ones, wants the pivots filled beforehand. Without pivoting,
    cuSOLVER's leaves NaN where there should be 0.
    """
    matrix, (factor, pivots, info) = given["A"], outputs
    if matrix.numel() == 0:
        info.zero_()
        return
    if factor is not matrix:
        factor.copy_(matrix)
    (rows, columns), matrices = matrix.shape[-2:], batch_count(matrix)
    vendors = rows == columns and (matrices == 1 or rows <= 16 or (rows <= 128 and matrices <= 16))
    if given["pivot"] and not vendors:
        pivots.fill_(1)
    elif not given["pivot"] and vendors and matrices == 1:
        if factor.is_complex():
            zero = torch.scalar_tensor(0.0, dtype=factor.dtype, device=factor.device)
            factor.copy_(torch.where(factor.eq(factor), factor, zero))
        else:
            factor.nan_to_num_(0, math.inf, -math.inf)
    if not given["pivot"]:
        rank = min(matrix.shape[-2:])
        pivots.copy_(torch.arange(1, rank + 1, dtype=torch.int32, device=matrix.device))


def _lu(torch: Any, outputs: Any, given: Any) -> None:
    matrix, (permutation, lower, upper) = given["A"], outputs
    rows, columns = matrix.shape[-2:]
    factor = lower if rows > columns else upper
    pivots, info = (torch.empty(0, dtype=torch.int32, device=matrix.device) for _ in range(2))
    aten = torch.ops.aten
    aten.linalg_lu_factor_ex.out(matrix, pivot=given["pivot"], LU=factor, pivots=pivots, info=info)
    aten.lu_unpack.out(factor, pivots, True, given["pivot"], P=permutation, L=lower, U=upper)


def _lu_unpack(torch: Any, outputs: Any, given: Any) -> None:
    factor, (permutation, lower, upper) = given["LU_data"], outputs
    rows, columns = factor.shape[-2:]
    if given["unpack_data"]:
        if rows > columns or factor is lower:
            torch.triu(factor if rows == columns else factor.narrow(-2, 0, columns), out=upper)
            torch.tril(factor, -1, out=lower)
            lower.diagonal(0, -2, -1).fill_(1.0)
        else:
            torch.tril(factor if rows == columns else factor.narrow(-1, 0, rows), -1, out=lower)
            lower.diagonal(0, -2, -1).fill_(1.0)
            torch.triu(factor, out=upper)
    if given["unpack_pivots"]:
        order = torch.arange(rows, dtype=torch.int64, device=factor.device)
        order = order.expand(permutation.shape[:-1]).contiguous()
        permutation.zero_()
        permutation.scatter_(-2, order.unsqueeze(-2), 1.0)


def _qr(torch: Any, outputs: Any, given: Any) -> None:
    matrix, (orthogonal, upper) = given["A"], outputs
    rows, columns = matrix.shape[-2:]
    wants_q = given["mode"] != "r"
    if wants_q and orthogonal.shape[-1] == columns:
        work = orthogonal
        work.copy_(matrix)
    elif upper.shape[-2] == rows:
        work = upper
        work.copy_(matrix)
    else:
        work = column_major(torch, matrix)
    geqrf(torch, work)
    if work is not upper:
        torch.triu(work.narrow(-2, 0, min(rows, columns)), out=upper)
        if wants_q:
            orgqr(torch, orthogonal, min(rows, columns))
        return
    if wants_q and rows < columns:
        orthogonal.copy_(work.narrow(-1, 0, rows))
    elif wants_q:
        orthogonal.narrow(-1, 0, columns).copy_(work)
    upper.triu_()
    if wants_q:
        orgqr(torch, orthogonal, min(rows, columns))


def _eigh(torch: Any, outputs: Any, given: Any) -> None:
    matrix = given["A"]
    if matrix.numel() == 0:
        return
    if given["compute_v"]:
        outputs[1].copy_(matrix)
    else:
        column_major(torch, matrix)
    info = torch.zeros(matrix.shape[:-2], dtype=torch.int32, device=matrix.device)
    check(torch, info, "linalg.eigh", matrix)


def _svd(torch: Any, outputs: Any, given: Any) -> None:
    """With `svd_cusolver`, whose drivers all work on a column-major copy."""
    matrix, (left, _, right) = given["A"], outputs
    vectors, full, driver = given["compute_uv"], given["full_matrices"], given["driver"] or "gesvdj"
    if matrix.numel() == 0:
        for empty in (left, right) if vectors and full else ():
            if empty.numel():
                empty.zero_()
                empty.diagonal(0, -2, -1).fill_(1.0)
        return
    info = torch.zeros(matrix.shape[:-2], dtype=torch.int32, device=matrix.device)
    rows, columns = matrix.shape[-2:]
    column_major(torch, matrix if driver == "gesvdj" or rows >= columns else matrix.mH)
    if driver == "gesvd":
        if vectors:
            _copy_each(torch, right.mT if rows >= columns else left)
    else:
        if driver == "gesvdj" and max(rows, columns) <= 32 and vectors and not full and rows != columns:
            _copy_part(torch, left if rows > columns else right.mT)
        info.cpu()  # whether it converged
    check(torch, info, "linalg.svd", matrix)


def _copy_each(torch: Any, vectors: Any) -> None:
    """`apply_svd_cusolver_gesvd` finds the one side's vectors transposed, matrix by matrix."""
    for one in vectors.view(-1, *vectors.shape[-2:]):
        one.copy_(torch.empty_like(one, memory_format=torch.contiguous_format))


def _copy_part(torch: Any, vectors: Any) -> None:
    """`svd_cusolver_gesvdjBatched` finds all vectors, and copies those that are wanted."""
    *batch, rows, kept = vectors.shape
    square = torch.empty((*batch, rows, rows), dtype=vectors.dtype, device=vectors.device).mT
    vectors.copy_(square.narrow(-1, 0, kept))


def _inv_ex(torch: Any, outputs: Any, given: Any) -> None:
    inverse, info = outputs
    inverse.zero_()
    inverse.diagonal(0, -2, -1).fill_(1.0)
    torch.ops.aten.linalg_solve_ex.out(given["A"], inverse, left=True, check_errors=False, result=inverse, info=info)


def _transposed(matrix: Any) -> Any:
    """What a determinant factors in the place of a row-major matrix: its transpose, which is column-major already."""
    return matrix.mT if matrix.is_contiguous() and not matrix.is_complex() else matrix


def _solve_ex(torch: Any, outputs: Any, given: Any) -> None:
    """The matrix itself is factored, as seen on an H200: torch 2.11 no longer takes the transpose of a row-major one."""
    matrix, right, (result, factor, pivots, info) = given["A"], given["B"], outputs
    aten = torch.ops.aten
    aten.linalg_lu_factor_ex.out(matrix, pivot=True, LU=factor, pivots=pivots, info=info)
    if right.dim() == 1 or (matrix.dim() - 1 == right.dim() and right.shape == matrix.shape[:-1]):
        result, right = result.unsqueeze(-1), right.unsqueeze(-1)
    aten.linalg_lu_solve.out(factor, pivots, right, left=given["left"], adjoint=False, out=result)


def _lu_solve(torch: Any, outputs: Any, given: Any) -> None:
    """Without what its back ends do for some sizes on their own, which hangs on the torch and on the math libraries."""
    factor, right, result = given["LU"], given["B"], outputs[0]
    if result.numel() == 0:
        return
    if result is not right:
        (result if given["left"] else result.mT).copy_(right if given["left"] else right.mH)
    given["pivots"].contiguous()
    if not factor.mT.is_contiguous():
        column_major(torch, factor)


def _permutation_sign(torch: Any, pivots: Any) -> Any:
    """`lu_det_P`."""
    order = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype, device=pivots.device)
    odd = (order != pivots).sum(-1, keepdim=False, dtype=torch.int64)
    aten = torch.ops.aten  # C++ calls the overloads for numbers, Python's methods those for tensors
    return aten.add_.Scalar(aten.mul_.Scalar(aten.fmod_.Scalar(odd, 2), -2), 1)


def _factored(torch: Any, given: Any, factor: Any, pivots: Any) -> Any:
    info = torch.empty(0, dtype=torch.int32, device=factor.device)
    torch.ops.aten.linalg_lu_factor_ex.out(_transposed(given["A"]), LU=factor, pivots=pivots, info=info)
    return factor.diagonal(0, -2, -1)


def _det(torch: Any, outputs: Any, given: Any) -> None:
    result, factor, pivots = outputs
    diagonal = _factored(torch, given, factor, pivots)
    product = torch.prod(diagonal, -1)  # a C++ compiler makes the last argument first
    torch.mul(_permutation_sign(torch, pivots), product, out=result)


def _slogdet(torch: Any, outputs: Any, given: Any) -> None:
    sign, logarithm, factor, pivots = outputs
    diagonal = _factored(torch, given, factor, pivots)
    permutation_sign = _permutation_sign(torch, pivots)
    torch.mul(diagonal.sgn().prod(-1), permutation_sign, out=sign)
    torch.sum(diagonal.abs().log_(), -1, out=logarithm)


def _triangular_solve(torch: Any, outputs: Any, given: Any) -> None:
    solution, coefficients = outputs
    solution.copy_(given["self"].expand(solution.shape))
    coefficients.copy_(given["A"].expand(coefficients.shape))


TABLE: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "linalg_cholesky_ex": _structured(_cholesky_ex),
    "linalg_ldl_factor_ex": _structured(_ldl_factor_ex),
    "linalg_ldl_solve": _structured(_ldl_solve),
    "linalg_lu_factor_ex": _structured(_lu_factor_ex),
    "linalg_lu": _structured(_lu),
    "lu_unpack": _structured(_lu_unpack),
    "linalg_qr": _structured(_qr),
    "_linalg_eigh": _structured(_eigh),
    "_linalg_svd": _structured(_svd),
    "linalg_inv_ex": _structured(_inv_ex),
    "_linalg_solve_ex": _structured(_solve_ex),
    "linalg_lu_solve": _structured(_lu_solve),
    "_linalg_det": _structured(_det),
    "_linalg_slogdet": _structured(_slogdet),
    "triangular_solve": _structured(_triangular_solve),
}
