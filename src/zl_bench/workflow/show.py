"""The kernels of a screened operator, matched across the sides, as lines of text: load, judge again, describe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.nodes import distinct_rows
from zl_bench.analysis.numerics import ORDER_IS_FREE, describe_size
from zl_bench.analysis.pairing import match_launches
from zl_bench.analysis.prints import Unreadable
from zl_bench.analysis.reasons import describe_broken, describe_row
from zl_bench.analysis.shapes import describe_finding
from zl_bench.analysis.wording import counted
from zl_bench.errors import UsageError, ZlBenchError
from zl_bench.ir.diff import unified_diff
from zl_bench.ir.stages import order_stages
from zl_bench.model import (
    SIDES,
    AskedShapes,
    JudgedOperator,
    Kernel,
    Launch,
    NodeVerdict,
    Numerics,
    PairedRow,
    RowKey,
    Run,
    split_entry,
)
from zl_bench.store.layout import SHAPES_FILE
from zl_bench.store.request import ScreenRequest, read_request
from zl_bench.store.screen import ScreenRecord
from zl_bench.store.screened import LoadedOperator, load_operator, named_entry, screened_entries
from zl_bench.suites.shape_file import read_asked
from zl_bench.workflow.judge import read_stage
from zl_bench.workflow.judged_again import judge_again

Match = tuple[Launch, Kernel | None, Kernel | None]


@dataclass(frozen=True)
class ShownRow:
    """A row that both sides measured, under the number by which `--row` names it (from 1, across the nodes)."""

    number: int
    row: PairedRow
    matches: tuple[Match, ...]


def show_operator(root: Path, entry: str, row: int | None = None, stage: str | None = None) -> Iterator[str]:
    """Lines about one operator of a root: its verdict, its rows with their kernels and, when asked, the diffs.

    With `row`, that row alone and the diff of each of its kernels, at `stage` or else the first stage that differs.
    With `stage` alone, every row and the diff of every kernel at that stage, each once. Raises UsageError, which says
    what there is, for a root, an operator, a row or a stage that does not exist.
    """
    request = read_request(root)
    entry = named_entry(root, entry)
    loaded = load_operator(root, *split_entry(entry))
    again = judge_again(root, loaded, request, _asked_shapes(root, request))
    rows = numbered_rows(loaded, again.judged.nodes)
    chosen = _choose(rows, row, entry)
    if stage is not None:
        _require_stage(chosen, stage, again.told)
    return _lines(entry, again.judged, again.told, chosen, row, stage, len(rows))


def show_root(root: Path) -> Iterator[str]:
    """The operators of a root with their verdicts, as they were recorded. Raises UsageError for a root without any."""
    verdicts = {(one.operator, one.dtype): one for one in ScreenRecord(root).finished()} if root.is_dir() else {}
    entries = screened_entries(root)
    if not entries:
        raise UsageError(f"{root} has no run of any operator; give the root of a screen, such as runs/ab_…")
    for entry in entries:
        operator, dtype = split_entry(entry)
        verdict = verdicts.get((operator, dtype or "-"))
        yield f"{entry}  {verdict.verdict.value if verdict is not None else 'not finished'}"
    yield f"`zl-bench show {root} {entries[0]}` shows the kernels of one."


def _asked_shapes(root: Path, request: ScreenRequest | None) -> AskedShapes | None:
    if request is None or not request.shapes:
        return None
    return read_asked(root / SHAPES_FILE, tuple(request.shapes), whole_file=request.shape_file is not None)


def numbered_rows(loaded: LoadedOperator, nodes: Sequence[NodeVerdict]) -> list[ShownRow]:
    """The rows that both sides measured, in the order of the listing. Of a row that a side has lost there are no kernels."""
    rows: list[ShownRow] = []
    for node in nodes:
        before, after = (_launches(loaded.run(node.node, side)) for side in SIDES)
        for paired in node.paired:
            matches = match_launches(before.get(paired.key, ()), after.get(paired.key, ()))
            if paired.key not in before or paired.key not in after or len(matches) != len(paired.launches):
                matches = [(None, None)] * len(paired.launches)
            joined = tuple((launch, *match) for launch, match in zip(paired.launches, matches, strict=True))
            rows.append(ShownRow(len(rows) + 1, paired, joined))
    return rows


def _launches(run: Run) -> dict[RowKey, tuple[Kernel, ...]]:
    return {row.key: row.launches for row in distinct_rows(run.rows)}


def _choose(rows: list[ShownRow], number: int | None, entry: str) -> list[ShownRow]:
    if number is None:
        return rows
    chosen = [row for row in rows if row.number == number]
    if not chosen:
        has = f"it has rows 1 to {len(rows)}" if rows else "no row of it was measured on both sides"
        raise UsageError(f"{entry} has no row {number}: {has}.")
    return chosen


def _require_stage(rows: Sequence[ShownRow], stage: str, lost: Sequence[str]) -> None:
    there = order_stages(
        found.name
        for row in rows
        for _, *kernels in row.matches
        for kernel in kernels
        if kernel is not None
        for found in kernel.stages
    )
    if stage not in there:
        has = f"no kernel here has a stage {stage}: there are {', '.join(there) or 'none at all'}."
        raise UsageError(" ".join([has, *lost]))


def _lines(
    entry: str,
    judged: JudgedOperator,
    lost: Sequence[str],
    rows: Sequence[ShownRow],
    only_row: int | None,
    stage: str | None,
    count: int,
) -> Iterator[str]:
    verdict = judged.verdict
    yield f"{entry}  {verdict.verdict.value}" + (f"  {verdict.reason}" if verdict.reason else "")
    if lost:
        yield from lost
        yield "The verdict and the rows are those that the screen recorded; kernels of which a side is lost are not compared."
    numbered = {id(shown.row): shown for shown in rows}
    told: set[tuple[object, ...]] = set()
    first_broken = count + 1
    for node in judged.nodes:
        shown_rows = [numbered[id(row)] for row in node.paired if id(row) in numbered]
        if only_row is not None and not shown_rows:
            continue
        yield f"node {node.node}"
        for shown in shown_rows:
            yield from _row_lines(shown)
            if only_row is not None or stage is not None:
                yield from _row_diffs(shown, stage, told)
        if only_row is None:
            yield from _unpaired_lines(node, first_broken)
            first_broken += len(node.broken)
            yield from (f"  {describe_finding(finding)}" for finding in node.shapes)


def _unpaired_lines(node: NodeVerdict, first_broken: int) -> Iterator[str]:
    """Broken rows have numbers too, behind those of all others: `trace` takes them."""
    for number, broken in enumerate(node.broken, first_broken):
        yield f"  row {number}  broken  {describe_broken(broken)}"
    known = {(broken.side, broken.key) for broken in node.broken}
    for side, failed in node.failed:
        if (side, failed.key) not in known:
            yield f"  failed  {side}: {describe_row(failed.key)}: {failed.message}"
    for alone in node.one_sided:
        yield f"  on {alone.side} only  {describe_row(alone.key)}: {alone.why}"
    for side, absence in node.absences:
        yield f"  {side} ended early or empty: {absence.reason}"


def _row_lines(shown: ShownRow) -> Iterator[str]:
    row = shown.row
    state = "changed" if row.changed else "same"
    first = f", first difference at {row.first_stage}" if row.first_stage != "-" else ""
    order = f", launch sequence {row.sequence}" if row.sequence != "same" else ""
    guesses = f", {counted(row.guesses, 'guessed value')}" if row.guesses else ""
    outputs = f", {_outputs(row.numerics)}" if row.numerics is not None and not row.numerics.same else ""
    yield f"  row {shown.number}  {describe_row(row.key)}  {state}{first}{order}{guesses}{outputs}"
    if not row.launches:
        yield "    no Triton kernel was launched"
    for launch, before, after in shown.matches:
        yield from _launch_lines(launch, before, after)


def _outputs(numerics: Numerics) -> str:
    """By how much the outputs of the two sides differ, or in what else."""
    size = numerics.note or describe_size(numerics.largest_absolute, numerics.largest_relative)
    return f"outputs not comparable ({ORDER_IS_FREE}: {size})" if numerics.unordered else f"outputs differ ({size})"


def _launch_lines(launch: Launch, before: Kernel | None, after: Kernel | None) -> Iterator[str]:
    identity = launch.identity
    where = f"  on {launch.unmatched} only" if launch.unmatched else ""
    unstable = "  unstable" if launch.unstable else ""
    yield (
        f"    {identity.name}  warps {identity.num_warps}, stages {identity.num_stages}, "
        f"ctas {identity.num_ctas}{where}{unstable}"
    )
    for word in ("signature", "constants", "attributes"):
        yield f"      {word} {getattr(identity, word)}"
    if before is not None and after is not None:
        for field in launch.specialised_otherwise:
            old, new = getattr(before.identity, field), getattr(after.identity, field)
            yield f"      specialised otherwise: {field} {old} before, {new} after"
    configuration = next((kernel.configuration for kernel in (before, after) if kernel and kernel.configuration), "")
    if configuration:
        yield f"      configuration {configuration}"
    if launch.unmatched is None:
        recorded = [stage.name for kernel in (before, after) if kernel for stage in kernel.stages]
        names = order_stages(recorded or launch.changed_stages)
        states = [f"{name} {'differs' if name in launch.changed_stages else 'same'}" for name in names]
        only = " (attributes only)" if launch.attributes_only else ""
        yield f"      {', '.join(states) or 'no stage differs'}{only}"
        yield f"      converts {launch.converts_before} before, {launch.converts_after} after"
        shared = [kernel.shared_bytes for kernel in (before, after) if kernel]
        if len(set(shared)) > 1:
            yield f"      shared memory {shared[0]} bytes before, {shared[1]} after"
    else:
        converts = launch.converts_before if launch.unmatched == "before" else launch.converts_after
        yield f"      converts {converts}"


def _row_diffs(shown: ShownRow, stage: str | None, told: set[tuple[object, ...]]) -> Iterator[str]:
    for launch, before, after in shown.matches:
        if before is None or after is None:
            if launch.unmatched is None:
                yield f"    {launch.identity.name}: what it compiled to is lost, see above"
            continue
        name = stage or next(iter(launch.changed_stages), None)
        left, right = (before.stage(name), after.stage(name)) if name else (None, None)
        if name is None:
            yield f"    {before.identity.name}: no stage differs"
            continue
        if left is None or right is None:
            missing = "before" if left is None else "after"
            yield f"    {before.identity.name}: {name} was not recorded {missing}"
            continue
        key = (name, left.path, right.path)
        if key in told:
            continue
        told.add(key)
        contents = read_stage(left), read_stage(right)
        for content in contents:
            if isinstance(content, Unreadable):
                yield f"    {content.message}"
        if isinstance(contents[0], Unreadable) or isinstance(contents[1], Unreadable):
            continue
        try:
            lines = unified_diff(name, contents[0], contents[1], f"before/{left.path.name}", f"after/{right.path.name}")
        except ZlBenchError as error:
            yield f"    {error}"
            continue
        yield from lines or [f"    {before.identity.name}: {name} is the same"]
