"""Runs one case in as many processes as its timing needs.

Timing can leave a process that nothing can be trusted in any more: a failed capture poisons it, a replay hangs. The probe
then says so, as the last event, and ends; the next process goes on with that call, timed another way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from zl_bench.model import Pin, ProcessOutcome, TimingMethod
from zl_bench.running.planner import Continuation, RunPlan, prepare, prepare_next
from zl_bench.running.servers import SideServers
from zl_bench.store.events import Event, number, of_kind, text, whole_events
from zl_bench.store.runs import read_run

MOST_PROCESSES = 25
"""Of one run. What needs more is not going to end well."""
ENOUGH_LOST = 2
"""Processes lost to graphs, after which the run's other calls are not timed by graph any more."""


async def run_case(plan: RunPlan, servers: SideServers, timeout: float) -> ProcessOutcome:
    """Prepare and run the case; say how its last process ended. `timeout` is each process's, in seconds.

    The seconds of the outcome are those of all its processes together.
    """
    input_file = prepare(plan, servers.plans[plan.side].environment)
    lost, seconds, count = 0, 0.0, 0
    while True:
        count += 1
        outcome = await servers.run(plan.side, input_file, timeout)
        seconds += outcome.seconds or 0.0
        if outcome.seconds is not None:
            outcome = replace(outcome, seconds=round(seconds, 3))
        events = whole_events(plan.directory) if plan.timing is not None else []
        continuation = next_step(events, lost)
        if continuation is None:
            return outcome
        lost = len(list(of_kind(events, "abandoned")))
        if count == MOST_PROCESSES:
            return replace(outcome, detail=given_up(events))
        input_file = prepare_next(plan, continuation, _own_pins(plan, outcome), count + 1)


def next_step(events: Sequence[Event], lost_before: int = 0) -> Continuation | None:
    """What the next process of a run must do, by what the earlier ones recorded; None if there is to be none.

    `lost_before` is how many processes had been given up when the last one started: one that ended without a word of its own
    is not followed by another.
    """
    lost = list(of_kind(events, "abandoned"))
    if not lost or events[-1] is not lost[-1] or len(lost) <= lost_before:
        return None
    avoid: dict[int, tuple[TimingMethod, ...]] = {}
    for event in lost:
        method, call = cast("TimingMethod", text(event, "method")), number(event, "call")
        if method not in avoid.get(call, ()):
            avoid[call] = (*avoid.get(call, ()), method)
    by_graph = sum(text(event, "method") == "graph" for event in lost)
    return Continuation(number(lost[-1], "call"), avoid, queue_rest=by_graph >= ENOUGH_LOST)


def given_up(events: Sequence[Event]) -> str:
    """Why a run has no further process, for people."""
    last = list(of_kind(events, "abandoned"))[-1]
    return (
        f"given up after {MOST_PROCESSES} processes that timing left unusable, the last one by {text(last, 'method')} "
        f"({text(last, 'why')}: {text(last, 'message')})"
    )


def distinct_pins(pins: Iterable[Pin]) -> tuple[Pin, ...]:
    """Each choice once, as it was first recorded: a run's later process replays what an earlier one has chosen."""
    found: dict[tuple[str, str, str], Pin] = {}
    for pin in pins:
        found.setdefault((pin.tuner, pin.key, pin.configuration), pin)
    return tuple(found.values())


def _own_pins(plan: RunPlan, outcome: ProcessOutcome) -> tuple[Pin, ...]:
    """The choices of the earlier processes, to be kept by the next; what is replayed is in the plan already."""
    if plan.pin_mode == "replay":
        return ()
    return distinct_pins(read_run(plan.directory, plan.node, plan.side, outcome).pins)
