"""The built-in suite on the stand-in device: what each operator launches, counted by a plugin of this test's own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import zl_bench
import zl_bench.suites

pytest.importorskip("torch")
pytest.importorskip("triton")
pytestmark = pytest.mark.integration

BUILTIN = Path(zl_bench.suites.__file__).parent / "builtin"
INSIDE = Path(zl_bench.__file__).parent / "inside"
PLUGINS = Path(__file__).parent / "plugins"


def drive(folder, target, select=None, drop=""):
    """What `count_launches` wrote down."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, [INSIDE, PLUGINS])),
        "TRITON_CACHE_DIR": str(folder / "cache"),
        "TARGET": target,
        "DROP_PASS": drop,
        "REPORT": str(folder / "report.json"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "count_launches", "-p", "no:cacheprovider", "-c", os.devnull]
    command += ["--rootdir", str(BUILTIN), str(BUILTIN), *(["-k", select] if select else [])]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    assert (folder / "report.json").exists(), done.stdout + done.stderr
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return drive(tmp_path_factory.mktemp("builtin"), "cuda:90")


def test_every_benchmark_runs_and_is_one_row(report):
    assert {name: test["error"] for name, test in report["tests"].items() if test["error"]} == {}
    assert {test["rows"] for test in report["tests"].values()} == {1}


def test_every_operator_launches_except_the_aten_one(report):
    silent = {test["operator"] for test in report["tests"].values() if not test["launches"]}
    assert silent == {"test_aten_addcmul"}


def test_some_rows_launch_several_kernels(report):
    launches = {test["operator"]: len(test["launches"]) for test in report["tests"].values()}
    assert (launches["test_layer_norm_backward"], launches["test_split_k"], launches["test_group_norm"]) == (2, 2, 3)


def test_there_are_at_least_eighty_distinct_kernels(report):
    """Distinct by name, signature, constants, attributes, warps and stages."""
    assert len(report["kernels"]) >= 80


def test_the_tuner_has_several_dozen_configurations_and_its_first_one_pipelines(report):
    assert report["configurations"] == 36
    matmuls = [kernel for kernel in report["kernels"].values() if kernel["name"] == "matmul_kernel"]
    assert len(matmuls) >= 4
    assert {kernel["stages"] for kernel in matmuls} == {3}
    assert any("ttg.async_copy_global_to_local" in kernel["ttgir"] for kernel in matmuls)


def test_a_kernel_comes_in_variants(report):
    """Types, sizes' divisibility and block sizes all make variants of one kernel."""
    adds = [kernel for kernel in report["kernels"].values() if kernel["name"] == "vector_add_kernel"]
    assert len({kernel["signature"] for kernel in adds}) == 4
    assert len({kernel["attributes"] for kernel in adds}) >= 2
    assert len({kernel["constants"] for kernel in adds}) == 2


def test_the_transpose_goes_through_a_layout_change(report):
    transposes = [kernel for kernel in report["kernels"].values() if kernel["name"] == "transpose_kernel"]
    assert transposes
    assert all("ttg.convert_layout" in kernel["ttgir"] for kernel in transposes)


def test_products_of_half_floats_break_without_accelerate_matmul(tmp_path):
    broken = drive(tmp_path, "cuda:90", "test_matmul and float16", drop="accelerate_matmul")
    assert [
        test["error"] for test in broken["tests"].values() if "PassManager::run failed" not in str(test["error"])
    ] == []
    assert broken["tests"]
