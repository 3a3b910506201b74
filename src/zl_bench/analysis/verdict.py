"""From the paired runs of an operator's nodes to its one verdict.

Precedence: BROKEN, NO_ROWS, IR_CHANGED, then NO_KERNEL or NO_IR_DIFF. Only rows that both sides measured decide between
the last three; whatever else happened is counted and named in the reason and shows in the status, and never turns a
difference into NO_IR_DIFF.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zl_bench.analysis.nodes import CUT_SHORT, NOTHING_COMPARED, SortedNode, sort_node
from zl_bench.analysis.numerics import summarise_numerics
from zl_bench.analysis.pairing import summary_machine_code
from zl_bench.analysis.pins import summarise_pins
from zl_bench.analysis.prints import Fingerprints, StageRules
from zl_bench.analysis.reasons import explain
from zl_bench.model import (
    SIDES,
    JudgedOperator,
    NodeVerdict,
    Numerics,
    OperatorVerdict,
    RowKey,
    Run,
    Side,
    Status,
    Verdict,
)

NO_DTYPE = "-"


def judge(
    operator: str,
    dtype: str | None,
    nodes: Sequence[tuple[Run, Run]],
    prints: Fingerprints,
    rules: StageRules,
    *,
    seconds: float = 0.0,
    again: Mapping[str, Run] | None = None,
    numerics: Mapping[str, Mapping[RowKey, Numerics]] | None = None,
) -> JudgedOperator:
    """Judge one operator from the (before, after) runs of its nodes.

    Args:
        operator: the operator's name.
        dtype: the dtype that was asked for, None when none was.
        nodes: one pair of runs per node; both runs of a pair are of the same node.
        prints: fingerprints of every stage file that the runs recorded.
        rules: the order of the stages, the criterion and the machine-code stages.
        seconds: wall-clock seconds that the operator took, for the table.
        again: the before side's repetition per node (self-check); kernels that differ from themselves do not count.
        numerics: per node and row, how the outputs of the sides compare; it is told and decides nothing.
    """
    repeated, compared = again or {}, numerics or {}
    sorted_nodes = [
        sort_node(first, second, prints, rules, repeated.get(first.node), compared.get(first.node, NOTHING_COMPARED))
        for first, second in nodes
    ]
    return JudgedOperator(
        _summary(operator, dtype, sorted_nodes, rules, seconds),
        tuple(_node_verdict(operator, dtype, node, rules) for node in sorted_nodes),
    )


def _summary(
    operator: str, dtype: str | None, nodes: Sequence[SortedNode], rules: StageRules, seconds: float
) -> OperatorVerdict:
    paired = [row for node in nodes for row in node.paired]
    launches = [launch for row in paired for launch in row.launches]
    kernels = {entry for node in nodes for entry in node.paired_kernels}
    converts = {side: sum(count for where, _, _, count in kernels if where == side) for side in SIDES}
    pins = summarise_pins([(node.before, node.after) for node in nodes])
    verdict = _verdict(nodes)
    return OperatorVerdict(
        operator=operator,
        dtype=dtype or NO_DTYPE,
        verdict=verdict,
        rows=len(paired),
        changed_rows=sum(row.changed for row in paired),
        kernels=len({launch.identity for launch in launches}),
        converts_before=converts["before"],
        converts_after=converts["after"],
        first_stage=next(iter(rules.sorted({row.first_stage for row in paired} - {"-"})), "-"),
        machine_code=summary_machine_code(row.machine_code for row in paired if row.launches),
        pins=pins.label,
        reason=explain(verdict, nodes, rules.criterion, pins.missing),
        seconds=seconds,
        status=_status(nodes),
        broken_compiles=sum(row.phase == "compile" for node in nodes for row in node.broken),
        failed_runs=sum(_run_failed(node, side) for node in nodes for side in SIDES),
        guessed_rows=sum(bool(row.guesses) for row in paired),
        unstable_kernels=len({launch.identity for launch in launches if launch.unstable}),
        numerics=summarise_numerics(row.numerics for row in paired),
    )


def _verdict(nodes: Sequence[SortedNode]) -> Verdict:
    if any(node.broken for node in nodes):
        return Verdict.BROKEN
    paired = [row for node in nodes for row in node.paired]
    if not paired:
        return Verdict.NO_ROWS
    if any(row.changed for row in paired):
        return Verdict.IR_CHANGED
    if not any(node.launches_anywhere for node in nodes):
        return Verdict.NO_KERNEL
    return Verdict.NO_IR_DIFF


def _status(nodes: Sequence[SortedNode]) -> Status:
    """The worst that happened to any run: a crash or a side without a row, then rows that are missing, then nothing."""
    if not nodes or any(_run_lost(node, side) for node in nodes for side in SIDES):
        return Status.FAILED
    if any(node.one_sided or node.broken or node.failed for node in nodes):
        return Status.PARTIAL
    return Status.PARTIAL if any(_run_failed(node, side) for node in nodes for side in SIDES) else Status.COMPLETE


def _run_lost(node: SortedNode, side: Side) -> bool:
    """Whether the process crashed, was killed or timed out, lost its server, or failed without any row."""
    run = node.run(side)
    absence = run.absence
    if absence is not None and absence.kind in CUT_SHORT:
        return True
    measured = {row.key for row in run.rows} - {row.key for where, row in node.failed if where == side}
    return not measured and _run_failed(node, side)


def _run_failed(node: SortedNode, side: Side) -> bool:
    """Whether anything in the run failed that the suite did not decide itself."""
    absence = node.run(side).absence
    if absence is not None and not absence.clean:
        return True
    if any(where == side for where, _ in node.failed):
        return True
    # No row and no word about it is a failure too, never a clean absence.
    return absence is None and not node.run(side).rows


def _node_verdict(operator: str, dtype: str | None, node: SortedNode, rules: StageRules) -> NodeVerdict:
    runs = [(side, node.run(side)) for side in SIDES]
    return NodeVerdict(
        node=node.node,
        summary=_summary(operator, dtype, [node], rules, 0.0),
        paired=node.paired,
        broken=node.broken,
        one_sided=node.one_sided,
        failed=node.failed,
        absences=tuple((side, run.absence) for side, run in runs if run.absence is not None),
        missing_pins=tuple((side, pin) for side, run in runs for pin in run.missing_pins),
    )
