"""The `reason` column: what stands behind a verdict, and everything that should make a reader careful, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zl_bench.analysis.nodes import SortedNode
from zl_bench.analysis.wording import LONGEST_MESSAGE, counted, listed, one_line
from zl_bench.model import SIDES, BrokenRow, Launch, PairedRow, RowKey, Side, Verdict

PHASES = {
    "compile": "failed to compile",
    "run": "failed to run",
    "failed": "failed to run",
    "read": "left nothing to compare",
    "timeout": "ran out of time",
    "memory": "ran out of memory",
    "crashed": "crashed",
}
HOW_IT_RAN = {
    "native": "the vendor's own",
    "library": "the library's function without a launch for",
    "view": "views by",
}
"""Of operators that a row without a launch called."""


def explain(verdict: Verdict, nodes: Sequence[SortedNode], criterion: str, missing_pins: Sequence[str]) -> str:
    """One line, `; `-separated: first why the verdict is what it is, then what limits it; empty without either."""
    paired = [row for node in nodes for row in node.paired]
    lead = {
        Verdict.BROKEN: lambda: _broken([row for node in nodes for row in node.broken]),
        Verdict.NO_ROWS: lambda: _no_rows(nodes),
        Verdict.NO_KERNEL: lambda: ["no row launched a Triton kernel" + _what_ran(nodes)],
        Verdict.IR_CHANGED: lambda: _changed(paired, criterion),
        Verdict.NO_IR_DIFF: lambda: _no_difference(paired, nodes, criterion),
    }[verdict]()
    limits = _limits(verdict, nodes, paired, missing_pins)
    return "; ".join(one_line(part, 2 * LONGEST_MESSAGE) for part in (*lead, *limits) if part)


def describe_row(key: RowKey) -> str:
    """A row's key for people: dtype, size detail and, past the first, its ordinal."""
    parts = [part for part in (key.dtype, key.detail) if part]
    if key.ordinal or not parts:
        parts.append(f"#{key.ordinal}")
    return " ".join(parts)


def describe_broken(row: BrokenRow) -> str:
    """Side, kernel, pass or stage, row and message of one broken row."""
    what = f" {row.kernel}" if row.kernel else ""
    where = f" at {row.stage}" if row.stage else ""
    did = PHASES.get(row.phase, f"failed ({row.phase})")
    message = one_line(row.message) or "no message"
    return f"{row.side}:{what} {did}{where} (row {describe_row(row.key)}): {message}"


def _broken(rows: Sequence[BrokenRow]) -> list[str]:
    parts = [describe_broken(rows[0])]
    if len(rows) > 1:
        sides = [row.side for row in rows]
        count = ", ".join(f"{sides.count(side)} on {side}" for side in SIDES if side in sides)
        parts.append(f"{counted(len(rows), 'row')} broken in all ({count})")
        others = [row.kernel for row in rows if row.kernel and row.kernel != rows[0].kernel]
        if others:
            parts.append(f"also {listed(others)}")
    return parts


def _no_rows(nodes: Sequence[SortedNode]) -> list[str]:
    """Why either side has none; a reason that holds for both sides is told once."""
    reasons: dict[Side, str] = {}
    for side in SIDES:
        runs = [node.run(side) for node in nodes]
        failed = [row for node in nodes for where, row in node.failed if where == side]
        told = [run.absence.reason for run in runs if run.absence is not None and run.absence.reason]
        if not told and failed:
            told = [f"every row failed: {failed[0].message}"]
        if any(run.rows for run in runs) and not told:
            continue
        reasons[side] = listed(one_line(text) for text in told) if told else "the run left no row and no reason"
    if not nodes:
        return ["no node was run"]
    if len(reasons) == 2 and reasons["before"] == reasons["after"]:
        return [reasons["before"]]
    if not reasons:
        return ["the two sides measured different rows"]
    return [f"{side}: {reason}" for side, reason in reasons.items()]


def _changed(paired: Sequence[PairedRow], criterion: str) -> list[str]:
    changed = [row for row in paired if row.changed]
    launches = [launch for row in changed for launch in row.launches]
    at_criterion = [x for x in launches if x.unmatched is None and criterion in x.changed_stages]
    alone = [x for x in launches if x.unmatched is not None and not x.unstable]
    parts = []
    if at_criterion:
        kind = " (attributes only)" if all(launch.attributes_only for launch in at_criterion) else ""
        parts.append(f"{criterion} differs{kind}: {_names(at_criterion)}")
    for side in SIDES:
        here = [launch for launch in alone if launch.unmatched == side]
        if here:
            parts.append(f"launched on {side} only, with no partner of the same identity: {_names(here)}")
    reordered = sum(row.sequence == "reordered" for row in changed)
    if reordered:
        parts.append(f"the same kernels in another order in {counted(reordered, 'row')}")
    return parts


def _no_difference(paired: Sequence[PairedRow], nodes: Sequence[SortedNode], criterion: str) -> list[str]:
    if not any(row.launches for row in paired):
        return ["no row that both sides measured launched a Triton kernel, only rows of one side did"]
    differing = [x for row in paired for x in row.launches if x.changed_stages]
    if not differing:
        return []
    stages = dict.fromkeys(stage for launch in differing for stage in launch.changed_stages)
    return [f"{criterion} is the same, {', '.join(stages)} differs: {_names(differing)}"]


def _what_ran(nodes: Sequence[SortedNode]) -> str:
    """What rows without a launch did instead, where it was recorded."""
    recorded = [row.ran for node in nodes for side in SIDES for row in node.run(side).rows if row.ran is not None]
    if not recorded:
        return ""
    ran = {name: how for operators in recorded for name, how in operators.items()}
    if not ran:
        return ": the timed calls ran nothing on the device"
    kinds = {how: [name for name, its_how in ran.items() if its_how == how] for how in HOW_IT_RAN}
    return ": " + ", ".join(f"{HOW_IT_RAN[how]} {listed(names)}" for how, names in kinds.items() if names)


def _names(launches: Iterable[Launch]) -> str:
    return listed(launch.identity.name for launch in launches)


def _limits(
    verdict: Verdict, nodes: Sequence[SortedNode], paired: Sequence[PairedRow], missing_pins: Sequence[str]
) -> list[str]:
    """One-sided and failed rows, early ends, guesses, missing pins, unstable kernels, stray processes: counted and named."""
    parts = []
    for side in SIDES:
        alone = [row for node in nodes for row in node.one_sided if row.side == side]
        if alone:
            parts.append(f"{counted(len(alone), 'row')} on {side} only ({one_line(alone[0].why)})")
    broken = {(row.side, row.key) for node in nodes for row in node.broken}
    failed = {row.key: row for node in nodes for side, row in node.failed if (side, row.key) not in broken}
    if failed and verdict is not Verdict.NO_ROWS:
        message = one_line(next(iter(failed.values())).message)
        parts.append(f"{counted(len(failed), 'row')} measured on neither side ({message})")
    if verdict is not Verdict.NO_ROWS:
        parts.extend(_early_ends(nodes, len(nodes)))
    guessed = sum(bool(row.guesses) for row in paired)
    if guessed:
        parts.append(f"{counted(guessed, 'row')} with guessed values")
    if missing_pins:
        pins = [one_line(sentence, LONGEST_MESSAGE // 2) for sentence in missing_pins]
        parts.append(f"{counted(len(missing_pins), 'pin')} missing: {listed(pins, shown=1)}")
    parts.extend(_unstable(paired, nodes))
    # Of a run that was cut short it goes without saying.
    runs = [node.run(side) for node in nodes for side in SIDES]
    left = sum(run.left_processes for run in runs if run.absence is None)
    if left:
        parts.append(f"{left} {'process was' if left == 1 else 'processes were'} left behind and ended")
    return parts


def _early_ends(nodes: Sequence[SortedNode], total: int) -> list[str]:
    """The absences of runs that left something out although the operator has a verdict from its other rows."""
    reasons: dict[str, list[tuple[str, Side]]] = {}
    named = {row.message for node in nodes for row in node.broken}
    for node in nodes:
        for side in SIDES:
            absence = node.run(side).absence
            # Failed rows, named above, already tell why their test failed.
            told = absence is not None and absence.kind == "failed" and any(where == side for where, _ in node.failed)
            if absence is not None and not told and absence.reason not in named:
                reasons.setdefault(absence.reason, []).append((node.node, side))
    parts = []
    for reason, where in reasons.items():
        sides = {side for _, side in where}
        which = "both sides" if len(sides) == 2 else next(iter(sides))
        count = len({node for node, _ in where})
        parts.append(f"{which}{f', {count} of {total} nodes' if total > 1 else ''}: {one_line(reason)}")
    return parts


def _unstable(paired: Sequence[PairedRow], nodes: Sequence[SortedNode]) -> list[str]:
    parts = []
    kernels = [launch for row in paired for launch in row.launches if launch.unstable]
    if kernels:
        parts.append(f"unstable, differing from itself when compiled twice, not counted as changed: {_names(kernels)}")
    unchecked = sum(node.unchecked_rows for node in nodes)
    if unchecked:
        parts.append(f"{counted(unchecked, 'row')} without a repetition in the self-check")
    return parts
