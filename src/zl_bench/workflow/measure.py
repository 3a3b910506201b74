"""`measure`: rounds of what a screen found changed, on cards, and verdicts over them.

Steps: repeat the pairs on the card if the screen was for a target, choose the rows, check that compilers and card are those
that were screened, run round after round in an order of chance, and judge what is recorded.

A round of a case is a fresh pair of processes on one card: that pair is what n counts (`measure_pair`). All cases of a round
are shuffled by the seed, alike for both sides, since a case is a pair; rows inside a case follow the benchmark's own loop,
which is the suite's code and not ours to shuffle, so a row has the same neighbours in every round, and on both sides. While
one pair is measured, the next one starts up, as far as that needs nothing of the card (`measure_rounds`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from zl_bench.analysis.round_order import shuffled
from zl_bench.analysis.wording import counted, one_line
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.fleet.pool import HeldCard
from zl_bench.model import OperatorVerdict, Side
from zl_bench.reports.progress import ProgressReporter
from zl_bench.reports.rounds_view import RoundsView, rounds_view
from zl_bench.reports.summary import tsv
from zl_bench.running.servers import SideServers
from zl_bench.store.files import write_atomically
from zl_bench.store.layout import MEASURE_TABLE_FILE, ON_CARD_FOLDER, REQUEST_FILE
from zl_bench.store.measure_record import MeasureRecord, Recorded
from zl_bench.store.screen import ScreenRecord
from zl_bench.suites.base import Entry
from zl_bench.workflow.liveness import card_target
from zl_bench.workflow.measure_ahead import Task
from zl_bench.workflow.measure_pair import PairOfRuns
from zl_bench.workflow.measure_plan import (
    MeasurePlan,
    common_fields,
    header_of,
    on_card,
    require_card_of,
    require_same_builds,
    require_same_measurement,
)
from zl_bench.workflow.measure_result import MeasureResult, result_of
from zl_bench.workflow.measure_rounds import Rounds
from zl_bench.workflow.measure_work import Code, Work, as_the_card_says, choose, entries_of, find_work
from zl_bench.workflow.screen import pair_settings, screen, side_plans
from zl_bench.workflow.workers import CardWorkers


async def measure(plan: MeasurePlan, progress: ProgressReporter) -> MeasureResult:
    """Measure into the plan's root, which the caller holds. Raises the errors of the family."""
    deadline = None if plan.budget is None else time.monotonic() + plan.budget
    record = MeasureRecord(plan.root)
    recorded = record.prepare()
    if recorded is not None and not plan.resume:
        raise UsageError(
            f"{plan.root} has measured rounds already. Go on with --resume, or move measure.jsonl away to measure afresh."
        )
    require_card_of(plan.request, plan.screen.cards, plan.root)
    code = Code(plan.screen.backend.criterion_stage)
    source = await _screened_on_cards(plan, code, progress)
    verdicts = ScreenRecord(source).finished()
    work = await asyncio.to_thread(find_work, source, verdicts, plan.named, code)
    if source != plan.root:
        work = as_the_card_says(work, choose(ScreenRecord(plan.root).finished(), plan.named, plan.root), verdicts)
    for note in (*work.notes, *work.failures):
        progress.note(note)
    if not work.nodes:
        return MeasureResult(None, {}, (*work.notes, *work.failures), work.failures)
    async with _workers(plan, progress, imports=True) as workers:
        versions = await workers.servers.start()
        require_same_builds(plan, versions)
        _note_imports(versions, progress)
        plan = _with_recorded_seed(plan, recorded)
        recorded = _opened(plan, record, recorded, header_of(plan, versions, work.entries))
        rounds = Rounds(
            PairOfRuns(
                replace(pair_settings(plan.screen), root=plan.root),
                plan.timing,
                plan.alternate,
                plan.seed,
                plan.mirrored,
            ),
            code,
            record,
            common_fields(plan, versions),
            progress,
            rounds=plan.rounds,
            cards=len(plan.screen.cards),
            deadline=deadline,
            ahead=plan.ahead and plan.alternate == "turns",
            recorded=recorded,
        )
        tasks = _tasks(work, plan, recorded)
        progress.expect(len(tasks))
        await workers.share(tasks, rounds.on_card)
    return _concluded(plan, record, rounds, work)


def view_of(plan: MeasurePlan, result: MeasureResult) -> RoundsView | None:
    """What a measurement shows, None where nothing was measured."""
    if result.looked is None:
        return None
    return rounds_view(result.looked.judgement, str(plan.root), result.notes, result.circumstances)


async def _screened_on_cards(plan: MeasurePlan, code: Code, progress: ProgressReporter) -> Path:
    """The root whose runs were made on a card like those of the plan: the screened one, or one that is made of it now.

    Raises EnvironmentUnfit for a card that compiles for something else than the screen did.
    """
    if plan.request.target is None:
        return plan.root
    verdicts = ScreenRecord(plan.root).finished()
    entries = await asyncio.to_thread(_to_repeat, plan, verdicts, code)
    root = plan.root / ON_CARD_FOLDER
    root.mkdir(exist_ok=True)
    await _require_target(plan, progress)
    progress.note(
        f"{counted(len(entries), 'operator')} screened for {plan.request.target} are repeated on the card first"
    )
    progress.expect(len(entries))
    await screen(on_card(plan.screen, root, entries, resume=(root / REQUEST_FILE).exists()), progress)
    return root


def _to_repeat(plan: MeasurePlan, verdicts: Sequence[OperatorVerdict], code: Code) -> tuple[Entry, ...]:
    """What is to be measured, and what placebos would be borrowed from, as far as the screen without a card can tell."""
    work = find_work(plan.root, verdicts, plan.named, code)
    return tuple(dict.fromkeys((*entries_of(plan.root, verdicts, plan.named), *work.entries)))


def _workers(plan: MeasurePlan, progress: ProgressReporter, *, imports: bool = False) -> CardWorkers:
    """The plan's cards with both sides on them, noted in the measured root, wherever its pairs are screened again.

    With `imports` a side imports the suite's modules once, for all of its runs.
    """
    suite, device = plan.screen.suite, plan.screen.backend.torch_device

    def servers(held: HeldCard) -> SideServers:
        sides = side_plans(plan.screen, held)
        if imports:
            sides = {side: replace(one, modules=suite.modules, device=device) for side, one in sides.items()}
        return SideServers(sides)

    return CardWorkers(replace(plan.screen, root=plan.root), progress, servers)


def _note_imports(versions: Mapping[Side, Mapping[str, Any]], progress: ProgressReporter) -> None:
    why = next((str(found["not_imported"]) for found in versions.values() if found.get("not_imported")), "")
    if why:
        progress.note(f"each process imports the suite's library for itself, which takes longer: {one_line(why)}")


async def _require_target(plan: MeasurePlan, progress: ProgressReporter) -> None:
    async with _workers(plan, progress) as workers:
        found = await card_target(workers.servers, plan.root)
        require_same_builds(plan, await workers.servers.start())
    if found != plan.request.target:
        raise EnvironmentUnfit(
            f"{plan.root} was screened for {plan.request.target}, and the card here compiles for {found}. Nothing was "
            "measured. Measure on a card of that kind, or screen again for this one."
        )


def _with_recorded_seed(plan: MeasurePlan, recorded: Recorded | None) -> MeasurePlan:
    if recorded is None or plan.seed_given:
        return plan
    return replace(plan, seed=int(recorded.header["seed"]))


def _opened(plan: MeasurePlan, record: MeasureRecord, recorded: Recorded | None, header: Mapping[str, Any]) -> Recorded:
    """The record to go on with, or a new one."""
    if recorded is not None:
        require_same_measurement(plan, recorded.header, header)
        return recorded
    record.start({**header, "started": datetime.now().astimezone().isoformat(timespec="seconds")})
    return Recorded(header, (), (), (), {})


def _tasks(work: Work, plan: MeasurePlan, recorded: Recorded) -> list[Task]:
    """What is left to do, round after round, each in an order of its own."""
    texts = [f"{node.entry.text} {node.node}" for node in work.nodes]
    everything = [
        Task(node, number)
        for number in range(1, plan.rounds + 1)
        for node in shuffled(work.nodes, texts, plan.seed, number)
    ]
    done = recorded.finished
    return [task for task in everything if task.place not in done]


def _concluded(plan: MeasurePlan, record: MeasureRecord, rounds: Rounds, work: Work) -> MeasureResult:
    """Judge what is recorded and write the table."""
    recorded = record.read()
    if recorded is None:
        raise UsageError(f"{record.path} is gone; nothing can be judged. Measure again.")
    if recorded.pairs or recorded.dropped:
        record.add_costs(recorded)
    failed = [*work.failures, *(f"{entry} {case}: given up: {why}" for (entry, case), why in rounds.given_up.items())]
    notes = list(work.notes)
    if rounds.given_up:
        notes.append("--resume tries again what was given up")
    if rounds.out_of_time:
        notes.append("the budget was spent before all rounds were measured; go on with --resume")
    result = result_of(recorded, plan.rounds, plan.delta, failed, notes)
    view = view_of(plan, result)
    if view is not None:
        table = plan.root / MEASURE_TABLE_FILE
        write_atomically(table, tsv(view.table), kept=f"every finished round is kept in {record.path.name}")
    return result
