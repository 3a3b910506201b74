"""Operators that a library registers reach its functions, the nested ones too. Skipped where there is no torch."""

import pytest
from offline_script import run

pytest.importorskip("torch")
pytestmark = pytest.mark.integration

LIBRARY = """
install(TARGET)
import torch

calls = []
FALLBACK = torch._C.DispatchKeySet(torch._C.DispatchKey.CompositeExplicitAutograd)

def copy_(target, source, non_blocking=False):
    calls.append("copy_")
    if target.device != source.device:
        return torch.ops.aten.copy_.default.redispatch(FALLBACK, target, source, non_blocking)
    return target

def fill_(tensor, value):
    calls.append("fill_")
    return tensor

def softmax(tensor, dim, dtype=None):
    calls.append("softmax")
    return tensor.exp() / 2

def exp(tensor):
    calls.append("exp")
    return torch.empty_like(tensor, device=0)

def narrow(tensor, dim, start, length):
    calls.append("narrow")
    return tensor.as_strided((length, *tensor.shape[1:]), tensor.stride())

FUNCTIONS = {"copy_": copy_, "fill_.Scalar": fill_, "softmax.int": softmax, "exp": exp, "narrow": narrow}

def library(without=()):
    made = torch.library.Library("aten", "IMPL")
    for name, function in FUNCTIONS.items():
        if name not in without:
            made.impl(name, function, "CUDA")
    return made

def of(function):
    calls.clear()
    function()
    return list(calls)
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return run(
        tmp_path_factory.mktemp("routes"),
        LIBRARY
        + """
square = torch.empty(8, 8, device="cuda")
leaf = torch.empty(8, 8, device="cuda", requires_grad=True)
lib = library()
say(
    clone=of(lambda: square.clone()),
    contiguous=of(lambda: square.t().contiguous()),
    already=of(lambda: square.contiguous()),
    cast=of(lambda: square.half()),
    reshape=of(lambda: square.t().reshape(-1)),
    zeros=of(lambda: torch.zeros(3, device="cuda")),
    full=of(lambda: torch.full((3,), 2.0, device="cuda")),
    ones_like=of(lambda: torch.ones_like(square)),
    zero_=of(lambda: square.zero_()),
    fill_tensor=of(lambda: square.fill_(torch.tensor(1.0, device="cuda"))),
    to_device=of(lambda: torch.ones(4).cuda()),
    host=of(lambda: torch.ones(4).clone()),
    composite=of(lambda: torch.softmax(square, -1)),
    view=of(lambda: torch.narrow(square, 0, 1, 2)),
    composite_grad=of(lambda: torch.autograd.grad(torch.softmax(leaf, -1).sum(), leaf)),
    empty=of(lambda: torch.empty(4, device="cuda")),
    transposed_to_host=of(lambda: torch.ones(2, 3, device="cuda").t().cpu()),
    strided_to_host=of(lambda: torch.ones(4, 6, device="cuda")[:, ::2].cpu()),
)
def twice(**options):
    with torch.library._scoped_library("aten", "IMPL") as one, torch.library._scoped_library("aten", "IMPL") as other:
        one.impl("sinh", lambda tensor: calls.append("first") or tensor, "CUDA")
        refused = catch(lambda: other.impl("sinh", lambda tensor: calls.append("second") or tensor, "CUDA", **options))
        return [of(lambda: square.sinh()), refused != "None"]

import inspect
asked = "allow_override" in inspect.signature(torch.library.Library.impl).parameters
say(
    twice=twice(),
    overrides=asked and inspect.signature(torch.library.Library.impl).parameters["allow_override"].default,
    twice_allowed=twice(allow_override=True) if asked else None,
    twice_refused=twice(allow_override=False) if asked else None,
)

def operations(function):
    take_operations()
    function()
    return take_operations()

say(
    operation_of_the_library=operations(lambda: torch.ops.aten.exp.default(square)),
    operation_registered_for_real=operations(lambda: torch.narrow(square, 0, 1, 2)),
    operation_of_nobody=operations(lambda: square.sin()),
    operation_filling=operations(lambda: square.zero_()),
    operations_of_the_host=operations(lambda: torch.ones(4).sin()),
)
numbers = dict(device="cuda")
say(
    unlifted=of(lambda: torch.tensor([1, 2], **numbers)),
)
lifting = torch.library.Library("aten", "IMPL")
lifting.impl("lift_fresh", lambda tensor: calls.append(f"lift_fresh {tensor.device.type}") or tensor.clone(), "CUDA")
host = torch.ones(2)
say(
    lifted=of(lambda: torch.tensor([1, 2], **numbers)),
    lifted_number=of(lambda: square.new_tensor(3.0)),
    lifted_as_tensor=of(lambda: torch.as_tensor((1, 2), **numbers)),
    lifted_tensor=of(lambda: torch.as_tensor(host, **numbers)),
    lifted_host=of(lambda: torch.tensor([1, 2])),
    lifted_values=torch.tensor([1, 2], **numbers).tolist(),
    lifted_grad=torch.tensor([1.0], requires_grad=True, **numbers).mul(2).grad_fn is not None,
)
lifting._destroy()
half = torch.empty(1, 16, 1, 64, dtype=torch.float16, device="cuda")
attention = lambda **options: torch.ops.aten._flash_attention_forward(
    half, half, half, None, None, 16, 16, 0.0, False, False, scale=0.1, **options
)
say(alibi=catch(lambda: attention(alibi_slopes=torch.ones(1, 1, device="cuda"))), attention=catch(attention)[:12])
lib._destroy()
say(destroyed=of(lambda: torch.softmax(square, -1).clone()))
lib = library(without=["copy_"])
say(excluded=of(lambda: square.exp().clone()))
lib._destroy()

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor, factor, other):
        context.save_for_backward(tensor, other)
        return tensor * other * factor

    @staticmethod
    def backward(context, gradient):
        calls.append("backward")
        tensor, other = context.saved_tensors
        return gradient * other, None, gradient * tensor

other = torch.empty(8, 8, device="cuda", requires_grad=True)
gradients = torch.autograd.grad(Scaled.apply(leaf, 3, other).sum(), [leaf, other])
(leaf * 2).relu().half().sum().backward()
shared = leaf * leaf + leaf
shared.backward(torch.ones_like(shared))
say(gradients=[[list(g.shape), str(g.device), str(g.dtype)] for g in (*gradients, leaf.grad)])
lonely = torch.empty(2, device="cuda", requires_grad=True)
say(
    unused=catch(lambda: torch.autograd.grad(shared.sum(), lonely)),
    allowed=catch(lambda: torch.autograd.grad((leaf * 1).sum(), lonely, allow_unused=True)),
)
""",
        with_torch=True,
    )


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("clone", ["copy_"]),
        ("contiguous", ["copy_"]),
        ("already", []),
        ("cast", ["copy_"]),
        ("reshape", ["copy_"]),
        ("zeros", ["fill_"]),
        ("full", ["fill_"]),
        ("ones_like", ["fill_"]),
        ("zero_", ["fill_"]),
        ("to_device", ["copy_"]),
        ("host", []),
        ("empty", []),
        ("fill_tensor", ["copy_", "copy_"]),
        ("transposed_to_host", ["fill_", "copy_"]),
        ("strided_to_host", ["fill_", "copy_", "copy_", "copy_"]),
    ],
)
def test_what_aten_composes_reaches_the_library(facts, question, calls):
    """As on a card, where `clone` copies and `zeros` fills through the dispatcher."""
    assert facts[question] == calls


def test_a_composite_operator_is_not_taken_apart_first(facts):
    assert facts["composite"] == ["softmax", "exp"]
    assert facts["view"] == ["narrow"]


def test_autograd_sees_what_a_routed_composite_operator_calls(facts):
    assert facts["composite_grad"][:2] == ["softmax", "exp"]


def test_a_tensor_made_of_numbers_is_lifted_on_the_accelerator(facts):
    """As on a card, where it is moved first; seen on an H200 with FlagGems, whose `lift_fresh` launches."""
    assert facts["unlifted"] == ["copy_"]
    assert [facts[f"lifted{how}"][:2] for how in ("", "_number", "_as_tensor")] == [["copy_", "lift_fresh cuda"]] * 3
    assert facts["lifted_tensor"] == ["copy_"]
    assert facts["lifted_host"] == []
    assert facts["lifted_values"] == [1, 2]
    assert facts["lifted_grad"] is True


def test_flash_attention_refuses_alibi_as_torchs_own_build_does(facts):
    assert facts["alibi"] == "RuntimeError: This flash attention build does not support alibi."
    assert facts["attention"] == "(FakeTensor("


def test_a_destroyed_library_routes_no_more(facts):
    assert facts["destroyed"] == []


def test_an_operator_that_was_left_out_is_atens(facts):
    assert facts["excluded"] == ["exp"]


def test_gradients_have_the_shape_device_and_dtype_of_their_tensors(facts):
    assert facts["gradients"] == [[[8, 8], "cuda:0", "torch.float32"]] * 3


def test_an_unused_input_is_an_error_unless_allowed(facts):
    assert facts["unused"].startswith("RuntimeError")
    assert facts["allowed"] == "(None,)"


def test_the_operators_that_ran_are_told_with_how_they_ran(facts):
    assert facts["operation_of_the_library"]["aten::exp"] == "library"
    assert facts["operation_registered_for_real"] == {"aten::narrow": "library", "aten::as_strided": "view"}
    assert facts["operation_of_nobody"] == {"aten::sin": "native"}
    assert facts["operation_filling"]["aten::fill_.Scalar"] == "library"
    assert facts["operations_of_the_host"] == {}


def test_of_two_registrations_that_wins_which_torch_lets_win(facts):
    assert facts["twice"] == ([["second"], False] if facts["overrides"] else [["first"], True])
    if facts["twice_allowed"] is not None:
        assert facts["twice_allowed"] == [["second"], False]
        assert facts["twice_refused"] == [["first"], True]
