"""What the closing table of a screen says: strings only, so that a renderer has nothing left to decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from zl_bench.analysis.axis import AxisState, advice, may_skip
from zl_bench.analysis.numerics import NOT_COMPARED
from zl_bench.analysis.wording import counted
from zl_bench.model import OperatorVerdict, Status, Verdict

HEADINGS = (
    "operator",
    "verdict",
    "changed rows",
    "kernels",
    "converts",
    "first stage",
    "machine code",
    "pins",
    "what it means",
)
NUMERICS_HEADING = "numerics"
"""Stands before what it means, where outputs of any operator were compared."""


@dataclass(frozen=True)
class TableRow:
    """One operator: a cell per heading, and what stands below it: the reason, and by how much outputs differ."""

    verdict: Verdict
    cells: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class ScreenView:
    """Everything that the closing report of a screen shows, in the order in which it shows it."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[TableRow, ...]
    sentences: tuple[tuple[Verdict, str], ...]
    """One for each verdict that occurs, with what to do next."""
    axis: str
    counts: str
    table_path: str
    shapes: tuple[str, ...] = ()
    """What became of the shapes that were asked for, a sentence each."""


def screen_view(
    verdicts: Sequence[OperatorVerdict],
    *,
    axis: str,
    state: AxisState,
    table_path: str,
    criterion: str = "ttgir",
    shapes: Sequence[str] = (),
) -> ScreenView:
    """The view of a screen. `verdicts` come in table order (BROKEN first); `axis` is the switch as it was given."""
    skippable = any(may_skip(entry, state) for entry in verdicts)
    with_numerics = any(entry.numerics != NOT_COMPARED for entry in verdicts)
    present = [verdict for verdict in Verdict if any(entry.verdict is verdict for entry in verdicts)]
    return ScreenView(
        title=f"{axis} (null control)" if state is AxisState.NULL_CONTROL else axis,
        headings=(*HEADINGS[:-1], NUMERICS_HEADING, HEADINGS[-1]) if with_numerics else HEADINGS,
        rows=tuple(_row(verdict, state, with_numerics=with_numerics) for verdict in verdicts),
        sentences=tuple(
            (verdict, verdict_sentence(verdict, state, criterion, skippable=skippable)) for verdict in present
        ),
        axis=axis_sentence(axis, state),
        counts=counts_sentence(verdicts),
        table_path=table_path,
        shapes=tuple(shapes),
    )


def verdict_sentence(verdict: Verdict, state: AxisState, criterion: str = "ttgir", *, skippable: bool = False) -> str:
    """What a verdict means and what to do next. `skippable`: some operator of the screen may really be skipped."""
    stage = criterion.upper()
    match verdict:
        case Verdict.BROKEN:
            return (
                "A row that one side measured failed to compile or to run on the other: the switch breaks it. "
                "Fix that before anything else; the reason names side, kernel and message."
            )
        case Verdict.IR_CHANGED:
            return (
                f"The {stage} of the two sides differs. Measure it, unless its machine code is the same: then there is "
                "nothing to measure. `zl-bench show` prints the difference."
            )
        case Verdict.NO_IR_DIFF:
            return f"The {stage} of the two sides is identical, kernel by kernel. {_when_to_skip(state, skippable)}"
        case Verdict.NO_KERNEL:
            return (
                "Rows were measured, and none launched a Triton kernel. The operator may have run perfectly well "
                "through aten or a vendor library; what is absent is anything for the Triton pass under test to act "
                "on. A warm cache is no explanation, since the run had a cache of its own. If you expected a kernel, "
                "check that the suite runs its Triton implementation; otherwise there is nothing to do."
            )
        case Verdict.NO_ROWS:
            return (
                "No row was measured on both sides; the reason is given with the operator. The usual cause is a dtype that the "
                "operator does not have: `zl-bench ops` lists those that it has."
            )


def axis_sentence(axis: str, state: AxisState) -> str:
    """What the screen as a whole says about its switch."""
    match state:
        case AxisState.LIVE:
            return f"The switch {axis} is live: it changed something in this screen."
        case AxisState.NOT_SHOWN_LIVE:
            return (
                f"The switch {axis} was not shown live: nothing changed at any stage in the whole screen. It may not "
                "act on this target, so no operator here can be left out on its account."
            )
        case AxisState.DEAD:
            return f"The switch {axis} is dead: the compiler under test does not know it."
        case AxisState.NULL_CONTROL:
            return f"{axis} is a null control: both sides are the same, so every difference is the measurement's own."


def counts_sentence(verdicts: Sequence[OperatorVerdict]) -> str:
    """How many operators there are, of which verdict, and how many of them are not complete."""
    kinds = Counter(entry.verdict for entry in verdicts)
    parts = [f"{kinds[verdict]} {verdict.value}" for verdict in Verdict if kinds[verdict]]
    number = counted(len(verdicts), "operator")
    text = f"{number}: {', '.join(parts)}" if parts else "no operator was screened"
    states = Counter(entry.status for entry in verdicts)
    unfinished = [f"{states[status]} {status.value}" for status in (Status.PARTIAL, Status.FAILED) if states[status]]
    return text + (f" ({', '.join(unfinished)})" if unfinished else "")


def operator_name(verdict: OperatorVerdict) -> str:
    """`name`, or `name:dtype` when a dtype was asked for."""
    return verdict.operator if verdict.dtype == "-" else f"{verdict.operator}:{verdict.dtype}"


def _row(verdict: OperatorVerdict, state: AxisState, *, with_numerics: bool) -> TableRow:
    before, after = verdict.converts_before, verdict.converts_after
    converts = str(before) if before == after else f"{before} -> {after}"
    numerics, _, size = verdict.numerics.partition(" (")  # how much they differ by is too long for a cell
    status = "" if verdict.status is Status.COMPLETE else f" [{verdict.status.value}]"
    cells = (
        operator_name(verdict),
        verdict.verdict.value,
        f"{verdict.changed_rows}/{verdict.rows}" if verdict.rows else "-",
        str(verdict.kernels),
        converts if verdict.kernels else "-",
        verdict.first_stage,
        verdict.machine_code,
        verdict.pins,
        *((numerics,) if with_numerics else ()),
        advice(verdict, state) + status,
    )
    compared = "differ" if numerics == "differs" else "not comparable"
    told = (verdict.reason, f"outputs {compared} ({size}" if size else "")
    return TableRow(verdict.verdict, cells, "; ".join(part for part in told if part))


def _when_to_skip(state: AxisState, skippable: bool) -> str:
    match state:
        case AxisState.LIVE if skippable:
            return 'Leave out of the measurement those marked "skip it"; the others say what is still open.'
        case AxisState.LIVE:
            return "The table says for each what is still open; none can be left out of the measurement yet."
        case AxisState.NULL_CONTROL:
            return "That is what a null control should show."
        case _:
            return "That excuses nothing from measurement here, because the switch itself was not shown to act."
