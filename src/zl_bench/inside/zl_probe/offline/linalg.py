"""The CUDA kernels of aten's linear algebra, re-enacted as far as they call the dispatcher.

The factorisations themselves are the vendor's (cuSOLVER, cuBLAS). Around them aten copies, fills and cuts triangles
through the dispatcher, and any of these may be a library's. Source, unless another is named:
ATen/native/BatchLinearAlgebra.cpp.

Most are structured: their kernel writes outputs whose strides its meta function chose, usually column-major. An output
given with other strides stands back for a proxy, which is copied into it at the end (torchgen, `maybe_create_proxy`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Kernel = Callable[[Any, Any, Any], None]
"""(torch, outputs, arguments by name): what a structured kernel dispatches."""


def _structured(kernel: Kernel) -> Callable[[Any, Any, Any, Any], Any]:
    """The composition for all overloads of a structured operator."""

    def run(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
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
        native.learn(functional, args, inputs, outputs)
        with native.mode:
            for out, output in zip(given, outputs, strict=False):
                if out is not output:
                    out.copy_(output)
        if not given:
            return result
        return tuple(given) if isinstance(result, (tuple, list)) else given[0]

    return run


def _usable(out: Any, fresh: Any) -> Any:
    """The output as given, resized where its shape is another, or the proxy where its strides are."""
    if out.shape != fresh.shape:
        out.resize_(fresh.shape)
        out.as_strided_(fresh.shape, fresh.stride())
    same = all(
        one == other or extent == 1
        for one, other, extent in zip(out.stride(), fresh.stride(), fresh.shape, strict=True)
    )
    return out if same or fresh.numel() == 0 else fresh


def _column_major(torch: Any, tensor: Any) -> Any:
    """`cloneBatchedColumnMajor`."""
    return tensor.mT.clone(memory_format=torch.contiguous_format).mT


def _check(torch: Any, info: Any, name: str, matrix: Any) -> None:
    torch.ops.aten._linalg_check_errors.default(info, name, is_matrix=matrix.dim() == 2)


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
        _column_major(torch, factor)
    outputs[0].copy_(given["B"])
    pivots.to(torch.int64)


def _lu_factor_ex(torch: Any, outputs: Any, given: Any) -> None:
    """With `lu_factor` of cuda/linalg/BatchLinearAlgebra.cpp, which fills in the pivots where there is no pivoting."""
    matrix, (factor, pivots, info) = given["A"], outputs
    if matrix.numel() == 0:
        info.zero_()
        return
    if factor is not matrix:
        factor.copy_(matrix)
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
        work = _column_major(torch, matrix)
    if work is not upper:
        torch.triu(work.narrow(-2, 0, min(rows, columns)), out=upper)
        return
    if wants_q and rows < columns:
        orthogonal.copy_(work.narrow(-1, 0, rows))
    elif wants_q:
        orthogonal.narrow(-1, 0, columns).copy_(work)
    upper.triu_()


def _eigh(torch: Any, outputs: Any, given: Any) -> None:
    matrix = given["A"]
    if matrix.numel() == 0:
        return
    if given["compute_v"]:
        outputs[1].copy_(matrix)
    else:
        _column_major(torch, matrix)
    info = torch.zeros(matrix.shape[:-2], dtype=torch.int32, device=matrix.device)
    _check(torch, info, "linalg.eigh", matrix)


def _svd(torch: Any, outputs: Any, given: Any) -> None:
    """With `svd_cusolver` of cuda/linalg/BatchLinearAlgebraLib.cpp, whose drivers all work on a column-major copy."""
    matrix, (left, _, right) = given["A"], outputs
    if matrix.numel() == 0:
        for vectors in (left, right) if given["compute_uv"] and given["full_matrices"] else ():
            if vectors.numel():
                vectors.zero_()
                vectors.diagonal(0, -2, -1).fill_(1.0)
        return
    info = torch.zeros(matrix.shape[:-2], dtype=torch.int32, device=matrix.device)
    _column_major(torch, matrix)
    _check(torch, info, "linalg.svd", matrix)


def _inv_ex(torch: Any, outputs: Any, given: Any) -> None:
    inverse, info = outputs
    inverse.zero_()
    inverse.diagonal(0, -2, -1).fill_(1.0)
    torch.ops.aten.linalg_solve_ex.out(given["A"], inverse, left=True, check_errors=False, result=inverse, info=info)


def _transposed(matrix: Any) -> Any:
    """What is factored in the place of a row-major matrix: its transpose, which needs no copy to be column-major."""
    return matrix.mT if matrix.is_contiguous() and not matrix.is_complex() else matrix


def _solve_ex(torch: Any, outputs: Any, given: Any) -> None:
    matrix, right, (result, factor, pivots, info) = given["A"], given["B"], outputs
    aten, factored = torch.ops.aten, _transposed(matrix)
    aten.linalg_lu_factor_ex.out(factored, pivot=True, LU=factor, pivots=pivots, info=info)
    if right.dim() == 1 or (matrix.dim() - 1 == right.dim() and right.shape == matrix.shape[:-1]):
        result, right = result.unsqueeze(-1), right.unsqueeze(-1)
    aten.linalg_lu_solve.out(factor, pivots, right, left=given["left"], adjoint=factored is not matrix, out=result)


def _lu_solve(torch: Any, outputs: Any, given: Any) -> None:
    """Without what its back ends do for some sizes on their own, which hangs on the torch and on the math libraries."""
    factor, right, result = given["LU"], given["B"], outputs[0]
    if result.numel() == 0:
        return
    if result is not right:
        (result if given["left"] else result.mT).copy_(right if given["left"] else right.mH)
    given["pivots"].contiguous()
    if not factor.mT.is_contiguous():
        _column_major(torch, factor)


def _permutation_sign(torch: Any, pivots: Any) -> Any:
    """`lu_det_P`."""
    order = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype, device=pivots.device)
    return (order != pivots).sum(-1, keepdim=False, dtype=torch.int64).fmod_(2).mul_(-2).add_(1)


def _factored(torch: Any, given: Any, factor: Any, pivots: Any) -> Any:
    info = torch.empty(0, dtype=torch.int32, device=factor.device)
    torch.ops.aten.linalg_lu_factor_ex.out(_transposed(given["A"]), LU=factor, pivots=pivots, info=info)
    return factor.diagonal(0, -2, -1)


def _det(torch: Any, outputs: Any, given: Any) -> None:
    result, factor, pivots = outputs
    diagonal = _factored(torch, given, factor, pivots)
    torch.mul(_permutation_sign(torch, pivots), torch.prod(diagonal, -1), out=result)


def _slogdet(torch: Any, outputs: Any, given: Any) -> None:
    sign, logarithm, factor, pivots = outputs
    diagonal = _factored(torch, given, factor, pivots)
    torch.mul(diagonal.sgn().prod(-1), _permutation_sign(torch, pivots), out=sign)
    torch.sum(diagonal.abs().log_(), -1, out=logarithm)


def _triangular_solve(torch: Any, outputs: Any, given: Any) -> None:
    solution, coefficients = outputs
    solution.copy_(given["self"].expand(solution.shape))
    coefficients.copy_(given["A"].expand(coefficients.shape))


def eig(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`linalg_eig_out` looks for infinities first; the work is done on the host."""
    with native.mode:
        finite = args[0].isfinite().all()
        if not native.values.is_guessed(finite) and native.values.known(finite) is not None:
            finite.item()
    return native.leaf(func, args, kwargs)


def geqrf(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """`geqrf_out_helper` factors a column-major copy."""
    if func._overloadname == "default":
        _scratch(native, args[0])
    return native.leaf(func, args, kwargs)


def cholesky(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """The old `cholesky`: a column-major copy, cut to a triangle."""
    if func._overloadname == "default" and args[0].numel():
        upper = args[1] if len(args) > 1 else kwargs.get("upper", False)
        with native.mode:
            factor = _column_major(native.torch, args[0])
            if upper:
                factor.triu_()
            else:
                factor.tril_()
    return native.leaf(func, args, kwargs)


def cholesky_solve(native: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """cuda/linalg/BatchLinearAlgebra.cpp, `_cholesky_solve_helper_cuda`: column-major copies of both."""
    with native.mode:
        for tensor in args[:2]:
            _column_major(native.torch, tensor)
    return native.leaf(func, args, kwargs)


def _scratch(native: Any, matrix: Any) -> None:
    torch = native.torch
    with native.mode:
        torch.empty_like(matrix.mT, memory_format=torch.contiguous_format).mT.copy_(matrix)


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
    "linalg_eig": eig,
    "geqrf": geqrf,
    "cholesky": cholesky,
    "_cholesky_solve_helper": cholesky_solve,
}
