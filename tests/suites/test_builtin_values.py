"""That the built-in operators compute what their names say: against torch, on a card. Skipped where there is none."""

import importlib
import sys
from pathlib import Path

import pytest

import zl_bench.suites

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="computing values needs a card"),
]
BUILTIN = Path(zl_bench.suites.__file__).parent / "builtin"


@pytest.fixture
def load(monkeypatch):
    """A benchmark file as a module."""
    monkeypatch.syspath_prepend(str(BUILTIN))
    yield lambda name: importlib.import_module(f"test_{name}")
    for name in [
        name for name, module in sys.modules.items() if Path(getattr(module, "__file__", None) or "x").parent == BUILTIN
    ]:
        del sys.modules[name]


def random(*shape, dtype=torch.float32):
    torch.manual_seed(0)
    return torch.randn(shape, device="cuda", dtype=dtype)


def close(actual, expected, tolerance=1e-3):
    torch.testing.assert_close(actual.float(), expected.float(), rtol=tolerance, atol=tolerance)


def test_vector_add(load):
    x, y = random(1003), random(1003)
    close(load("vector_add").vector_add(x, y, torch.empty_like(x)), x + y)


def test_softmax(load):
    x = random(100, 781)
    close(load("softmax").softmax(x, torch.empty_like(x)), x.softmax(-1))


def test_layer_norm_and_its_gradients(load):
    x, weight, bias, grad = random(300, 1001), random(1001), random(1001), random(300, 1001)
    mean, inverse = torch.empty(300, device="cuda"), torch.empty(300, device="cuda")
    out = load("layer_norm").layer_norm(x, weight, bias, torch.empty_like(x), mean, inverse)
    leaves = [tensor.clone().requires_grad_() for tensor in (x, weight, bias)]
    expected = torch.nn.functional.layer_norm(leaves[0], (1001,), leaves[1], leaves[2])
    close(out, expected)
    expected.backward(grad)
    buffers = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(bias)
    actual = load("layer_norm_backward").layer_norm_backward(x, weight, mean, inverse, grad, *buffers)
    for gradient, leaf in zip(actual, leaves, strict=True):
        close(gradient, leaf.grad, 1e-2)


@pytest.mark.parametrize("name", ["matmul", "split_k"])
def test_products(load, name):
    a, b = random(133, 1000, dtype=torch.float16), random(1000, 200, dtype=torch.float16)
    out, module = torch.empty(133, 200, device="cuda", dtype=torch.float16), load(name)
    if name == "split_k":
        module.split_k(a, b, torch.empty(module.SPLITS, 133, 200, device="cuda"), out)
    else:
        module.matmul_kernel.configs = module.matmul_kernel.configs[:2]
        module.matmul(a, b, out)
    close(out, a.float() @ b.float(), 1e-1)


def test_transpose(load):
    x = random(1000, 999)
    close(load("transpose").transpose(x, torch.empty(999, 1000, device="cuda")), x.t())


@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention(load, causal):
    q, k, v = (random(2, 3, 500, 64, dtype=torch.float16) * scale for scale in (1.0, 0.5, 2.0))
    out = load("flash_attention").flash_attention(q, k, v, torch.empty_like(q), causal)
    close(out, torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal), 1e-2)


@pytest.mark.parametrize("columns", [200, 1001, 4096])
def test_cumsum(load, columns):
    x = random(33, columns)
    close(load("cumsum").cumsum(x, torch.empty_like(x)), x.cumsum(1), 1e-2)


@pytest.mark.parametrize("descending", [False, True])
def test_sort(load, descending):
    x = random(50, 60)
    close(load("sort").sort(x, torch.empty_like(x), descending), x.sort(1, descending=descending).values)


def test_dropout(load):
    x = random(100000)
    out = load("dropout").dropout(x, torch.empty_like(x), 0.25)
    kept = out != 0
    close(out[kept], x[kept] / 0.75)
    assert 0.74 < kept.float().mean().item() < 0.76


def test_cross_entropy(load):
    logits, target = random(77, 3001), torch.randint(0, 3001, (77,), device="cuda")
    expected = torch.nn.functional.cross_entropy(logits, target, reduction="none")
    close(load("cross_entropy").cross_entropy(logits, target, torch.empty(77, device="cuda")), expected)


def test_histogram(load):
    x = torch.randint(0, 96, (70001,), device="cuda", dtype=torch.int32)
    counts = load("histogram").histogram(x, torch.zeros(100, device="cuda", dtype=torch.int32), -4.0, 96.0)
    close(counts, torch.bincount(x + 4, minlength=100))


@pytest.mark.parametrize("transposed", [False, True])
def test_strided_gather(load, transposed):
    x = random(300, 200).t() if transposed else random(200, 300)
    index = torch.randint(0, 200, (77,), device="cuda")
    close(load("strided_gather").strided_gather(x, index, torch.empty(77, 300, device="cuda")), x[index])


def test_batched_sum(load):
    x = random(7, 100, 72)
    close(load("batched_sum").batched_sum(x, torch.empty(7, 72, device="cuda")), x.sum(1), 1e-2)


def test_group_norm(load):
    x, weight, bias = random(4, 96, 15, 15), random(96), random(96)
    actual = load("group_norm").group_norm(x, weight, bias, torch.empty_like(x), 8)
    close(actual, torch.nn.functional.group_norm(x, 8, weight, bias))


def test_argmax(load):
    x = random(101, 500)
    close(load("argmax").argmax(x, torch.empty(101, device="cuda", dtype=torch.int32)), x.argmax(1))
