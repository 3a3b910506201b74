"""What aten's linear algebra dispatches beside the vendor's kernels reaches a library. Skipped where there is no torch.

The expectations are read off ATen/native/BatchLinearAlgebra.cpp; that of `linalg_ldl_factor_ex` was seen on an H200 too.
"""

import pytest
from offline_script import run

pytest.importorskip("torch")
pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return run(
        tmp_path_factory.mktemp("linalg"),
        """
install(TARGET)
import torch

calls = []

def noting(name, returned=0):
    def function(*args, **kwargs):
        calls.append(name)
        return kwargs["out"] if "out" in kwargs else args[returned]
    return function

def values(tensor):
    calls.append("values")
    return torch.empty(tensor.shape[:-1], dtype=torch.complex64, device="cuda")

library = torch.library.Library("aten", "IMPL")
for name in ("copy_", "fill_.Scalar", "tril_", "triu_", "tril.out", "triu.out", "mul.out", "isfinite", "all"):
    library.impl(name, noting(name), "CUDA")
library.impl("_linalg_eigvals", values, "CUDA")

def of(function):
    calls.clear()
    function()
    return list(calls)

def strides(function):
    result = function()
    return [list(tensor.stride()) for tensor in (result if isinstance(result, tuple) else [result])]

def out(*shapes):
    return tuple(torch.empty(shape, dtype=dtype, device="cuda") for shape, dtype in shapes)

linalg, f32, i32 = torch.linalg, torch.float32, torch.int32
square, tall, wide = (torch.randn(shape, device="cuda") for shape in ((4, 4), (6, 4), (4, 6)))
batch = torch.randn(3, 4, 4, device="cuda")
leaf = torch.randn(4, 4, device="cuda", requires_grad=True)
ldl_out = lambda: linalg.ldl_factor_ex(square, out=out(((4, 4), f32), ((4,), i32), ((), i32)))
say(
    ldl=of(lambda: linalg.ldl_factor_ex(square)),
    ldl_out=of(ldl_out),
    ldl_resized=of(lambda: linalg.ldl_factor_ex(square, out=out(((0,), f32), ((0,), i32), ((0,), i32)))),
    cholesky=of(lambda: linalg.cholesky(square)),
    cholesky_upper=of(lambda: linalg.cholesky(batch, upper=True)),
    qr=of(lambda: linalg.qr(square)),
    qr_wide=of(lambda: linalg.qr(wide)),
    qr_complete=of(lambda: linalg.qr(tall, mode="complete")),
    qr_r=of(lambda: linalg.qr(tall, mode="r")),
    eigh=of(lambda: linalg.eigh(square)),
    eigvalsh=of(lambda: linalg.eigvalsh(square)),
    eigvals=of(lambda: linalg.eigvals(square)),
    eigvals_grad=of(lambda: linalg.eigvals(leaf)),
    eig=of(lambda: linalg.eig(square)),
    svdvals=of(lambda: linalg.svdvals(tall)),
    inv=of(lambda: linalg.inv(square)),
    solve=of(lambda: linalg.solve(square, square)),
    lu=of(lambda: linalg.lu(square)),
    det=of(lambda: linalg.det(square)),
    ldl_strides=strides(lambda: linalg.ldl_factor_ex(square)),
    out_strides=strides(ldl_out),
)
with torch.no_grad():
    say(eigvals_no_grad=of(lambda: linalg.eigvals(leaf)))
take_operations()
linalg.svdvals(tall)
say(svdvals_operations=take_operations())
library._destroy()
before = guesses()
known = torch.tensor([[4.0, 2.0], [2.0, 5.0]]).cuda()
say(
    known=linalg.cholesky(known).tolist(),
    known_out=linalg.cholesky(known, out=torch.empty(2, 2, device="cuda")).tolist(),
    solved=linalg.solve(known, known).round().tolist(),
    singular=linalg.svdvals(torch.eye(2).cuda()).tolist(),
    guesses=guesses() - before,
    failed=catch(lambda: linalg.cholesky(-known)),
)
eigenvalues = linalg.eigvals(leaf)
say(differentiable=eigenvalues.grad_fn is not None, dtype=str(eigenvalues.dtype))
""",
        with_torch=True,
    )


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("ldl", ["tril.out"]),
        ("ldl_out", ["tril.out", "copy_"]),
        ("ldl_resized", ["tril.out"]),
        ("cholesky", ["copy_", "tril_"]),
        ("cholesky_upper", ["copy_", "triu_"]),
        ("qr", ["copy_", "triu.out"]),
        ("qr_wide", ["copy_", "copy_", "triu_"]),
        ("qr_complete", ["copy_", "copy_", "triu_"]),
        ("qr_r", ["copy_", "triu.out"]),
        ("eigh", ["copy_", "fill_.Scalar"]),
        ("eigvalsh", ["copy_", "fill_.Scalar"]),
        ("eigvals", ["values"]),
        ("eigvals_no_grad", ["values"]),
        ("eigvals_grad", ["isfinite", "all"]),
        ("eig", ["isfinite", "all"]),
        ("svdvals", ["fill_.Scalar", "copy_"]),
        ("inv", ["fill_.Scalar", "fill_.Scalar", "copy_"]),
        ("solve", ["copy_", "copy_"]),
        ("lu", ["copy_", "copy_", "tril.out", "fill_.Scalar", "triu.out", "fill_.Scalar"]),
        ("det", ["copy_", "mul.out"]),
    ],
)
def test_what_is_dispatched_around_a_factorisation_reaches_the_library(facts, question, calls):
    assert facts[question] == calls


def test_a_composite_operator_does_not_take_the_road_for_subclasses(facts):
    """`linalg_eigvals` calls `_linalg_eigvals`, which a library may have, unless its result has to be differentiable."""
    assert facts["eigvals"] == ["values"]
    assert facts["differentiable"] is True
    assert facts["dtype"] == "torch.complex64"
    assert facts["svdvals_operations"]["aten::_linalg_svd"] == "native"


def test_an_output_of_other_strides_keeps_them(facts):
    assert facts["ldl_strides"][0] == [1, 4]
    assert facts["out_strides"][0] == [4, 1]


def test_values_stay_known_through_a_factorisation(facts):
    assert facts["known"] == facts["known_out"] == [[2.0, 0.0], [1.0, 2.0]]
    assert facts["solved"] == [[1.0, 0.0], [0.0, 1.0]]
    assert facts["singular"] == [1.0, 1.0]
    assert facts["guesses"] == 0
    assert "not positive-definite" in facts["failed"]
