"""Finding and leaving out passes."""

import json

import pytest
from probe_side import CUDA, HIP
from zl_probe.passes import Pipeline


def built(pipeline, *names):
    """Which passes a pipeline gets when a back end adds those names."""
    added = []
    for name in names:
        pipeline._wrapped(name, lambda manager, option=None, name=name: added.append((name, option)))(None, option=1)
    return [name for name, option in added if option == 1]


@pytest.mark.parametrize(
    ("occurrence", "expected"), [(None, ["b"]), (1, ["b", "a"]), (2, ["a", "b"]), (3, ["a", "b", "a"])]
)
def test_an_occurrence_counts_from_one(occurrence, expected):
    pipeline = Pipeline("a", occurrence)
    for _ in range(2):  # in every compilation anew
        pipeline.start_stage("ttgir")
        assert built(pipeline, "a", "b", "a") == expected
    assert pipeline.added == ["a", "b", "a"] * 2


def test_other_stages_keep_their_passes_and_are_not_listed():
    pipeline = Pipeline("a")
    for stage in ("ttir", "llir"):
        pipeline.start_stage(stage)
        assert built(pipeline, "a", "b") == ["a", "b"]
    assert pipeline.added == []


@pytest.mark.integration
def test_the_passes_of_cuda_are_listed_in_their_order(side, tmp_path):
    out = tmp_path / "passes.json"
    assert side.ask("passes", target=CUDA, out=str(out))["code"] == 0
    passes = json.loads(out.read_text())["passes"]
    assert passes[0] == "convert_to_ttgpuir"
    assert passes.count("remove_layout_conversions") >= 3
    assert passes.index("coalesce") < passes.index("accelerate_matmul") < passes.index("pipeline")
    assert "reorder_instructions" in passes


@pytest.mark.integration
def test_the_passes_of_hip_are_listed(hip_side, tmp_path):
    out = tmp_path / "passes.json"
    end = hip_side.ask("passes", target=HIP, out=str(out))
    assert end["code"] == 0, out.with_name("passes.json.log").read_text()
    passes = json.loads(out.read_text())["passes"]
    assert "accelerate_matmul" in passes
    assert passes.count("remove_layout_conversions") >= 2


@pytest.mark.integration
def test_a_server_of_another_target_refuses(side, tmp_path):
    out = tmp_path / "passes.json"
    assert side.ask("passes", target="cuda:80", out=str(out))["code"] == 70
    assert CUDA in out.with_name("passes.json.log").read_text()
    assert not out.exists()
