"""Real environment switches are told apart: what changes, what acts below TTGIR, what is not shown live, what is dead."""

from __future__ import annotations

from tests.integration.running import ODD, SMALL, events, table, zl_bench

FEW = ("vector_add", "softmax", "cumsum", "batched_sum")


def screen(root, switch, target, *operators, **env):
    return zl_bench("screen", "--switch", switch, "--target", target, "--root", root, *operators, **env)


def test_buffer_operations_change_most_operators_on_hip(tmp_path):
    done = screen(tmp_path / "root", "AMDGCN_USE_BUFFER_OPS", "hip:gfx942", *FEW)
    assert done.code == 0, done.out + done.err
    verdicts = [row["verdict"] for row in table(tmp_path / "root").values()]
    assert verdicts.count("IR_CHANGED") > len(FEW) / 2


def test_the_same_switch_is_not_shown_live_on_cuda_and_excuses_nothing(tmp_path):
    done = screen(tmp_path / "root", "AMDGCN_USE_BUFFER_OPS", "cuda:90", *FEW)
    assert done.code == 0
    assert {row["verdict"] for row in table(tmp_path / "root").values()} == {"NO_IR_DIFF"}
    assert "not shown live" in done.out
    assert "skip it" not in done.out


def test_the_default_precision_changes_the_fp32_matmul_and_leaves_vector_add_alone(tmp_path):
    done = screen(tmp_path / "root", "TRITON_F32_DEFAULT=ieee..tf32", "cuda:90", "matmul:float32", "vector_add")
    assert done.code == 0
    rows = table(tmp_path / "root")
    assert rows["matmul:float32"]["verdict"] == "IR_CHANGED"
    assert rows["vector_add"]["verdict"] == "NO_IR_DIFF"
    assert "skip it" in done.out


def test_a_switch_below_ttgir_shows_in_the_machine_code_only(tmp_path):
    done = screen(tmp_path / "root", "DISABLE_LLVM_OPT", "cuda:90", "softmax")
    row = table(tmp_path / "root")["softmax"]
    assert (row["verdict"], row["machine_code"]) == ("NO_IR_DIFF", "differs")
    assert "acts below TTGIR" in done.out
    assert "skip it" not in done.out


def test_a_null_control_is_labelled_and_neither_dead_nor_not_shown_live(tmp_path):
    done = screen(tmp_path / "root", "ZL_NO_SUCH_SWITCH=1..1", "cuda:90", "vector_add")
    assert done.code == 0
    assert "null control" in done.out
    assert "not shown live" not in done.out
    assert "skip it" not in done.out


def test_an_invented_switch_is_dead_before_anything_is_compiled(tmp_path):
    root = tmp_path / "root"
    done = screen(root, "ZL_NO_SUCH_SWITCH", "cuda:90", "vector_add")
    assert done.code == 4
    assert "ZL_NO_SUCH_SWITCH" in done.err
    assert "--force" in done.err
    assert not list(root.glob("*_before"))
    done = zl_bench(
        "screen", "--switch", "ZL_NO_SUCH_SWITCH", "--target", "cuda:90", "--root", root, "--force", "vector_add"
    )
    assert done.code == 0
    assert "not shown live" in done.out
    assert "skip it" not in done.out


def test_a_switch_that_is_read_once_at_import_is_told_apart(tmp_path):
    root = tmp_path / "root"
    done = zl_bench(
        "screen", "--switch", "ZL_TEST_READ_AT_IMPORT", "--target", "cuda:90", "--suite", SMALL, "--root", root, "--force",
        "import_time", "scale",
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    rows = table(root)
    assert rows["import_time"]["verdict"] == "IR_CHANGED"
    assert rows["scale"]["verdict"] == "NO_IR_DIFF"
    # A name that the compiler does not mention counts as live once something changes.
    assert "is live" in done.out


def test_the_sides_have_identical_environments_but_for_the_switch_and_their_own_folders(tmp_path):
    import json

    root = tmp_path / "root"
    screen(
        root,
        "TRITON_F32_DEFAULT=..tf32",
        "cuda:90",
        "vector_add",
        env={"TRITON_F32_DEFAULT": "ieee", "MY_TOKEN": "hush"},
    )
    before, after = (
        json.loads((root / f"vector_add_{side}" / "env.json").read_text(encoding="utf-8"))["environment"]
        for side in ("before", "after")
    )
    assert "TRITON_F32_DEFAULT" not in before  # empty means unset, even when it was inherited
    assert after["TRITON_F32_DEFAULT"] == "tf32"
    differing = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert differing == {"TRITON_F32_DEFAULT", "TRITON_CACHE_DIR", "FLAGGEMS_CACHE_DIR"}
    assert before["TRITON_CACHE_DIR"].startswith(str(root))
    assert "hush" not in json.dumps(before)
    assert before["CUDA_VISIBLE_DEVICES"] == "-1"


def test_no_target_names_the_flag(tmp_path):
    done = zl_bench("screen", "--switch", "TRITON_F32_DEFAULT=ieee..tf32", cwd=tmp_path)
    assert done.code == 3
    assert "--target" in done.err


def test_default_roots_are_told_apart_and_lie_under_runs(tmp_path):
    for _ in range(2):
        done = zl_bench(
            "screen", "--switch", "pass:pipeline", "--target", "cuda:90", "--suite", SMALL, "aten", cwd=tmp_path
        )
        assert done.code == 0, done.err
    roots = sorted((tmp_path / "runs").glob("ab_pass-pipeline_*"))
    assert len(roots) == 2
    assert all(table(root)["aten"]["verdict"] == "NO_KERNEL" for root in roots)


def test_resume_pins_configs_self_check_and_fail_on(tmp_path):
    root, ask = tmp_path / "root", ("screen", "--switch", "pass:coalesce", "--target", "cuda:90", "--suite", SMALL)
    done = zl_bench(*ask, "--root", root, "--self-check", "tuned", "skipped")
    assert done.code == 0, done.out + done.err
    rows = table(root)
    assert rows["tuned"]["pins"] == "first 1/4"
    assert (root / "tuned_again").is_dir()
    assert (rows["skipped"]["verdict"], rows["skipped"]["status"]) == ("NO_ROWS", "complete")
    assert "this suite says so" in rows["skipped"]["reason"]

    refused = zl_bench(*ask, "--root", root, "--self-check", "tuned", "aten")
    assert refused.code == 2
    assert "--resume" in refused.err
    other = zl_bench(
        "screen", "--switch", "pass:pipeline", *ask[3:], "--root", root, "--resume", "--self-check", "aten"
    )
    assert other.code == 2
    assert "switch was pass:coalesce" in other.err
    resumed = zl_bench(*ask, "--root", root, "--resume", "--self-check", "tuned", "skipped", "aten")
    assert resumed.code == 0, resumed.err
    assert "2 finished operators skipped" in resumed.out
    assert table(root).keys() == {"tuned", "skipped", "aten"}

    every = tmp_path / "all"
    assert zl_bench(*ask, "--root", every, "--configs", "all", "tuned").code == 0
    assert table(every)["tuned"]["pins"] == "all 4/4"
    assert table(every)["tuned"]["kernels"] == "4"

    replayed = tmp_path / "replayed"
    assert zl_bench(*ask, "--root", replayed, "--pins", every, "tuned").code == 0
    assert table(replayed)["tuned"]["pins"] == "all 4/4"  # a replay is worth what its record is worth
    assert table(replayed)["tuned"]["kernels"] == "4"
    assert zl_bench(*ask, "--root", tmp_path / "no", "--pins", tmp_path, "tuned").code in (0, 2)

    failing = zl_bench(*ask, "--root", tmp_path / "fail", "--fail-on", "NO_KERNEL", "aten")
    assert failing.code == 10


def test_stages_ttgir_stops_before_machine_code(tmp_path):
    root = tmp_path / "root"
    done = zl_bench(
        "screen", "--switch", "pass:pipeline", "--target", "cuda:90", "--suite", SMALL, "--stages", "ttgir", "--root", root,
        "scale",
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    assert table(root)["scale"]["machine_code"] == "-"
    kernels = [event for event in events(root / "scale_before") if event["event"] == "kernel"]
    assert kernels
    assert all(set(event["stages"]) == {"ttir", "ttgir"} for event in kernels)


def test_bad_usage_is_exit_2_with_a_hint(tmp_path):
    root = ("--root", tmp_path / "root")
    for arguments, hint in (
        (("--switch", "1BAD", "--target", "cuda:90"), "no switch"),
        (("--switch", "A=1", "--target", "cuda:90"), "two"),
        (("--switch", "TRITON_CACHE_DIR=a..b", "--target", "cuda:90"), "set by zl-bench"),
        (("--switch", "pass:pipeline", "--target", "cuda:90", "vector_ad"), "vector_add"),
        (("--switch", "pass:pipeline", "--target", "tpu:1"), "cuda:90"),
        (("--switch", "pass:pipeline", "--target", "cuda:90", "--suite", tmp_path), "no pytest benchmark"),
        (("--switch", "pass:pipeline", "--target", "cuda:90", "--env", "X"), "NAME=VALUE"),
        (("--switch", "build:/a..b", "--target", "cuda:90"), "interpreters"),
        (("--switch", "pass:pipeline", "--target", "cuda:90", "--resume"), ""),
        (("--target", "cuda:90"), "--switch"),
    ):
        done = zl_bench("screen", *root, *arguments)
        if arguments[-1] == "--resume":
            continue
        assert done.code == 2, (arguments, done.out, done.err)
        assert hint in done.err, (arguments, done.err)


def test_a_target_that_the_compiler_does_not_have_is_an_unfit_environment(tmp_path):
    done = zl_bench(
        "screen", "--switch", "pass:pipeline", "--target", "musa:31", "--root", tmp_path / "r", "vector_add"
    )
    assert done.code == 3
    assert "musa" in done.err


def test_the_vendor_segment(tmp_path):
    done = zl_bench(
        "screen", "--switch", "ZL_{VENDOR}_X", "--vendor", "mthreads", "--target", "cuda:90", "--root", tmp_path / "r",
        "vector_add",
    )  # fmt: skip
    assert done.code == 4
    assert "ZL_MUSA_X" in done.err


def test_odd_suite_is_read_without_running_it():
    done = zl_bench("ops", "--suite", ODD)
    assert done.code == 0
    assert "hangs\ttest_odd.py::test_hangs\t-" in done.out
    done = zl_bench("ops")
    assert "matmul\ttest_matmul.py::test_matmul\tfloat16" in done.out
