"""`trace`: agrees with Triton's own dump of every pass, for every kernel of the built-in suite, and names where sides part."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.integration.running import NULL, Finished, zl_bench
from zl_bench.ir.fingerprint import fingerprint
from zl_bench.model import SIDES, Kernel, StageText, split_entry
from zl_bench.running.replay import LOG_FILE, ReplayedSource, ReplayPlan
from zl_bench.store.replays import Replay
from zl_bench.store.screened import load_operator, screened_entries
from zl_bench.workflow.replaying import replayed
from zl_bench.workflow.subject import choose_subject
from zl_bench.workflow.trace import trace_subject

HEADING = re.compile(r"// -----// IR Dump Before (\w+).*\('(\S+)' operation.*//----- //$", re.MULTILINE)
NESTED = {
    ("TritonGPUOptimizeDotOperands", "Canonicalizer"),
    ("CanonicalizeLLVMIR", "CanonicalizeLLVMIR"),
    ("ConvertWarpSpecializeToLLVM", "ReconcileUnrealizedCasts"),
}
"""What a pass runs inside of itself, and what is run on each function: Triton dumps it as passes, one behind the other."""
FIVE = ("transpose", "softmax", "matmul", "layer_norm", "vector_add")
ENVIRONMENTS = Path(os.environ.get("ZL_BENCH_ENVS") or Path(__file__).resolve().parents[2] / ".envs")
NEWER_TRITON = ENVIRONMENTS / "triton-3.9" / "bin" / "python"
NEWER = ("source", "target", "options")
"""What older versions did not record of a kernel."""
LAYOUTS = "remove_layout_conversions"
Screen = Callable[..., tuple[Finished, Path]]


@pytest.fixture(scope="module")
def screened(tmp_path_factory: pytest.TempPathFactory) -> Screen:
    """Screens, each made once."""

    @cache
    def screen(*arguments: str) -> tuple[Finished, Path]:
        root = tmp_path_factory.mktemp("trace") / "root"
        return zl_bench("screen", "--root", root, *arguments), root

    return screen


@cache
def digest(text: str) -> str:
    return fingerprint("mlir", text.encode()).digest


def dumps(log: str) -> Iterator[list[str]]:
    """Of each compile, the fingerprints of the IR before its passes. A compile begins with the inliner of `ttir`."""
    found = list(HEADING.finditer(log))
    compiles: list[list[str]] = []
    ends = [match.start() for match in found[1:]] + [len(log)]
    previous = ""
    for match, end in zip(found, ends, strict=True):
        name, operation = match[1].removesuffix("Pass"), match[2]  # newer Tritons say InlinerPass and so on
        if (previous, name) in NESTED or (name, operation) == ("Canonicalizer", "tt.func"):
            # The latter is the inliner's own, on each function that it simplifies.
            previous = name if name == previous else ""
            continue
        if name == "Inliner" and previous != "SCFToControlFlow":
            compiles.append([])
        compiles[-1].append(digest(module_of(log[match.end() : end])))
        previous = name
    yield from compiles


def module_of(text: str) -> str:
    """The dumped module without what else was printed behind it, such as what a pass dumps of itself while it runs."""
    lines = text.partition("\n// -----// ")[0].strip("\n").split("\n")
    last = max(place for place, line in enumerate(lines) if line == "}" or line.startswith("#"))
    return "\n".join(lines[: last + 1])


def launched(root: Path, operator: str) -> list[Kernel]:
    """The before side's kernels, of each function and types of arguments one; the others differ in sizes alone."""
    kernels: dict[tuple[str, str], Kernel] = {}
    for before, _ in load_operator(root, *split_entry(operator)).nodes:
        for row in before.rows:
            for kernel in row.launches:
                assert kernel.source is not None and kernel.options is not None
                kernels.setdefault((kernel.identity.name, kernel.identity.signature), kernel)
    return list(kernels.values())


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_every_kernel_of_the_suite_goes_the_way_that_triton_dumps(
    screened: Screen, target: str, tmp_path: Path
) -> None:
    """One replay runs each pass by itself, another leaves all to Triton, which dumps the IR before each.

    Of a few operators, since the whole suite takes minutes a target; of all of it with ZL_BENCH_EXHAUSTIVE=1.
    """
    everything = bool(os.environ.get("ZL_BENCH_EXHAUSTIVE"))
    operators = () if everything else ("vector_add", "transpose", "softmax")
    done, root = screened("--switch", NULL, "--target", target, "--jobs", "2", *operators)
    assert done.code == 0, done.out + done.err
    count = 0
    for operator in screened_entries(root):
        kernels = launched(root, operator)
        if not kernels:
            continue
        stepwise = replay_of(root, operator, kernels, target, tmp_path / operator / "stepwise", passes=True)
        dumping = tmp_path / operator / "dumping"
        whole = replay_of(root, operator, kernels, target, dumping, passes=False, MLIR_ENABLE_DUMP="1")
        dumped = list(dumps((dumping / LOG_FILE).read_text(encoding="utf-8", errors="replace")))
        assert len(dumped) == len(kernels)
        for number, kernel in enumerate(kernels):
            assert kernel.source is not None
            traced = stepwise.kernels[str(number)]
            texts = [kernel.source.path, *(one.text.path for one in traced.passes)]
            # Triton prints the IR before each pass, so what follows the last one of all is not among it.
            way = [digest(path.read_text(encoding="utf-8")) for path in texts[:-1]]
            assert way == dumped[number], (operator, kernel.identity)
            for replay in (traced, whole.kernels[str(number)]):
                assert replay.failure is None, (operator, replay.failure)
                assert prints(replay.stages) == prints(kernel.stages), (operator, kernel.identity)
            count += 1
    assert count >= (25 if everything else 4)


def prints(stages: Sequence[StageText]) -> dict[str, str]:
    return {stage.name: fingerprint(stage.name, stage.path.read_bytes()).digest for stage in stages}


def replay_of(
    root: Path, operator: str, kernels: list[Kernel], target: str, folder: Path, *, passes: bool, **variables: str
) -> Replay:
    """The kernels of one operator, compiled again in one process."""
    side = choose_subject(root, operator, inherited={}).sides["before"]
    sources = tuple(
        ReplayedSource(str(number), str(kernel.source.path), "source", target, kernel.options)
        for number, kernel in enumerate(kernels)
        if kernel.source is not None and kernel.options is not None
    )
    environment = {**side.environment, **variables}
    return replayed(ReplayPlan("before", side.interpreter, environment, folder, sources, passes=passes), timeout=600)


@pytest.mark.matrix
def test_two_compilers_part_where_their_own_dumps_do(screened: Screen, tmp_path: Path) -> None:
    if not NEWER_TRITON.exists():
        pytest.skip("environment triton-3.9 is not there: `python tools/environments.py triton-3.9` makes it")
    _, root = screened("--switch", f"build:{sys.executable}..{NEWER_TRITON}", "--target", "cuda:90", *FIVE)
    for operator in FIVE:
        way, dumped = two_ways(root, operator, tmp_path / operator)
        assert way == dumped, operator
        # The dumps part where the trace says: the IR after that pass differs, and before it the sides were the same.
        done = zl_bench("bisect", root, operator)
        assert done.code == 0, done.err
        traced = trace_subject(
            choose_subject(root, operator, inherited={}), SIDES, tmp_path / f"{operator}_traced", 120
        )
        assert traced.comparison is not None
        step = traced.comparison.first_parting
        assert step is not None
        assert f"the sides part first after {step.a_pass.stage} {step.label}" in done.out
        steps = traced.comparison.steps[: traced.comparison.steps.index(step) + 1]
        reached = [sum((one.before, one.after)[number] is not None for one in steps) for number in (0, 1)]
        assert dumped[0][reached[0]] != dumped[1][reached[1]]
        reached = [sum((one.before, one.after)[number] is not None for one in steps[:-1]) for number in (0, 1)]
        assert dumped[0][reached[0]] == dumped[1][reached[1]]


def two_ways(root: Path, operator: str, folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Of each side, the fingerprints of the IR before each pass: as traced, and as its own Triton dumps them."""
    subject = choose_subject(root, operator, inherited={})
    ways: list[list[str]] = []
    dumped: list[list[str]] = []
    for name, side in subject.sides.items():
        source = ReplayedSource("0", str(side.source.path), side.made, subject.target, side.options)
        plan = ReplayPlan(name, side.interpreter, side.environment, folder / f"{name}_steps", (source,), passes=True)
        passes = replayed(plan, timeout=120).kernels["0"].passes
        texts = [side.source.path, *(one.text.path for one in passes)]
        ways.append([digest(path.read_text(encoding="utf-8")) for path in texts[:-1]])
        dumping = {**side.environment, "MLIR_ENABLE_DUMP": "1"}
        replayed(ReplayPlan(name, side.interpreter, dumping, folder / name, (source,)), timeout=120)
        dumped += dumps((folder / name / LOG_FILE).read_text(encoding="utf-8", errors="replace"))
    return ways, dumped


def test_a_pass_left_out_is_where_the_sides_part_first(screened: Screen) -> None:
    _, root = screened("--switch", f"pass:{LAYOUTS}@1", "--target", "cuda:90", "transpose")
    done = zl_bench("trace", root, "transpose")
    assert done.code == 0, done.err
    assert f"the sides part first after ttgir {LAYOUTS}@1, which after leaves out" in done.out
    assert "before: it makes the recorded ttir, ttgir, llir, ptx, cubin" in done.out
    assert "after: it makes the recorded ttir, ttgir, llir, ptx, cubin" in done.out
    assert "NOT" not in done.out
    line = next(line for line in done.out.splitlines() if f"{LAYOUTS}@1 " in line)
    assert "left out" in line and line.lstrip().startswith("≠")
    assert any(line.startswith("+") and "convert_layout" in line for line in done.out.splitlines())
    assert "no code of the suite runs" in done.err


def test_one_side_shows_what_each_pass_did(screened: Screen, tmp_path: Path) -> None:
    _, root = screened("--switch", f"pass:{LAYOUTS}@1", "--target", "cuda:90", "transpose")
    out = tmp_path / "kept"
    done = zl_bench("trace", root, "transpose", "--side", "before", "-o", out)
    assert done.code == 0, done.err
    assert "--- in/coalesce@1" in done.out and "+++ out/coalesce@1" in done.out
    assert list((out / "before" / "ir").glob("*.mlir"))
    assert zl_bench("trace", root, "transpose", "-o", out).code == 2


def test_sides_that_do_not_part_are_said_not_to(screened: Screen) -> None:
    _, root = screened("--switch", "pass:pipeline", "--target", "cuda:90", "transpose")
    done = zl_bench("trace", root, "transpose")
    assert done.code == 0, done.err
    assert "no pass parts the sides" in done.out
    assert "the stages: ttir same, ttgir same, llir same, ptx same, cubin same" in done.out


def test_a_kernel_that_one_side_can_not_compile_is_traced_to_the_pass_that_fails(screened: Screen) -> None:
    _, root = screened("--switch", "pass:accelerate_matmul", "--target", "cuda:90", "matmul:float16")
    done = zl_bench("trace", root, "matmul:float16")
    assert done.code == 0, done.err
    assert "the sides part first after ttgir accelerate_matmul@1, which after leaves out" in done.out
    assert "after fails at llir (to_llvmir): RuntimeError: PassManager::run failed" in done.out
    assert "which compiles what was recorded of it on the other" in done.out
    shown = zl_bench("show", root, "matmul:float16").out
    assert "row 1  broken  after: matmul_kernel failed to compile" in shown


def test_a_root_without_sources_and_options_is_traced_from_its_ttir(screened: Screen, tmp_path: Path) -> None:
    _, recorded = screened("--switch", f"pass:{LAYOUTS}@1", "--target", "cuda:90", "transpose")
    root = rewritten(recorded, tmp_path / "old", lambda kernel: [kernel.pop(name) for name in NEWER])
    done = zl_bench("trace", root, "transpose")
    assert done.code == 0, done.err
    assert "the frontend's result was not recorded, so the kernel is compiled from its recorded ttir" in done.out
    assert "the options of the launch were not recorded" in done.out
    assert "before: it makes the recorded ttgir, llir, ptx, cubin" in done.out
    assert f"the sides part first after ttgir {LAYOUTS}@1" in done.out
    assert zl_bench("show", root, "transpose").out == zl_bench("show", recorded, "transpose").out


def test_a_failure_that_does_not_come_again_is_said(screened: Screen, tmp_path: Path) -> None:
    _, recorded = screened("--switch", "pass:accelerate_matmul", "--target", "cuda:90", "matmul:float16")
    root = rewritten(recorded, tmp_path / "other", lambda kernel: None)
    request = json.loads((root / "screen.json").read_text(encoding="utf-8"))
    (root / "screen.json").write_text(json.dumps({**request, "switch": "pass:pipeline"}), encoding="utf-8")
    done = zl_bench("trace", root, "matmul:float16")
    assert done.code == 0, done.err
    assert "after: it does NOT fail here, as it was recorded to" in done.out


def rewritten(recorded: Path, root: Path, change: Callable[[dict[str, object]], object]) -> Path:
    """A copy of a root in which each kernel's event is changed."""
    shutil.copytree(recorded, root)
    for file in root.glob("*/events.jsonl"):
        lines = []
        for line in file.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["event"] == "kernel":
                change(event)
            lines.append(json.dumps(event))
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def test_what_a_root_does_not_have_is_said_with_what_it_has(screened: Screen, tmp_path: Path) -> None:
    _, root = screened("--switch", "pass:pipeline", "--target", "cuda:90", "transpose")
    for arguments, words in (
        ((root, "transpose", "--row", "99"), "no row 99"),
        ((root, "transpose", "--kernel", "nobody"), "there are transpose_kernel"),
        ((root, "transpose", "--kernel", "7"), "kernels 1 to 1, not 7"),
        ((root, "matmul"), "transpose"),
        ((tmp_path, "transpose"), "no screen.json"),
    ):
        done = zl_bench("trace", *arguments)
        assert done.code == 2
        assert words in done.err


def test_a_replay_that_can_not_start_says_where_its_words_are(screened: Screen) -> None:
    _, root = screened("--switch", "pass:pipeline", "--target", "cuda:90", "transpose")
    done = zl_bench("trace", root, "transpose", "--python", "/bin/true")
    assert done.code == 3
    assert "could not be compiled again" in done.err


def test_the_columns_stay_in_their_places_whatever_a_pass_is_called(screened: Screen) -> None:
    _, root = screened("--switch", "AMDGCN_USE_BUFFER_OPS", "--target", "hip:gfx942", "vector_add:float32")
    done = zl_bench("trace", root, "vector_add:float32")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("    stage  pass"))
    rows = [line for line in lines[head + 1 : lines.index("", head)] if "@" in line]
    assert any(" of after)" in row for row in rows)  # the widest there is
    column = lines[head].index("before")
    assert all(row[column] in "-0123456789" and row[column - 1] == " " for row in rows)
