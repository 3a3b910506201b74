"""Made-up reports for the page: small ones with one thing each, and one as large as FlagGems."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from tests.ir.made_ttgir import NARROW, WIDE, ttgir
from zl_bench.ir.side_by_side import SideBySide, side_by_side
from zl_bench.reports.html import Differences, pair_of
from zl_bench.reports.report_view import (
    NOT_RECORDED,
    CardProvenance,
    GroupView,
    KernelView,
    LaunchView,
    MeasurePart,
    NotCovered,
    NumericsView,
    OperatorView,
    ProblemView,
    Provenance,
    Question,
    ReportView,
    Reproduction,
    RoundView,
    RowView,
    ScreenPart,
    SideProvenance,
    StageView,
    TimingView,
    VerdictCount,
)

VERDICTS = ("BROKEN", "IR_CHANGED", "NO_IR_DIFF", "NO_KERNEL", "NO_ROWS")
SPEEDS = ("FASTER", "SLOWER", "NO_CHANGE", "INCONCLUSIVE", "IDENTICAL")
SIZE = 70007
"""Of the tensors in the kernel of which all of a large report are copies; no other number has it in it."""
DTYPES = ("float16", "float32", "bfloat16")


def stage(name: str, sha256: str) -> StageView:
    return StageView(name, f"run/ir/{sha256}.{name}", sha256, name != "cubin")


def kernel(number: int, side: str, shas: str, name: str = "copy_kernel") -> KernelView:
    return KernelView(
        id=number, side="before" if side == "before" else "after", name=name,
        signature='[["a","*fp16"],["b","*fp16"],["n","i32"]]', constants='{"BLOCK":1024,"TILE":64}', attributes="{}",
        num_warps=4, num_stages=3, num_ctas=1, configuration="BLOCK: 1024, num_warps: 4",
        shared_bytes=4096 if side == "before" else 8192, registers=40 if side == "before" else 64, spills=0, converts=1,
        stages=(stage("ttir", "0" * 64), stage("ttgir", shas), stage("cubin", shas[::-1])), executable_sha256=shas,
    )  # fmt: skip


def launch(before: int, after: int, *, changed: bool = True, name: str = "copy_kernel") -> LaunchView:
    stages = ("ttgir", "cubin") if changed else ()
    return LaunchView(
        name=name, before=before, after=after, times=1, changed_stages=stages,
        same_stages=("ttir",) if changed else ("ttir", "ttgir", "cubin"), attributes_only=False,
        machine_code="differs" if changed else "same", converts_before=1, converts_after=3 if changed else 1, only_on="",
        specialised_otherwise=(), unstable=False,
    )  # fmt: skip


def timing(speedup: float | None, verdict: str, *, rounds: int = 6, spread: float = 0.002, seed: int = 0) -> TimingView:
    dice = random.Random(seed)
    each = [(speedup or 1.0) * math.exp(dice.gauss(0, spread)) for _ in range(rounds)]
    known = speedup is not None and rounds > 1
    return TimingView(
        source="measure", before_ms=0.0214, after_ms=0.0214 / (speedup or 1.0), speedup=speedup,
        low=speedup * math.exp(-2 * spread) if known and speedup else None,
        high=speedup * math.exp(2 * spread) if known and speedup else None,
        q=0.003, mde=0.011, verdict=verdict, kind="placebo" if verdict == "IDENTICAL" else "changed", paired=rounds, of=rounds,
        rounds=tuple(
            RoundView(number, 0.0214, 0.0214 / one, one, "before" if number % 2 else "after")
            for number, one in enumerate(each, 1)
        ),
        method="graph", l2="warm", launch_bound=False, clocks="1965 to 1980 MHz before, 1980 MHz after",
        basis=f"{rounds} rounds" if rounds > 1 else "one round: no interval", note="",
    )  # fmt: skip


def row(number: int, *, dtype: str = "float16", detail: str = "[(1024, 1024)]", launches: tuple[LaunchView, ...] = (),
        timed: TimingView | None = None, changed: bool = True, operator: str = "copy") -> RowView:  # fmt: skip
    return RowView(
        key=f"{number:016x}", number=number, operator=operator, dtype=dtype, detail=detail,
        node=f"benchmark/test_{operator}.py::test_{operator}[{dtype}]", parameters=dtype, ordinal=0, changed=changed,
        first_stage="ttgir" if changed else "-", machine_code="differs" if changed else "same", sequence="same", guesses=0,
        numerics=NumericsView(True, "same"), launches=launches, timing=timed,
    )  # fmt: skip


def operator(entry: str, verdict: str = "IR_CHANGED", rows: tuple[RowView, ...] = (), reason: str = "",
             speed: GroupView | None = None) -> OperatorView:  # fmt: skip
    found = {one.timing.verdict: 0 for one in rows if one.timing is not None}
    for one in rows:
        if one.timing is not None:
            found[one.timing.verdict] += 1
    problems = ()
    if verdict == "BROKEN":
        problems = (ProblemView("broken", "after", "float16 [(64,)]", f"benchmark/test_{entry}.py", reason),)
    return OperatorView(
        entry=entry, operator=entry, dtype="-", verdict=verdict, advice="measure it" if verdict == "IR_CHANGED" else "skip it",
        reason=reason, status="complete", numerics="same", row_count=len(rows),
        changed_rows=sum(bool(one.changed) for one in rows), kernel_count=0 if verdict in ("NO_KERNEL", "NO_ROWS") else 1,
        converts_before=1, converts_after=3 if verdict == "IR_CHANGED" else 1,
        first_stage="ttgir" if verdict == "IR_CHANGED" else "-", machine_code="differs" if verdict == "IR_CHANGED" else "-",
        pins="none", seconds=1.5, speed=speed,
        speed_verdicts=tuple((word, found[word]) for word in SPEEDS if word in found), rows=rows, problems=problems,
        first_failure=reason if verdict == "BROKEN" else "",
    )  # fmt: skip


def group(speedup: float | None, name: str = "copy", rows: int = 1, rounds: int = 6) -> GroupView:
    low, high = (None, None) if speedup is None or rounds < 2 else (speedup * 0.996, speedup * 1.004)
    return GroupView(
        name, rows, rows, rounds, speedup, low, high, f"{name}: geometric mean {speedup}, {rows}/{rows} rows"
    )


def screen_part(operators: tuple[OperatorView, ...]) -> ScreenPart:
    counts = [(word, sum(one.verdict == word for one in operators)) for word in VERDICTS]
    return ScreenPart(
        counts=tuple(VerdictCount(word, count, f"What {word} means.") for word, count in counts if count),
        totals=f"{len(operators)} operators", axis_state="live", axis="The switch pass:pipeline is live.",
        finding="found in the compiler", criterion="ttgir", basis="Each verdict rests on one pair of runs per operator.",
        shapes=(),
    )  # fmt: skip


def measure_part(operators: tuple[OperatorView, ...], *, trusted: bool = True) -> MeasurePart:
    words = [one.timing.verdict for entry in operators for one in entry.rows if one.timing is not None]
    return MeasurePart(
        counts=tuple(VerdictCount(word, words.count(word), f"What {word} means.") for word in SPEEDS if word in words),
        totals=f"{len(words)} rows", trusted=trusted, untrusted=() if trusted else ("the placebos moved by 4 %",),
        placebo=group(1.0003, "placebos"), placebo_line="placebos: geometric mean 1.0003 (0.9981 to 1.0025).",
        changed=group(1.012, "all changed rows"), rounds=(1, 2, 3, 4, 5, 6),
        basis="6 rounds, each a fresh pair of processes.", threshold=0.01, level=0.05, words="FASTER: at least 1 %.", notes=(),
    )  # fmt: skip


def side(name: str) -> SideProvenance:
    return SideProvenance(
        side="before" if name == "before" else "after", python="3.11.2", interpreter="/venv/bin/python", platform="Linux",
        triton="3.6.0", triton_commit="", library="libtriton.so", library_sha256="ab" * 32, torch="2.11.0 (CUDA 12.8)",
        target="cuda:90",
    )  # fmt: skip


def report(*operators: OperatorView, kernels: tuple[KernelView, ...] = (), measured: bool = False, trusted: bool = True,
           title: str = "pass:pipeline, builtin suite, cuda:90") -> ReportView:  # fmt: skip
    words = ", ".join(f"{sum(one.verdict == word for one in operators)} {word}" for word in VERDICTS)
    return ReportView(
        title=title,
        answer=f"Of {len(operators)} operators: {words}." if operators else "Nothing was measured.",
        question=Question("Does compiling without pipeline change the code?", "pass:pipeline", "pass", "kept", "left out",
                          "builtin", "cuda:90", (), tuple(one.entry for one in operators)),
        screen=screen_part(operators), measure=measure_part(operators, trusted=trusted) if measured else None,
        operators=operators, kernels=kernels, not_covered=(NotCovered("fft", "no complex dtype for this target"),),
        provenance=Provenance(
            tool_version="0.1.0", started="2026-12-02T10:00:00+00:00", root="ab_pipeline_2026", suite="builtin",
            suite_folder="suites/builtin", suite_hash="cd" * 32, suite_revision=NOT_RECORDED,
            sides=(side("before"), side("after")),
            cards=(CardProvenance("NVIDIA H200", "GPU-1", "0000:01:00.0", "580.1", NOT_RECORDED, NOT_RECORDED, "nobody"),),
            environment_differences=(("ZL_DROP", "", "pipeline"),), pins="tuned before, replayed after",
        ),
        reproduction=Reproduction(("zl-bench screen --switch pass:pipeline copy",), True, (("ZL_DROP", "unset", "pipeline"),),
                                  (("triton", "3.6.0"), ("torch", "2.11.0"))),
        notes=(),
    )  # fmt: skip


def small(*, measured: bool = True) -> tuple[ReportView, Differences]:
    """An operator of each verdict; `copy` has changed code whose difference is known."""
    kernels = (kernel(0, "before", "b" * 63 + "1"), kernel(1, "after", "a" * 63 + "2"))
    extra = f"    %y = ttg.convert_layout %x : tensor<64x64xf16, {NARROW}> -> tensor<64x64xf16, {WIDE}>\n"
    pair = pair_of(kernels[0].stages[1], kernels[1].stages[1])
    found: dict[tuple[str, str, str], SideBySide | str] = {
        pair: side_by_side("ttgir", ttgir(WIDE), ttgir(NARROW, extra=extra)),
        pair_of(kernels[0].stages[2], kernels[1].stages[2]): "the page would become too large",
    }
    copies = tuple(
        row(
            place + 1, dtype=dtype, detail=f"[({256 << place}, 1024)]", launches=(launch(0, 1), launch(0, 1, changed=False)),
            timed=timing(speedup, verdict, seed=place) if measured else None,
        )
        for place, (dtype, speedup, verdict) in enumerate(
            [("float16", 1.08, "FASTER"), ("float32", 0.93, "SLOWER"), ("bfloat16", 1.001, "NO_CHANGE")]
        )
    )  # fmt: skip
    placebo = row(
        9, launches=(launch(0, 0, changed=False),), changed=False, operator="add",
        timed=timing(1.0007, "IDENTICAL", seed=7) if measured else None,
    )  # fmt: skip
    operators = (
        operator("mm", "BROKEN", reason="after: mm_kernel failed to compile at ttgir: PassManager::run failed"),
        operator(
            "copy", rows=copies, reason="ttgir differs: copy_kernel", speed=group(1.012, rows=3) if measured else None
        ),
        operator("add", "NO_IR_DIFF", rows=(placebo,)),
        operator("view", "NO_KERNEL", rows=(row(10, changed=False, operator="view"),)),
        operator("fft", "NO_ROWS", reason="no row of float16"),
    )
    return report(*operators, kernels=kernels, measured=measured), Differences(found)


def large(operators: int = 1100, rows: int = 7000, pairs: int = 700) -> tuple[ReportView, Differences]:
    """As large as FlagGems over all dtypes: that many operators and rows, six rounds, and so many different kernels."""
    dice = random.Random(4)
    found: dict[tuple[str, str, str], SideBySide | str] = {}
    kernels: list[KernelView] = []
    for number in range(pairs):
        shas = f"{number:064x}", f"{number + pairs:064x}"
        kernels += [
            kernel(2 * number, "before", shas[0], f"kernel_{number}"),
            kernel(2 * number + 1, "after", shas[1], f"kernel_{number}"),
        ]
    each = [rows // operators + (place < rows % operators) for place in range(operators)]
    views, number = [], 0
    for place, count in enumerate(each):
        verdict = dice.choices(VERDICTS, (2, 55, 33, 7, 3))[0]
        name, made = f"operator_{place:04d}", []
        for at in range(count):
            number += 1
            changed = verdict == "IR_CHANGED"
            speed = math.exp(dice.gauss(0.004, 0.05)) if changed else math.exp(dice.gauss(0, 0.002))
            word = (
                "IDENTICAL"
                if not changed
                else "FASTER"
                if speed > 1.02
                else "SLOWER"
                if speed < 0.98
                else "INCONCLUSIVE"
            )
            which = (place * 3 + at % 3) % pairs
            timed = timing(speed, word, seed=number) if verdict in ("IR_CHANGED", "NO_IR_DIFF") else None
            launches = (
                launch(2 * which, 2 * which + 1 if changed else 2 * which, changed=changed, name=f"kernel_{which}"),
            )
            made.append(
                row(
                    number,
                    dtype=DTYPES[at % 3],
                    detail=f"[({1 << (at % 12)}, {place})]",
                    launches=launches * 2,
                    timed=timed,
                    changed=changed,
                    operator=name,
                )
            )
        mean = group(math.exp(dice.gauss(0, 0.03)), name, count) if verdict == "IR_CHANGED" else None
        views.append(operator(name, verdict, tuple(made), reason=f"ttgir differs: kernel_{place}", speed=mean))
    views.sort(key=lambda one: VERDICTS.index(one.verdict))
    lines = [f"    %v{n} = arith.addf %x, %x : tensor<{SIZE}x{n}xf16, {WIDE}>\n" for n in range(120)]
    compared = side_by_side(
        "ttgir", ttgir(WIDE, extra="".join(lines), size=SIZE), ttgir(NARROW, extra="".join(lines[::2]), size=SIZE)
    )
    for which in range(pairs):
        pair = pair_of(kernels[2 * which].stages[1], kernels[2 * which + 1].stages[1])
        found[pair] = _of_size(compared, which + 1)
    return report(*views, kernels=tuple(kernels), measured=True), Differences(found)


def _of_size(compared: SideBySide, size: int) -> SideBySide:
    """The same comparison of kernels for another size; comparing each would take a minute and say nothing else."""
    resized = lambda text: None if text is None else text.replace(str(SIZE), str(size))  # noqa: E731
    return replace(
        compared,
        lines=tuple(replace(line, before=resized(line.before), after=resized(line.after)) for line in compared.lines),
    )


def without_clocks(view: ReportView) -> ReportView:
    """The same, of a card that tells nothing."""
    return replace(
        view,
        operators=tuple(
            replace(
                entry,
                rows=tuple(
                    replace(one, timing=replace(one.timing, clocks=NOT_RECORDED, method=NOT_RECORDED, l2=NOT_RECORDED))
                    if one.timing is not None
                    else one
                    for one in entry.rows
                ),
            )
            for entry in view.operators
        ),
    )
