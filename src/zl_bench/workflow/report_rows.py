"""The rows of a screened operator with their kernels, as a report shows them: from the screen's record and what the runs left.

What the screen said stands; the runs add the kernels' files and the latencies. Runs that are gone take those with them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zl_bench.analysis.nodes import distinct_rows
from zl_bench.analysis.numerics import describe_size
from zl_bench.analysis.pairing import match_launches
from zl_bench.analysis.prints import Unreadable
from zl_bench.ir.resources import Resources, resources
from zl_bench.ir.stages import MACHINE_CODE_STAGES, StageKind, order_stages, stage_kind
from zl_bench.model import SIDES, Kernel, Launch, NodeVerdict, Numerics, PairedRow, Row, RowKey, Run, Side
from zl_bench.reports.report_view import (
    KernelView,
    LaunchView,
    NumericsView,
    RowView,
    StageView,
)
from zl_bench.store.screened import LoadedOperator
from zl_bench.workflow.judge import read_stage
from zl_bench.workflow.report_rounds import MeasuredRoot
from zl_bench.workflow.report_timing import screen_timing

DIFFER = "differs, by how much was not recorded"

Matched = tuple[Launch, Kernel | None, Kernel | None]


def row_key_text(key: RowKey) -> str:
    """The key that joins the files of a report: the same for the same row in every root. A letter first, so no reader of
    tables takes it for a number."""
    parts = [key.node, key.operator, key.dtype, key.ordinal, key.detail]
    return f"r{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


def operator_key_text(entry: str) -> str:
    """Likewise for the one line of an operator without any row; no row's key begins so."""
    return f"o{hashlib.sha256(entry.encode()).hexdigest()[:16]}"


def parameters_of(node: str) -> str:
    """What a node has in brackets: the parameters of its test."""
    name = node.rpartition("::")[2]
    return name.partition("[")[2].removesuffix("]") if name.endswith("]") else ""


class KernelTable:
    """The kernels that a report refers to, each once, and what their machine code says."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._ids: dict[tuple[Side, Kernel], int] = {}
        self._resources: dict[tuple[str, str], Resources] = {}
        self.views: list[KernelView] = []

    def add(self, side: Side, kernel: Kernel, converts: int) -> int:
        """The id of a kernel on a side."""
        known = self._ids.get((side, kernel))
        if known is not None:
            return known
        number = self._ids[side, kernel] = len(self.views)
        found = self._resources_of(kernel)
        identity = kernel.identity
        self.views.append(
            KernelView(
                id=number,
                side=side,
                name=identity.name,
                signature=identity.signature,
                constants=identity.constants,
                attributes=identity.attributes,
                num_warps=identity.num_warps,
                num_stages=identity.num_stages,
                num_ctas=identity.num_ctas,
                configuration=kernel.configuration,
                shared_bytes=kernel.shared_bytes,
                registers=kernel.registers if kernel.registers is not None else found.registers,
                spills=kernel.spills if kernel.registers is not None else found.spills,
                converts=converts,
                stages=tuple(self._stages(kernel)),
                executable_sha256=found.executable_sha256,
            )
        )
        return number

    def _stages(self, kernel: Kernel) -> Iterator[StageView]:
        by_name = {stage.name: stage for stage in kernel.stages}
        for name in order_stages(by_name):
            stage = by_name[name]
            path = os.path.relpath(stage.path.absolute(), self._root)
            is_text = stage_kind(name) not in (StageKind.ELF, StageKind.OPAQUE)
            yield StageView(name, path, stage.sha256, is_text)

    def _resources_of(self, kernel: Kernel) -> Resources:
        telling = [
            stage
            for stage in kernel.stages
            if stage.name in MACHINE_CODE_STAGES or stage_kind(stage.name) is StageKind.AMDGCN
        ]
        known = (kernel.identity.name, " ".join(stage.sha256 or str(stage.path) for stage in telling))
        if known not in self._resources:
            contents = {stage.name: read_stage(stage) for stage in telling}
            readable = {name: content for name, content in contents.items() if not isinstance(content, Unreadable)}
            self._resources[known] = resources(kernel.identity.name, readable)
        return self._resources[known]


@dataclass(frozen=True)
class RecordedRows:
    """The rows of one node's two runs, by key; none of a run that is gone."""

    before: Mapping[RowKey, Row]
    after: Mapping[RowKey, Row]

    def of(self, side: Side, key: RowKey) -> Row | None:
        """The row on a side, None where that side's run has none of the key."""
        return (self.before if side == "before" else self.after).get(key)


NOTHING_LEFT = RecordedRows({}, {})


def row_views(
    nodes: Sequence[NodeVerdict],
    loaded: LoadedOperator | None,
    kernels: KernelTable,
    measured: MeasuredRoot | None,
) -> Iterator[RowView]:
    """The paired rows, under the numbers by which `show` names them, which lists nodes as their runs lie in the root."""
    pairs = loaded.nodes if loaded is not None else ()
    recorded = {before.node: RecordedRows(_by_key(before), _by_key(after)) for before, after in pairs}
    places = {node: place for place, node in enumerate(recorded)}
    number = 0
    for node in sorted(nodes, key=lambda node: places.get(node.node, len(places))):
        for paired in node.paired:
            number += 1
            yield _row_view(paired, number, recorded.get(node.node, NOTHING_LEFT), kernels, measured)


def measured_row(key: RowKey, measured: MeasuredRoot) -> RowView:
    """A row that was measured and that the screen's record does not have."""
    differ = NumericsView(False, DIFFER) if key in measured.outputs_differ else None
    return replace(nothing_but(key), numerics=differ, timing=measured.rows[key])


def _by_key(run: Run) -> dict[RowKey, Row]:
    return {row.key: row for row in distinct_rows(run.rows)}


def nothing_but(key: RowKey) -> RowView:
    """A row of which no more is known than its key."""
    return RowView(
        key=row_key_text(key),
        number=None,
        operator=key.operator,
        dtype=key.dtype,
        detail=key.detail,
        node=key.node,
        parameters=parameters_of(key.node),
        ordinal=key.ordinal,
        changed=None,
        first_stage="-",
        machine_code="-",
        sequence="",
        guesses=0,
        numerics=None,
        launches=(),
        timing=None,
    )


def _row_view(
    paired: PairedRow, number: int, recorded: RecordedRows, kernels: KernelTable, measured: MeasuredRoot | None
) -> RowView:
    rows = {side: recorded.of(side, paired.key) for side in SIDES}
    timing = measured.rows.get(paired.key) if measured is not None else None
    numerics = _numerics(paired.numerics)
    if numerics is None and measured is not None and paired.key in measured.outputs_differ:
        numerics = NumericsView(False, DIFFER)
    return replace(
        nothing_but(paired.key),
        number=number,
        changed=paired.changed,
        first_stage=paired.first_stage,
        machine_code=paired.machine_code,
        sequence=paired.sequence,
        guesses=paired.guesses,
        numerics=numerics,
        launches=tuple(_launches(_matched(paired, rows), kernels)),
        timing=timing if timing is not None else screen_timing(rows["before"], rows["after"]),
    )


def _numerics(numerics: Numerics | None) -> NumericsView | None:
    if numerics is None or numerics.unordered:
        return None
    size = numerics.note or describe_size(numerics.largest_absolute, numerics.largest_relative)
    return NumericsView(numerics.same, "same" if numerics.same else f"differs ({size})")


def _matched(paired: PairedRow, rows: Mapping[Side, Row | None]) -> list[Matched]:
    """The recorded launches with the kernels that the runs left; without them where the runs are not those any more."""
    before, after = rows["before"], rows["after"]
    if before is not None and after is not None:
        matches = match_launches(before.launches, after.launches)
        if len(matches) == len(paired.launches):
            joined = [(launch, *match) for launch, match in zip(paired.launches, matches, strict=True)]
            if all(_is_of(launch, old if old is not None else new) for launch, old, new in joined):
                return joined
    return [(launch, None, None) for launch in paired.launches]


def _is_of(launch: Launch, kernel: Kernel | None) -> bool:
    return kernel is not None and kernel.identity == launch.identity


def _launches(matched: Sequence[Matched], kernels: KernelTable) -> Iterator[LaunchView]:
    once: dict[Matched, int] = {}
    for match in matched:
        once[match] = once.get(match, 0) + 1
    for (launch, before, after), times in once.items():
        names = order_stages(stage.name for kernel in (before, after) if kernel is not None for stage in kernel.stages)
        yield LaunchView(
            name=launch.identity.name,
            before=None if before is None else kernels.add("before", before, launch.converts_before),
            after=None if after is None else kernels.add("after", after, launch.converts_after),
            times=times,
            changed_stages=launch.changed_stages,
            same_stages=tuple(name for name in names if name not in launch.changed_stages)
            if not launch.unmatched
            else (),
            attributes_only=launch.attributes_only,
            machine_code=launch.machine_code,
            converts_before=launch.converts_before,
            converts_after=launch.converts_after,
            only_on=launch.unmatched or "",
            specialised_otherwise=launch.specialised_otherwise,
            unstable=launch.unstable,
        )
