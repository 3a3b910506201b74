"""`run`: one side of each operator, timed on a card together with what the suite compares it with. No verdict, no pair."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from zl_bench.analysis.wording import counted
from zl_bench.errors import ExitCode, UsageError
from zl_bench.inside.zl_probe.wire import OUTCOME_FILE
from zl_bench.model import Run, Side
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.servers import SideServers
from zl_bench.running.switch import Switch
from zl_bench.store.files import write_atomically
from zl_bench.store.layout import REQUEST_FILE, SHAPES_FILE, run_directory, run_request_file
from zl_bench.store.runs import read_outcome, read_run
from zl_bench.suites.base import Entry
from zl_bench.workflow.liveness import examine, require_live
from zl_bench.workflow.pair import PairSettings, run_node
from zl_bench.workflow.plan import SuitePlan, left_out_variables, side_plan, suite_as_asked
from zl_bench.workflow.requests import request_of, settle_request
from zl_bench.workflow.workers import CardWorkers


@dataclass(frozen=True, kw_only=True)
class RunsPlan(SuitePlan):
    """What the command line asked for, checked. Without a switch the side is before, with nothing set."""

    side: Side
    switch: Switch | None = None


@dataclass(frozen=True)
class OperatorRuns:
    """The runs of one entry, a run per node."""

    entry: Entry
    runs: tuple[Run, ...]

    @property
    def failed(self) -> bool:
        """Whether a run failed, in whole or in part, or measured nothing; what the suite itself refuses or skips is no
        failure.
        """
        return any(
            run.failed_rows or (run.absence is not None and not run.absence.clean) or _measured_nothing(run)
            for run in self.runs
        )


async def run_operators(plan: RunsPlan, progress: ProgressReporter) -> tuple[OperatorRuns, ...]:
    """Run the plan's operators into its root, which the caller holds. Raises the errors of the family.

    Returns them all in the order asked, those included that an earlier command had finished.
    """
    done = _kept(plan)
    workers = CardWorkers(
        plan,
        progress,
        lambda held: SideServers({plan.side: side_plan(plan, plan.side, plan.switch, {}, held)}),
    )
    async with workers:
        switch = plan.switch.text if plan.switch is not None else ""
        asked = request_of(
            plan,
            await workers.servers.start(),
            switch=switch,
            side=plan.side,
            stages="all",
            configs="tune",
            env_before={},
            env_after={},
        )
        settle_request(plan, asked, run_request_file(plan.side))
        if plan.shapes is not None:
            write_atomically(plan.root / SHAPES_FILE, plan.shapes.content, kept="nothing was started")
        if plan.switch is not None and plan.switch.kind != "build":  # one of two builds is a build, alive as it is
            liveness = await examine(plan.switch, workers.servers, None, plan.root)
            require_live(plan.switch, liveness, progress, force=plan.force)
        _note_what_matters(plan, done, progress)

        async def run_entry(entry: Entry, servers: SideServers) -> None:
            progress.started(entry.text)
            runs = [
                await run_node(entry, node, plan.side, plan.side, _settings(plan), servers, None)
                for node in entry.nodes
            ]
            done[entry] = OperatorRuns(entry, tuple(runs))
            progress.ended(entry.text, described(done[entry]))

        await workers.work([entry for entry in plan.entries if entry not in done], run_entry)
    return tuple(done[entry] for entry in plan.entries)


def exit_code(operators: Sequence[OperatorRuns]) -> ExitCode:
    """The exit code of runs that came to their end."""
    return ExitCode.FAILED_RUN if any(operator.failed for operator in operators) else ExitCode.OK


def _measured_nothing(run: Run) -> bool:
    return bool(run.rows) and all(row.latency is None or row.latency.invalid for row in run.rows)


def described(operator: OperatorRuns) -> str:
    """One line about what an operator's runs have measured."""
    rows = [row for run in operator.runs for row in run.rows]
    failed = sum(len(run.failed_rows) for run in operator.runs)
    latencies = [row.latency for row in rows if row.latency is not None and not row.latency.invalid]
    parts = [counted(len(rows), "row"), *([f"{failed} failed"] if failed else ())]
    if len(latencies) < len(rows):
        parts.append(f"{len(rows) - len(latencies)} without a latency")
    if latencies:
        parts.append(f"median {statistics.median(latency.median_ms for latency in latencies):.4g} ms")
    direct = sum(latency.method != "graph" for latency in latencies)
    if direct:
        parts.append(f"{direct} not timed by graph")
    reasons = dict.fromkeys(run.absence.reason for run in operator.runs if run.absence is not None)
    if not latencies:
        reasons |= dict.fromkeys(row.latency.invalid for row in rows if row.latency is not None)
    return f"{operator.entry.text} {', '.join(parts)}{''.join(f': {reason}' for reason in reasons)}"


def _kept(plan: RunsPlan) -> dict[Entry, OperatorRuns]:
    """The entries that are finished and stay so: none in a fresh root; when resuming, all but those that failed."""
    if (plan.root / REQUEST_FILE).exists():
        raise UsageError(
            f"{plan.root} is the root of a screen, whose runs these would replace. Name another with --root."
        )
    if plan.resume:
        found = {entry: runs for entry in plan.entries if (runs := _finished(plan, entry)) is not None}
        return {entry: runs for entry, runs in found.items() if not runs.failed}
    if (plan.root / run_request_file(plan.side)).exists():
        raise UsageError(
            f"{plan.root} already has runs of the {plan.side} side. Go on with --resume, which skips what is finished, or "
            "name another folder with --root."
        )
    return {}


def _finished(plan: RunsPlan, entry: Entry) -> OperatorRuns | None:
    """The entry's runs if each of its nodes has one that came to an end of some kind."""
    runs = []
    for node in entry.nodes:
        several = len(entry.nodes) > 1
        directory = run_directory(plan.root, entry.operator, entry.dtype, plan.side, node, several=several).absolute()
        if not (directory / OUTCOME_FILE).is_file():
            return None
        runs.append(read_run(directory, node, plan.side, read_outcome(directory)))
    return OperatorRuns(entry, tuple(runs))


def _note_what_matters(plan: RunsPlan, done: dict[Entry, OperatorRuns], progress: ProgressReporter) -> None:
    settled = set(plan.switch.variables(plan.side)) if plan.switch is not None else set()
    if left_out := left_out_variables(plan, settled):
        progress.note(f"not inherited: {', '.join(left_out)}; --env NAME=VALUE sets one")
    if done:
        progress.note(f"--resume: {counted(len(done), 'finished operator')} skipped")


def _settings(plan: RunsPlan) -> PairSettings:
    return PairSettings(
        root=plan.root,
        suite=suite_as_asked(plan),
        shapes=plan.shapes.asked if plan.shapes is not None else None,
        switch=plan.switch,
        target=None,
        stages="all",
        configs="tune",
        criterion=plan.backend.criterion_stage,
        first_dtype=plan.first_dtype,
        timeout=plan.timeout,
        self_check=False,
        backend=plan.backend,
        timing=plan.timing,
    )
