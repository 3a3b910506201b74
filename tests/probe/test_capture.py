"""What is recorded of a row: the launches of its timed call, each kernel's identity and its stages."""

import hashlib
import json
from importlib.util import find_spec

import pytest
from probe_side import CUDA, Cases

pytestmark = pytest.mark.integration
IDENTITY = ("name", "signature", "constants", "attributes", "num_warps", "num_stages", "num_ctas", "shared")


def identities(ran):
    return [[{field: kernel[field] for field in IDENTITY} for kernel in row] for row in ran.rows()]


def constants(kernel):
    return json.loads(kernel["constants"])


@pytest.fixture(scope="module")
def captured(cases):
    """All of bench_capture.py in one process."""
    return cases.run("bench_capture.py")


def test_launches_are_recorded_in_order_with_repetitions_and_each_variant_once(cases):
    ran = cases.run("bench_capture.py::test_order")
    (row,) = ran.rows()
    assert [kernel["name"] for kernel in row] == ["add", "double", "add", "add", "double"]
    assert row[0] == row[2]
    assert row[1] == row[4]
    assert constants(row[2])["BLOCK"] == 128
    assert constants(row[3])["BLOCK"] == 256
    kinds = [event["event"] for event in ran.events if event["event"] in ("kernel", "row")]
    assert kinds == ["kernel"] * 3 + ["row"]
    begin = ran.events[0]
    assert begin["event"] == "begin"
    assert begin["target"] == CUDA
    assert len(begin["triton"]["library_sha256"]) == 64
    assert ran.events[-1]["event"] == "end"
    assert ran.events[-1]["exit"] == 0
    assert ran.one("collected")["nodes"] == ["bench_capture.py::test_order"]
    assert ran.one("test")["outcome"] == "passed"


def test_launches_before_after_and_of_the_settling_call_are_no_part_of_a_row(cases):
    ran = cases.run("bench_capture.py::test_only_the_timed_call")
    assert ran.names() == [["add"]]
    assert [event["kernel"] for event in ran.of("compile")] == ["double", "negate", "add"]


def test_each_row_has_launches_of_its_own(captured):
    names = [[kernel["name"] for kernel in row] for row in captured.rows("two_rows")]
    assert names == [["add", "double"], ["add"], []]


def test_a_direct_launch_of_a_compiled_kernel_is_seen(captured):
    first, (direct, through_jit, other) = captured.rows("direct_launch")
    assert first == [direct] == [through_jit]
    assert (direct["name"], other["name"]) == ("add", "negate")


def test_every_stage_is_stored_with_the_compiler_s_own_bytes(cases):
    ran = cases.run("bench_capture.py::test_stages", stages="all")
    ((kernel,),) = ran.rows()
    expected = ran.notes()["sha256"]
    expected.pop("source", None)
    assert list(kernel["stages"]) == ["ttir", "ttgir", "llir", "ptx", "cubin"]
    assert {name: stage["sha256"] for name, stage in kernel["stages"].items()} == expected
    for stage in kernel["stages"].values():
        assert hashlib.sha256((ran.out / stage["file"]).read_bytes()).hexdigest() == stage["sha256"]
    assert (ran.out / kernel["stages"]["cubin"]["file"]).read_bytes()[:4] == b"\x7fELF"
    assert kernel["shared"] == 0


def test_a_kernel_is_the_same_in_another_process_and_under_another_hash_seed(cases, captured):
    there = cases.run_alone("bench_capture.py")
    assert captured.one("begin")["pid"] != there.one("begin")["pid"]
    assert len(identities(captured)) > 10
    assert identities(captured) == identities(there)


def test_alignment_of_a_pointer_is_part_of_the_identity(captured):
    (aligned,), (unaligned,) = captured.rows("alignment")
    assert aligned["name"] == unaligned["name"] == "add"
    assert aligned["signature"] == unaligned["signature"]
    assert json.loads(aligned["attributes"]).keys() - json.loads(unaligned["attributes"]).keys() == {"y"}


def test_the_signature_has_the_types_by_parameter(captured):
    (half,), (single,) = captured.rows("dtypes")
    assert json.loads(half["signature"]) == [["x", "*fp16"], ["out", "*fp16"]]
    assert json.loads(single["signature"]) == [["x", "*fp32"], ["out", "*fp32"]]


def test_warps_and_stages_are_those_asked_for(captured):
    (row,) = captured.rows("options")
    assert [(kernel["num_warps"], kernel["num_stages"], kernel["num_ctas"]) for kernel in row] == [
        (4, 3, 1),
        (8, 3, 1),
        (8, 2, 1),
    ]


def test_constants_are_plain_values_without_addresses(captured):
    ((kernel,),) = captured.rows("constants")
    assert constants(kernel) == {
        "SIZE": 128,
        "FACTOR": "0.25",
        "NOTHING": None,
        "DTYPE": "fp16",
        "FLAG": True,
        "TEXT": "evict",
    }


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("tuple_constant", {"SHAPE": [64, "2.5"]}),
        ("function_constant", {"SIZE": 128, "FUNCTION": "scaled"}),
        ("constexpr_function", {"SIZE": 128, "FUNCTION": "half"}),
    ],
)
def test_constants_that_newer_tritons_take(captured, operator, expected):
    captured.skip_as(operator)
    ((kernel,),) = captured.rows(operator)
    assert constants(kernel) == expected


def test_an_identity_is_worded_alike_in_every_triton(captured):
    (one,), (sixteen,), (seventeen,) = captured.rows("specialised_integers")
    pointers = {name: [["tt.divisibility", 16]] for name in ("x", "y", "out")}
    types = [["x", "*fp32"], ["y", "*fp32"], ["out", "*fp32"]]
    assert json.loads(one["attributes"]) == json.loads(seventeen["attributes"]) == pointers
    assert json.loads(sixteen["attributes"]) == {**pointers, "n": [["tt.divisibility", 16]]}
    assert json.loads(one["signature"]) == types
    assert json.loads(sixteen["signature"]) == json.loads(seventeen["signature"]) == [*types, ["n", "i32"]]
    assert constants(one) == {"BLOCK": 128, "n": 1}
    assert constants(seventeen) == {"BLOCK": 128}


def test_a_kernel_that_can_not_be_loaded_was_not_launched(cases):
    ran = cases.run("bench_loading.py::test_falls_back", stages="all")
    ((kernel,),) = ran.rows()
    assert kernel["num_stages"] == 2
    assert len(ran.of("compile")) == 2


def test_hip_is_captured_to_its_machine_code(hip_side, tmp_path):
    ran = Cases(hip_side, tmp_path).run("bench_capture.py::test_order", stages="all")
    (row,) = ran.rows()
    assert [kernel["name"] for kernel in row] == ["add", "double", "add", "add", "double"]
    assert list(row[0]["stages"]) == ["ttir", "ttgir", "llir", "amdgcn", "hsaco"]
    assert (ran.out / row[0]["stages"]["hsaco"]["file"]).read_bytes()[:4] == b"\x7fELF"


def test_torch_tensors_are_captured_with_their_alignment(cases):
    if find_spec("torch") is None:  # not importorskip: only the server needs to import it
        pytest.skip("needs torch")
    ran = cases.run("bench_torch.py::test_torch_tensors")
    ((kernel,),) = ran.rows()
    assert json.loads(kernel["signature"])[:3] == [["x", "*fp16"], ["y", "*fp16"], ["out", "*fp16"]]
    assert {"x", "out"} <= json.loads(kernel["attributes"]).keys()
    assert "y" not in json.loads(kernel["attributes"])
