"""What aten's linear algebra dispatches beside the vendor's kernels reaches a library. Skipped where there is no torch.

What a card dispatches was recorded there; the other expectations are read off ATen/native/BatchLinearAlgebra.cpp.
"""

import importlib.util
import json
from pathlib import Path

import pytest
from offline_script import run

pytest.importorskip("torch")
pytestmark = pytest.mark.integration

RECORD = Path(__file__).parent / "data" / "dispatched_h200.json"
DISPATCHED = json.loads(RECORD.read_text(encoding="utf-8"))["dispatched"]
KNOWN_DIFFERENCES = {
    "linalg.matrix_exp(square)": "one kernel here: aten scales, sorts and squares by values which only a card has",
}
RECORDING = """
import json
install(TARGET)
import torch
from torch import int32, linalg
from torch.library import Library

aten, library = torch.ops.aten, Library("aten", "IMPL")
beneath = torch._C.DispatchKeySet(torch._C.DispatchKey.CompositeExplicitAutograd)
dispatched = []

def shown(tensor):
    return f"{tuple(tensor.shape)}{tuple(tensor.stride())}{str(tensor.dtype)[6:]}"

def on_host(value):
    if isinstance(value, torch.Tensor):
        return value.cpu()
    return "cpu" if isinstance(value, torch.device) else value

def write(target, values):
    return aten.copy_.default.redispatch(beneath, target, values)

def copy_(target, source, non_blocking=False):
    if target.device == source.device:
        dispatched.append(f"copy_ {shown(target)}<-{shown(source)}")
    return aten.copy_.default.redispatch(beneath, target, source, non_blocking)

def fill_(target, value):
    dispatched.append(f"fill_ {shown(target)} {value}")
    if target.numel():
        write(target, torch.full(target.shape, value, dtype=target.dtype))
    return target

def triangle(name):
    def cut_in_place(tensor, *rest):
        dispatched.append(f"{name}_ {shown(tensor)}")
        return tensor

    def cut_into(tensor, *rest, out):
        dispatched.append(f"{name}.out {shown(out)}<-{shown(tensor)}")
        write(out, getattr(torch, name)(tensor.cpu(), *rest))
        return out

    return {f"{name}_": cut_in_place, f"{name}.out": cut_into}

def counted(overload):
    name, _, variant = overload.partition(".")
    operator = getattr(getattr(aten, name), variant or "default")

    def call(*args, **kwargs):
        dispatched.append(overload)
        result = operator(*map(on_host, args), **{key: on_host(value) for key, value in kwargs.items()})
        if "out" in kwargs:
            return write(kwargs["out"].resize_(result.shape), result)
        return write(torch.empty(result.shape, dtype=result.dtype, device="cuda"), result)

    return call

functions = {"copy_": copy_, "fill_.Scalar": fill_, **triangle("tril"), **triangle("triu")}
COUNTED = "isfinite all abs sgn prod.dim_int mul.out sum.dim_IntList sum.IntList_out ne.Tensor lift_fresh"
functions.update({overload: counted(overload) for overload in COUNTED.split()})
for overload, function in functions.items():
    library.impl(overload, function, "CUDA")

def empty(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="cuda")

drawn = torch.randn(4, 4) @ torch.randn(4, 4)
square = (drawn @ drawn.mT + torch.eye(4)).cuda()  # symmetric: its eigenvalues are real
tall, wide, batch = torch.randn(6, 4).cuda(), torch.randn(4, 6).cuda(), torch.stack([square, square])
column_major = square.mT.contiguous().mT
try:
    import numpy
except ImportError:
    pass
found = {}
for expression in json.loads(EXPRESSIONS):
    dispatched.clear()
    try:
        eval(expression)
    except Exception as error:
        dispatched.append(repr(error))
    found[expression] = list(dispatched)
say(found=found)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the stand-in dispatches for the calls that were recorded on a card, by the same functions of a library."""
    body = f"EXPRESSIONS = {json.dumps(list(DISPATCHED))!r}\n{RECORDING}"
    return run(tmp_path_factory.mktemp("recording"), body, with_torch=True)["found"]


@pytest.mark.parametrize("expression", [one for one in DISPATCHED if one not in KNOWN_DIFFERENCES])
def test_the_stand_in_dispatches_what_a_card_dispatched(found, expression):
    """Operators, shapes, strides and dtypes, in order. The recording's own copies from and to the host are among them."""
    if "numpy" in expression and importlib.util.find_spec("numpy") is None:
        pytest.skip("needs numpy")
    assert found[expression] == DISPATCHED[expression]


@pytest.mark.parametrize("expression", KNOWN_DIFFERENCES)
def test_a_known_difference_is_one_still(found, expression):
    assert found[expression] != DISPATCHED[expression]


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
for name in ("copy_", "fill_.Scalar", "tril_", "triu_", "tril.out", "triu.out", "mul.out", "lift_fresh"):
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
many = torch.randn(17, 32, 32, device="cuda")
leaf = torch.randn(4, 4, device="cuda", requires_grad=True)
ldl_out = lambda: linalg.ldl_factor_ex(square, out=out(((4, 4), f32), ((4,), i32), ((), i32)))
say(
    eigvals=of(lambda: linalg.eigvals(square)),
    lu_of_many=of(lambda: linalg.lu_factor_ex(many)),
    qr_of_many=of(lambda: linalg.qr(many)),
    svd_gesvd=of(lambda: linalg.svd(tall, driver="gesvd")),
    checked=of(lambda: linalg.cholesky_ex(square, check_errors=True)),
    all_of_none=of(lambda: torch.empty(0, device="cuda").isnan().any()),
    lstsq_wide=of(lambda: linalg.lstsq(wide, square)),
    triangular_strided=of(lambda: linalg.solve_triangular(wide[:, ::2][:2, :2], square[:2], upper=True)),
    masked=of(lambda: square[[True, False, True, False]]),
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
turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]]).cuda()
written = torch.arange(6.0).reshape(3, 2).cuda()
written[0] = 3.0
written[[1, 2], 0] = -1.0
points = torch.tensor([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]).cuda()
line = linalg.lstsq(points, torch.tensor([[1.0], [3.0], [5.0]]).cuda())
say(
    known=linalg.cholesky(known).tolist(),
    known_out=linalg.cholesky(known, out=torch.empty(2, 2, device="cuda")).tolist(),
    solved=linalg.solve(known, known).round().tolist(),
    singular=linalg.svdvals(torch.eye(2).cuda()).tolist(),
    turning=[[value.real, value.imag] for value in linalg.eigvals(turn).tolist()],
    ranks=[linalg.matrix_rank(known, **given).item() for given in ({}, {"atol": 3.0}, {"rtol": turn[0, 1], "hermitian": True})],
    line=line[0].round().tolist(),
    line_shapes=[list(tensor.shape) for tensor in line],
    written=written.tolist(),
    guesses=guesses() - before,
    failed=catch(lambda: linalg.cholesky(-known)),
    failed_ex=catch(lambda: linalg.inv_ex(torch.zeros(2, 2).cuda(), check_errors=True)),
)
eigenvalues = linalg.eigvals(leaf)
say(differentiable=eigenvalues.grad_fn is not None, dtype=str(eigenvalues.dtype))
""",
        with_torch=True,
    )


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("eigvals", ["values"]),
        ("eigvals_no_grad", ["values"]),
        ("lu_of_many", ["copy_", "fill_.Scalar"]),
        ("qr_of_many", ["copy_", "triu.out", "fill_.Scalar"]),
        ("svd_gesvd", ["fill_.Scalar", "copy_", "copy_", "copy_", "copy_"]),
        ("checked", ["copy_", "tril_", "copy_", "copy_"]),
        ("all_of_none", ["fill_.Scalar"]),
        ("lstsq_wide", ["fill_.Scalar", "copy_", "copy_", "copy_", *["fill_.Scalar"] * 3, "copy_", "copy_"]),
        ("triangular_strided", ["copy_", "copy_"]),
        ("masked", ["copy_", "lift_fresh"]),
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
    assert facts["turning"] == [[0.0, 1.0], [0.0, -1.0]]
    assert facts["ranks"] == [2, 1, 0]
    assert facts["line"] == [[2.0], [1.0]]
    assert facts["line_shapes"] == [[2, 1], [1], [0], [0]]
    assert facts["written"] == [[3.0, 3.0], [-1.0, 3.0], [-1.0, 5.0]]
    assert facts["guesses"] == 0
    assert "not positive-definite" in facts["failed"]
    assert "is singular" in facts["failed_ex"]
