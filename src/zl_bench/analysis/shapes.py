"""Shapes asked for against shapes emitted: which the benchmarks took, which they did not, and keys that nothing used.

FlagGems looks its shapes up by operator name, then by the names of the benchmark's classes, then takes defaults; a test may
set shapes of its own whatever the file says. So nothing is concluded from the file: what counts is what the benchmark object
had when it made its inputs, and what its rows show. A shape that was not taken changes no verdict; it is named.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import PurePath
from typing import Any, Literal

from zl_bench.analysis.wording import LONGEST_MESSAGE, counted, listed, one_line
from zl_bench.model import (
    AskedShapes,
    BenchmarkShapes,
    JudgedOperator,
    NodeVerdict,
    OperatorVerdict,
    Run,
    ShapeFinding,
    ShapeOutcome,
)

BASE_CLASS = "Benchmark"
"""The class above all benchmarks: its key is the last that FlagGems looks for."""
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
"""A whole number, not one within `torch.float16`, a name or a fraction."""
WORST_FIRST: tuple[ShapeOutcome, ...] = ("not honoured", "not seen", "not reached", "no key", "honoured")
ENDED_BADLY = ("failed", "timeout", "memory", "crashed")
"""The kinds of an absence in which the benchmark that ran last is the one that did not get on."""
LISTED_KEYS = 8
SUMMARY: Mapping[str, str] = {
    "not honoured": "not honoured by {}",
    "not seen": "not seen in rows of {}",
    "no key": "no key in the file for {}",
    "not reached": "not reached by {}",
}
GIVEN_AND_FAILED = "given as asked to {}, but a benchmark failed (the reason says how)"
SOME_WITHOUT_KEY = "no key in the file for some benchmarks of {}"
SUMMARY_ORDER = (*SUMMARY.values(), GIVEN_AND_FAILED, SOME_WITHOUT_KEY)


def shape_text(value: Any) -> str:
    """A shape as text, `(1024, 1024)`, whether it was a list or a tuple, with whatever else it holds."""
    return f"({', '.join(map(shape_text, value))})" if isinstance(value, list | tuple) else str(value)


def key_of(operator: str, classes: Iterable[str], keys: Collection[str]) -> str | None:
    """The key that FlagGems finds for a benchmark, None if there is none and defaults are taken."""
    return next((name for name in (operator, *classes) if name in keys), None)


@dataclass(frozen=True)
class Emitted:
    """What one node's run showed: its benchmark objects, and by operator the size details of its rows, failed ones too."""

    benchmarks: tuple[BenchmarkShapes, ...]
    details: Mapping[str, tuple[str, ...]]
    measured: frozenset[str]
    """The operators of which a row was measured; without one nothing has run, whatever the benchmark was given."""
    complete: bool = True
    """False when a row or the test failed, so that further shapes may not have had their turn."""
    failed: frozenset[str] = frozenset()
    """The operators of which a row failed, or whose benchmark was the last one when its run failed."""


def emitted_by(*runs: Run) -> Emitted:
    """What the runs of one node emitted; the sides differ in nothing that makes shapes, so they are taken together."""
    details: dict[str, dict[str, None]] = {}
    for run in runs:
        for key in (*(row.key for row in run.rows), *(row.key for row in run.failed_rows)):
            details.setdefault(key.operator, {})[key.detail] = None
    return Emitted(
        tuple(dict.fromkeys(shapes for run in runs for shapes in run.shapes)),
        {operator: tuple(found) for operator, found in details.items()},
        measured=frozenset(row.key.operator for run in runs for row in run.rows),
        complete=not any(run.failed_rows or run.absence for run in runs),
        failed=frozenset(operator for run in runs for operator in _failed_in(run)),
    )


def _failed_in(run: Run) -> Iterator[str]:
    yield from (row.key.operator for row in run.failed_rows)
    if run.shapes and run.absence is not None and run.absence.kind in ENDED_BADLY:
        yield run.shapes[-1].operator


def compare(asked: AskedShapes, emitted: Emitted) -> tuple[ShapeFinding, ...]:
    """One finding for each benchmark of a node for which shapes were asked; equal ones once, order and repeats aside."""
    findings = [_taken(asked, benchmark, emitted) for benchmark in emitted.benchmarks]
    made = {benchmark.operator for benchmark in emitted.benchmarks}
    findings += [_without_benchmark(asked, operator, emitted) for operator in emitted.details if operator not in made]
    return tuple(dict.fromkeys(finding for finding in findings if finding is not None))


def _taken(asked: AskedShapes, benchmark: BenchmarkShapes, emitted: Emitted) -> ShapeFinding | None:
    operator, has = benchmark.operator, tuple(dict.fromkeys(benchmark.shapes))
    key = key_of(operator, benchmark.classes, asked.by_key)
    if key is None and asked.whole_file:
        if operator not in emitted.measured:
            return ShapeFinding(operator, "", "no key", (), (), _no_key_no_row([operator]))
        told = f"the shape file has no key for {operator}: it ran its own, {listed(has)}"
        return ShapeFinding(operator, "", "no key", (), has, told)
    if key is None or key not in asked.keys:
        return None
    wanted = tuple(dict.fromkeys(asked.by_key[key]))
    if set(wanted) != set(has):
        if operator not in emitted.measured and not any(emitted.details.get(operator, ())):
            has = ()
        elsewhere = benchmark.file and PurePath(benchmark.file).name != asked.file_name
        told = f"shapes not honoured: asked {listed(wanted)}, emitted {listed(has) or 'none'}" + (
            f" (FlagGems read {benchmark.file} instead)" if elsewhere else ""
        )
        return ShapeFinding(operator, key, "not honoured", wanted, has, told)
    return _seen(benchmark, key, wanted, emitted)


def _no_key_no_row(operators: Sequence[str]) -> str:
    return f"the shape file has no key for {listed(operators, shown=LISTED_KEYS)}, of which no row was measured"


def _failed_on(shapes: Sequence[str], operators: Sequence[str]) -> str:
    given = listed(operators, shown=LISTED_KEYS)
    return f"the shapes asked for, {listed(shapes)}, were given to {given}, which failed on them"


def _seen(benchmark: BenchmarkShapes, key: str, wanted: tuple[str, ...], emitted: Emitted) -> ShapeFinding:
    """Of a benchmark that had the shapes asked for: whether its rows show them, and nothing else."""
    operator, details = benchmark.operator, emitted.details.get(benchmark.operator, ())
    unseen = [shape for shape in wanted if not any(shows(detail, shape) for detail in details)]
    strange = [detail for detail in details if detail and not any(shows(detail, shape) for shape in wanted)]
    doubtful = unseen or not all(map(_telling, wanted))
    if operator not in emitted.measured or (doubtful and not emitted.complete):
        on_them = operator in emitted.failed and operator not in emitted.measured and not strange
        told = _failed_on(wanted, [operator]) if on_them else ""
        return ShapeFinding(operator, key, "not reached", wanted, benchmark.shapes, told)
    if unseen:
        told = f"shapes not seen: asked {listed(unseen)}, which no row shows; the rows have {listed(details)}"
        return ShapeFinding(operator, key, "not seen", wanted, details, told)
    if strange:
        told = f"shapes not seen in every row: asked {listed(wanted)}; there are also rows of {listed(strange)}"
        return ShapeFinding(operator, key, "not seen", wanted, details, told)
    return ShapeFinding(operator, key, "honoured", wanted, benchmark.shapes)


def _without_benchmark(asked: AskedShapes, operator: str, emitted: Emitted) -> ShapeFinding | None:
    """A test with rows that were made without a benchmark object of FlagGems'; one that failed may not have got to it."""
    key = key_of(operator, (BASE_CLASS,), asked.keys)
    if key is None or operator not in emitted.measured:
        return None
    wanted, details = asked.by_key[key], tuple(filter(None, emitted.details[operator]))
    has = f"; the rows have {listed(details)}" if details else ""
    told = f"shapes not honoured: asked {listed(wanted)}, but the test takes none from FlagGems' benchmark class{has}"
    return ShapeFinding(operator, key, "not honoured", wanted, details, told)


def shows(detail: str, shape: str) -> bool:
    """Whether a row's sizes may come from that shape: they have at least half of its numbers, or their product.

    Inputs are derived from shapes in many ways (`B, M, N, K` makes an M x K and a K x N tensor, a flattened one has one
    number), so this only finds rows that have nothing to do with it.
    """
    has = {int(number) for number in NUMBER.findall(detail)}
    numbers = [int(number) for number in NUMBER.findall(shape)]
    telling = _telling(shape)
    return 2 * len(telling & has) >= len(telling) or prod(numbers) in has


def _telling(shape: str) -> set[int]:
    """The numbers to tell a shape by; one without any, `(1, 1)`, is shown by whatever row there is."""
    return {number for number in map(int, NUMBER.findall(shape)) if number > 1}


def note_shapes(judged: JudgedOperator, nodes: Sequence[tuple[Run, Run]], asked: AskedShapes) -> JudgedOperator:
    """The judged operator with what became of its shapes: in its reasons and findings, never in its verdict."""
    found = [compare(asked, emitted_by(*pair)) for pair in nodes]
    noted = tuple(_noted_node(node, findings) for node, findings in zip(judged.nodes, found, strict=True))
    findings = tuple(dict.fromkeys(finding for node in found for finding in node))
    return JudgedOperator(_noted(judged.verdict, findings), noted)


def _noted_node(node: NodeVerdict, findings: tuple[ShapeFinding, ...]) -> NodeVerdict:
    return replace(node, summary=_noted(node.summary, findings), shapes=findings)


def _noted(verdict: OperatorVerdict, findings: Sequence[ShapeFinding]) -> OperatorVerdict:
    told = dict.fromkeys(one_line(_told_with(finding, findings), 2 * LONGEST_MESSAGE) for finding in findings)
    return replace(
        verdict,
        reason="; ".join(filter(None, (verdict.reason, *told))),
        shapes=worst_outcome(findings),
        shape_keys=tuple(dict.fromkeys(finding.key for finding in findings if finding.key)),
    )


def _told_with(finding: ShapeFinding, findings: Sequence[ShapeFinding]) -> str:
    """What a finding says: together with all that say the same of other operators where nothing ran, as one test has many."""
    if not finding.told:
        return ""
    alike = [
        other for other in findings if other.told and (other.outcome, other.asked) == (finding.outcome, finding.asked)
    ]
    if finding.outcome == "not reached":
        return _failed_on(finding.asked, [other.operator for other in alike])
    if finding.outcome == "no key" and not finding.emitted:
        return _no_key_no_row([other.operator for other in alike if not other.emitted])
    return finding.told


def worst_outcome(findings: Iterable[ShapeFinding]) -> ShapeOutcome | Literal[""]:
    """The worst that became of shapes, empty where none were asked for."""
    outcomes = {finding.outcome for finding in findings}
    return next((outcome for outcome in WORST_FIRST if outcome in outcomes), "")


def describe_finding(finding: ShapeFinding) -> str:
    """A finding as a sentence without a full stop."""
    if finding.told:
        return finding.told
    if finding.outcome == "not reached":
        return f"shapes not reached: asked {listed(finding.asked)}, and no row shows whether they were taken"
    return f"shapes honoured: {listed(finding.asked)}"


def shapes_summary(verdicts: Iterable[OperatorVerdict]) -> str:
    """In how many operators the shapes that were asked for ran, and in which they did not; verdicts are not touched."""
    entries = list(verdicts)
    honoured = sum(entry.shapes == "honoured" for entry in entries)
    parts = [f"shapes: as asked in {counted(honoured, 'operator')}"]
    for sentence in SUMMARY_ORDER:
        names = [entry.operator for entry in entries if _in_summary(entry) == sentence]
        if names:
            parts.append(sentence.format(listed(names, shown=LISTED_KEYS)))
    return "; ".join(parts)


def _in_summary(verdict: OperatorVerdict) -> str:
    """The sentence of the summary that an operator belongs to, empty where its shapes ran or none were asked for."""
    if verdict.shapes == "not reached" and verdict.failed_runs:
        return GIVEN_AND_FAILED
    if verdict.shapes == "no key" and verdict.shape_keys:
        return SOME_WITHOUT_KEY
    return SUMMARY.get(verdict.shapes, "")


@dataclass(frozen=True)
class KnownKeys:
    """What could be a key: printed names and marks of the screen's tests, and every name and class of the suite."""

    names: Collection[str]
    marks: Mapping[str, tuple[str, ...]]
    """Mark -> the names that its tests print."""
    suite: Collection[str]


def unused_keys(keys: Collection[str], used: Collection[str], known: KnownKeys) -> tuple[str, ...]:
    """One sentence for each asked key that matched nothing that ran; those of other operators in one for all."""
    unused = [key for key in keys if key not in used and key != BASE_CLASS]
    wrong = [key for key in unused if key not in known.names and (key in known.marks or key not in known.suite)]
    sentences = [_wrong_key(key, known) for key in wrong[:LISTED_KEYS]]
    if len(wrong) > LISTED_KEYS:
        sentences.append(f"no operator of this screen uses {len(wrong) - LISTED_KEYS} more keys of the shape file")
    here = [key for key in unused if key in known.names]
    if here:
        sentences.append(
            f"no benchmark ran that looks for the key {listed(here, shown=LISTED_KEYS)}, though a test of that name is here"
        )
    elsewhere = [key for key in unused if key not in wrong and key not in here]
    if elsewhere:
        sentences.append(f"keys for operators that are not in this screen: {listed(elsewhere, shown=LISTED_KEYS)}")
    if BASE_CLASS in keys and BASE_CLASS not in used:  # `--shape 64,64` wrote that key, and its user has never seen it
        sentences.append("no benchmark took the shapes that were asked for every operator")
    return tuple(sentences)


def _wrong_key(key: str, known: KnownKeys) -> str:
    sentence = f"no operator of this screen uses the key {key!r}"
    printed = known.marks.get(key)
    if printed:
        return f"{sentence}: it is a mark, and FlagGems looks for the printed name, {listed(printed)}"
    others = dict.fromkeys(name for name in (*known.names, *known.marks, *known.suite) if name != key)
    near = difflib.get_close_matches(key, others, n=1, cutoff=0.5)
    if not near:
        return sentence
    names = () if near[0] in known.names else known.marks.get(near[0], ())
    return f"{sentence}; nearest: {listed(names or near)}"
