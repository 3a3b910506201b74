"""A report as Markdown, to be pasted into a pull request. It computes nothing; what is long is folded away in `<details>`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from zl_bench.analysis.wording import one_line
from zl_bench.reports.report_view import (
    MeasurePart,
    OperatorView,
    ProblemView,
    ReportView,
    Reproduction,
    RowView,
    ScreenPart,
    TimingView,
)
from zl_bench.reports.report_words import ratio_text
from zl_bench.reports.summary import escaped
from zl_bench.reports.summary_view import clean, readable

COMMENT_LIMIT = 65_536
"""Characters that GitHub takes in the body or a comment of a pull request."""
CALLS = re.compile(r"\\#(?=\d)|@(?=\w)")
"""What GitHub would take for an issue of its own, or for somebody's name, in whatever a message quotes."""
COMMAND = re.compile(r"`(zl-bench[\w .:=/…-]*)`")
"""A command that a sentence of this tool names. No character that it may hold means anything to Markdown in a span of code."""
FEW = 20
"""Lines of a table that is shown; a longer one is folded."""

NAMED = ("BROKEN", "IR_CHANGED")
"""Operators that have a table; of the others the verdict's count and names say all."""
TIMED_HEADINGS = (
    "operator", "dtype", "size detail", "parameters", "before ms", "after ms", "before / after (95 %)", "rounds", "verdict",
)  # fmt: skip
CHANGED_HEADINGS = ("operator", "changed rows", "first stage", "machine code", "converts", "why")


def render(view: ReportView) -> str:
    """The whole report."""
    parts = [
        f"## {_text(view.title)}",
        f"**{_text(view.question.sentence)}**",
        _text(view.answer),
        *(f"> {_said(note)}" for note in view.notes),
        *(_screen(view.screen, view.operators) if view.screen is not None else ()),
        *(_measure(view.measure, view.operators) if view.measure is not None else _one_round(view.operators)),
        *_uncovered(view),
        *_reproduction(view.reproduction, view),
    ]
    return "\n\n".join(parts) + "\n"


def _screen(screen: ScreenPart, operators: Sequence[OperatorView]) -> Iterator[str]:
    yield "### Verdicts on the code"
    if screen.counts:
        yield _table(
            ("verdict", "operators", "what it says"),
            [(one.verdict, str(one.count), one.sentence) for one in screen.counts],
            said=(2,),
        )
    yield _items(map(_said, (f"{screen.totals}.", screen.basis, screen.axis, screen.finding, *screen.shapes)))
    for count in screen.counts:
        found = [one for one in operators if one.verdict == count.verdict]
        if count.verdict in NAMED:
            yield f"#### {_text(count.verdict)}"
            yield _folded(f"{len(found)} operators", _table(CHANGED_HEADINGS, map(_operator_cells, found)), len(found))
            broken = [_problem(one, problem) for one in found for problem in one.problems if problem.kind == "broken"]
            if broken:
                yield _details(f"Broken rows: {len(broken)}", _list(broken))
        else:
            yield _details(f"{count.count} {count.verdict}", _list(_by_advice(found)))


def _by_advice(operators: Sequence[OperatorView]) -> Iterator[str]:
    """The operators of one verdict, those with the same advice together."""
    for advice in dict.fromkeys(one.advice for one in operators):
        yield f"{advice}: {', '.join(one.entry for one in operators if one.advice == advice)}"


def _operator_cells(one: OperatorView) -> tuple[str, ...]:
    before, after = one.converts_before, one.converts_after
    status = "" if one.status == "complete" else f" [{one.status}]"
    outputs = f"; outputs: {one.numerics}" if one.numerics.startswith("differs") else ""
    return (
        f"{one.entry}{status}",
        f"{one.changed_rows} of {one.row_count}" if one.row_count else "-",
        one.first_stage,
        {"same": "same", "differs": "differs"}.get(one.machine_code, "not compared"),
        "-" if not one.kernel_count else str(before) if before == after else f"{before} → {after}",
        f"{one.first_failure}{outputs}" if one.first_failure else one_line(f"{one.reason}{outputs}"),
    )


def _problem(one: OperatorView, problem: ProblemView) -> str:
    return f"{one.entry}: {problem.text}"


def _measure(measure: MeasurePart, operators: Sequence[OperatorView]) -> Iterator[str]:
    yield "### Verdicts on speed"
    if not measure.trusted:
        yield f"> **UNTRUSTED.** {_text('; '.join(measure.untrusted))}: no row of this measure can be believed."
    yield _table(
        ("verdict", "rows", "what it says"),
        [(one.verdict, str(one.count), one.sentence) for one in measure.counts],
        said=(2,),
    )
    yield _items(map(_said, (f"{measure.totals}.", measure.basis, measure.placebo_line, measure.words, *measure.notes)))
    rows = [(one, row, row.timing) for one in operators for row in one.rows if row.timing is not None]
    changed = [found for found in rows if found[2].kind == "changed"]
    others = [found for found in rows if found[2].kind != "changed"]
    if changed:
        yield "#### Changed rows"
        yield _folded(f"{len(changed)} changed rows", _timed_table(changed), len(changed))
    speeds = [one.speed.sentence for one in operators if one.speed is not None and one.speed.rows]
    if len(speeds) > 1:
        yield _folded("Operators", _list(speeds), len(speeds))
    if others:
        yield _details(f"{len(others)} rows of identical code (placebos) and others", _timed_table(others))


def _one_round(operators: Sequence[OperatorView]) -> Iterator[str]:
    """Latencies that a screen took by the way."""
    rows = [(one, row, row.timing) for one in operators for row in one.rows if row.timing is not None and row.changed]
    if rows:
        yield "### Latencies of one round"
        yield "One pair of processes: no interval, and no verdict of faster or slower. `zl-bench measure` takes rounds."
        yield _folded(f"{len(rows)} changed rows", _timed_table(rows), len(rows))


def _timed_table(rows: Iterable[tuple[OperatorView, RowView, TimingView]]) -> str:
    return _table(TIMED_HEADINGS, (_timed_cells(row, timing) for _, row, timing in rows), numbers=(4, 5))


def _timed_cells(row: RowView, timing: TimingView) -> tuple[str, ...]:
    rounds = str(timing.paired) if timing.paired == timing.of else f"{timing.paired} of {timing.of}"
    numerics = ", outputs differ" if row.numerics is not None and not row.numerics.same else ""
    bound = ", launch-bound" if timing.launch_bound and timing.verdict != "LAUNCH_BOUND" else ""
    otherwise = f", {timing.method}" if timing.method in ("direct", "queued") or "," in timing.method else ""
    told = (timing.verdict or "one round") if not timing.note else f"no ratio: {timing.note}"
    parameters = row.parameters + (f" #{row.ordinal}" if row.ordinal else "")
    return (
        row.operator, row.dtype, row.detail, parameters, readable(timing.before_ms), readable(timing.after_ms),
        ratio_text(timing), rounds, f"{told}{numerics}{bound}{otherwise}",
    )  # fmt: skip


def _uncovered(view: ReportView) -> Iterator[str]:
    yield "### Not covered"
    if view.not_covered:
        told = [f"{_text(gap.subject)}: {_said(gap.why)}" for gap in view.not_covered]
        yield _items(told[:FEW])
        if rest := told[FEW:]:
            yield _details(f"{len(rest)} more", _items(rest))
    else:
        yield "Nothing that was asked for is missing."


def _reproduction(found: Reproduction, view: ReportView) -> Iterator[str]:
    yield "### To repeat it"
    if found.commands:
        how = (
            "As typed." if found.exact else "Put together from what was recorded, since the command line was not kept."
        )
        yield f"{how}\n\n{_code(found.commands, 'sh')}"
    else:
        yield "The commands were not recorded."
    if found.environment:
        yield _table(("variable", "before", "after"), found.environment)
    yield _list(f"{what}: {value}" for what, value in found.facts)
    differences = view.provenance.environment_differences
    if differences:
        yield "The environments that were recorded for the two sides differ in:"
        yield _table(("variable", "before", "after"), differences)


def _table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = (), said: Sequence[int] = ()
) -> str:
    """`numbers` and `said` are the columns of numbers and of this tool's own sentences."""
    rules = ["---:" if place in numbers else "---" for place in range(len(headings))]
    lines = [_line(headings), f"| {' | '.join(rules)} |", *(_line(row, said) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str], said: Sequence[int] = ()) -> str:
    return f"| {' | '.join(_said(cell) if place in said else _text(cell) for place, cell in enumerate(cells))} |"


def _list(texts: Iterable[str]) -> str:
    return _items(_text(text) for text in texts)


def _items(lines: Iterable[str]) -> str:
    """A list of what is Markdown already; nothing of what is empty."""
    return "\n".join(f"- {line}" for line in lines if line)


def _code(lines: Iterable[str], language: str) -> str:
    """A block of code, fenced by more backticks than it holds."""
    content = "\n".join(clean(line) for line in lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", content)), default=0))
    return f"{fence}{language}\n{content}\n{fence}"


def _folded(summary: str, content: str, count: int) -> str:
    return content if count <= FEW else _details(summary, content)


def _details(summary: str, content: str) -> str:
    return f"<details><summary>{html.escape(clean(summary))}</summary>\n\n{content}\n\n</details>"


def _said(sentence: str) -> str:
    """A sentence of this tool: the commands that it names are spans of code, and all else is text."""
    parts = COMMAND.split(clean(sentence))
    return "".join(f"`{part}`" if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _text(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _escaped(clean(text))


def _escaped(line: str) -> str:
    return CALLS.sub(r"\g<0><!-- -->", escaped(line.replace("&", "&amp;")))
