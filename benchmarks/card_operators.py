"""The FlagGems benchmarks that are compared on a card, one test each, of as many kinds as there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.suites import flaggems

OPERATORS: Mapping[str, str] = {
    "softmax": "test_softmax.py::test_softmax",
    "topk": "test_topk.py::test_topk",
    "layer_norm": "test_layer_norm.py::test_layer_norm",
    "cumsum": "test_cumsum.py::test_cumsum",
    "mm": "test_mm.py::test_mm",
    "dropout": "test_dropout.py::test_dropout",
    "sort": "test_sort.py::test_perf_sort",
    "index_select": "test_index_select.py::test_index_select",
    "nonzero": "test_nonzero.py::test_nonzero",
    "masked_select": "test_masked_select.py::test_masked_select",
    "gather": "test_gather.py::test_gather",
    "gather_backward": "test_gather.py::test_gather_backward",
    "fft": "test_fft.py::test_perf_fft",
    "silu_and_mul": "test_silu_and_mul.py::test_silu_and_mul",
    "skip_layer_norm": "test_skip_layer_norm.py::test_skip_layernorm",
    "gelu": "test_gelu.py::test_gelu",
    "rms_norm": "test_rms_norm.py::test_rms_norm",
    "batch_norm": "test_batch_norm.py::test_batch_norm",
    "group_norm": "test_group_norm.py::test_group_norm",
    "conv2d": "test_conv2d.py::test_conv2d",
    "scatter": "test_scatter_src.py::test_scatter_src",
    "scatter_add": "test_scatter_add.py::test_scatter_add",
    "var_mean": "test_var_mean.py::test_var_mean",
    "argmax": "test_argmax.py::test_argmax",
    "cross_entropy_loss": "test_cross_entropy_loss.py::test_cross_entropy_loss",
    "embedding": "test_embedding.py::test_embedding",
    "embedding_backward": "test_embedding.py::test_embedding_backward",
    "where": "test_where.py::test_where_self",
    "flip": "test_flip.py::test_flip",
    "bmm": "test_bmm.py::test_bmm",
    "addmm": "test_addmm.py::test_addmm",
    "softmax_backward": "test_softmax.py::test_softmax_backward",
}
"""By the name that the report uses, the test below `benchmark/`."""


@dataclass(frozen=True)
class Chosen:
    """A test that is there. `dtypes` are those that its source declares, maybe none."""

    name: str
    node: str
    dtypes: tuple[str, ...]


def choose(checkout: Path, names: Sequence[str]) -> tuple[list[Chosen], list[str]]:
    """The tests of these names, all of them without any, and the names whose test this checkout does not have.

    Raises SystemExit for a name that is not in the list.
    """
    unknown = [name for name in names if name not in OPERATORS]
    if unknown:
        raise SystemExit(f"not in the list: {', '.join(unknown)}; it has {', '.join(OPERATORS)}")
    declared = {node.node: node.dtypes for node in flaggems.load(checkout).nodes}
    nodes = {name: f"{flaggems.FOLDER}/{OPERATORS[name]}" for name in names or OPERATORS}
    there = [Chosen(name, node, declared[node]) for name, node in nodes.items() if node in declared]
    return there, [name for name, node in nodes.items() if node not in declared]
