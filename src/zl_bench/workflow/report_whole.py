"""What a report says of a root as a whole: the question, its answer in one sentence, and the screen's own summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from zl_bench.analysis.axis import AxisState, may_skip
from zl_bench.analysis.shapes import shapes_summary
from zl_bench.analysis.wording import counted, listed
from zl_bench.model import OperatorVerdict, Side, Verdict
from zl_bench.reports import report_words
from zl_bench.reports.report_view import (
    NOT_RECORDED,
    OperatorView,
    Provenance,
    Question,
    ScreenPart,
    VerdictCount,
)
from zl_bench.reports.view import axis_sentence, counts_sentence, verdict_sentence
from zl_bench.store.request import ScreenRequest
from zl_bench.workflow.judge import DEFAULT_CRITERION
from zl_bench.workflow.liveness import Liveness
from zl_bench.workflow.report_rounds import MeasuredRoot


def question_of(
    request: ScreenRequest | None,
    found: Provenance,
    state: AxisState,
    measured: MeasuredRoot | None,
    operators: Sequence[OperatorView],
) -> Question:
    """What was asked, as far as the root tells."""
    switch = request.switch if request is not None else str((measured.header if measured else {}).get("switch") or "")
    interpreters: dict[Side, str] = {
        side.side: side.interpreter for side in found.sides if side.interpreter != NOT_RECORDED
    }
    before, after = report_words.side_values(switch, interpreters)
    target = (request.target or "") if request is not None else ""
    cards = tuple(dict.fromkeys(card.name for card in found.cards if card.name != NOT_RECORDED))
    asked = request.operators if request is not None else ()
    of_suite = f" of the suite {request.suite}" if request is not None else ""
    sentence = report_words.question(
        switch,
        before,
        after,
        target or ", ".join(cards),
        null_control=state is AxisState.NULL_CONTROL,
        timed=measured is not None,
        rows=f"{counted(len(asked) or len(operators), 'operator')}{of_suite}",
    )
    suite = request.suite if request is not None else NOT_RECORDED
    return Question(sentence, switch, report_words.kind_of(switch), before, after, suite, target, cards, asked)


def title_of(question: Question, found: Provenance) -> str:
    """A heading: the switch and where it was tried, or the root's name where no switch was recorded."""
    measured = f", measured on {', '.join(question.cards)}" if question.target and question.cards else ""
    place = question.target or ", ".join(question.cards)
    return f"{question.switch or found.root}{f' on {place}' if place else ''}{measured}"


def answer_of(
    verdicts: Sequence[OperatorVerdict],
    state: AxisState,
    criterion: str,
    measured: MeasuredRoot | None,
    operators: Sequence[OperatorView],
    *,
    complete: bool,
) -> str:
    """The answer in one sentence."""
    if measured is not None:
        speed = report_words.speed_answer(measured.judgement, len(measured.part.rounds))
    elif any(row.timing is not None for one in operators for row in one.rows):
        speed = "latencies are of one round, so nothing is said of speed"
    else:
        speed = ""
    counts: Mapping[Verdict, int] = Counter(verdict.verdict for verdict in verdicts)
    return report_words.answer(counts, state if verdicts else None, criterion, speed, complete=complete)


def screen_part(
    request: ScreenRequest | None, verdicts: Sequence[OperatorVerdict], state: AxisState, liveness: Liveness | None
) -> ScreenPart:
    """What the screen says in its closing table, and what stands behind it."""
    criterion = request.criterion if request is not None else DEFAULT_CRITERION
    counts = Counter(verdict.verdict for verdict in verdicts)
    skippable = any(may_skip(verdict, state) for verdict in verdicts)
    shapes = request is not None and bool(request.shapes)
    return ScreenPart(
        counts=tuple(
            VerdictCount(
                verdict.value, counts[verdict], verdict_sentence(verdict, state, criterion, skippable=skippable)
            )
            for verdict in Verdict
            if counts[verdict]
        ),
        totals=counts_sentence(verdicts),
        axis_state=state.value,
        axis=axis_sentence(request.switch if request is not None else "under test", state),
        finding=f"Where the compiler knows the switch: {liveness.finding if liveness is not None else NOT_RECORDED}.",
        criterion=criterion,
        basis=report_words.compile_basis(
            self_check=request is not None and request.self_check, target=(request.target or "") if request else ""
        ),
        shapes=(shapes_summary(verdicts),) if shapes else (),
    )


def notes_of_root(unfinished: Sequence[str], gone: Sequence[str], *, empty: bool) -> Iterator[str]:
    """What must be known of the root itself. `empty`: it was measured, and no round has both sides of a row."""
    if unfinished:
        yield f"The screen is not finished: {counted(len(unfinished), 'operator')} asked for and not there; --resume goes on."
    if gone:
        yield f"The runs of {listed(gone)} are gone: their kernels and latencies are not shown."
    if empty:
        yield "It was measured, and no round has both sides of any row: nothing is said of speed."
