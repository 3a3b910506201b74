"""The report of flaggems_rounds.py: the bars, what they rest on, every exception, and what produced it."""

from __future__ import annotations

from collections import Counter, defaultdict

import reporting
from card_results import Results
from rounds_bars import HEAD, Judged, bars, change
from rounds_circumstances import exceptions, produced, row_text, starting
from rounds_results import AXES, PARTS, Measured
from rounds_spike import FROM_MS, SEEDS
from rounds_spread import SPLITS

from zl_bench.analysis.judgement import SpeedVerdict

REFERENCE = "13 to 44 minutes"
"""What six rounds of an operator are known to cost without this tool."""


def report(results: Results) -> str:
    """The report in Markdown."""
    judged = Judged.of(results)
    text = ["# FlagGems' benchmarks in rounds on a card: identical code, a pass left out twice, and cost", ""]
    text += [
        *reporting.paragraph(
            f"*aa* is a null control (`{AXES['aa']}`), *rlc* leaves a pass out (`{AXES['rlc']}`), *mirror* is the same screen "
            "measured again, with the sides' order reversed at every row. A round is a fresh pair of processes; verdicts are "
            "those of `zl-bench measure`. Speed-ups are before / after, above 1 is faster."
        ),
        "",
        *reporting.table(HEAD, bars(judged), words=4),
    ]
    for title, part in (
        ("Identical code", _identical(judged)),
        ("Planted changes", _planted(judged)),
        ("A pass left out, twice", _left_out(judged)),
        ("Cost", _costs(judged)),
        ("Dropped, bound by the host, not by graph", exceptions(results)),
        ("Starting", starting(results)),
        ("Produced by", produced(results)),
    ):
        text += ["", f"## {title}", "", *part]
    return "\n".join(text) + "\n"


def _identical(judged: Judged) -> list[str]:
    if not judged.aa:
        return ["Nothing was measured."]
    head = [
        "latency",
        "rows",
        "sd over rounds, median",
        "nine of ten",
        "most",
        "sd between rows",
        "by the rounds alone",
    ]
    bands = [
        [one.band, str(one.rows), *map(_percent, (one.median, one.nine_of_ten, one.most, one.between, one.expected))]
        for one in judged.spreads
    ]
    halves, alone = judged.halves, judged.alone
    return [
        *reporting.paragraph(
            "Of ln(before / after), in percent. *Sd between rows* is of the rows' means; *by the rounds alone* is what that "
            "would be if the spread over rounds were all there is."
        ),
        "",
        *reporting.table(head, bands),
        "",
        *reporting.paragraph(
            f"Half of the rows, by {SPLITS} seeds and each half in turn, was judged as if its code had changed, with the other "
            f"half as placebos: {halves.false_rows} of {halves.rows} judged rows were FASTER or SLOWER, and {halves.untrusted} "
            f"of {halves.suites} such suites UNTRUSTED. Each operator by itself, all rows as changed and no placebos: "
            f"{alone.false_rows} of {alone.rows} rows."
        ),
        "",
        *reporting.table(
            ["operator", "rows", "rounds", "before / after, all rows", "farthest row", "trusted"],
            [_identical_line(one) for one in judged.aa],
        ),
    ]


def _identical_line(one: Measured) -> list[str]:
    judgement, line = one.looked.judgement, one.looked.judgement.placebos
    speedups = [row.speedup for row in judgement.rows if row.speedup is not None]
    farthest = max(speedups, key=lambda value: abs(value - 1), default=None)
    return [
        one.name,
        str(len(one.rounds.keys)),
        str(len(one.rounds.numbers)),
        change(line.speedup, line.ci_low, line.ci_high),
        "-" if farthest is None else f"{farthest:.4f}",
        "yes" if judgement.trusted else "no: " + "; ".join(judgement.calibration.moved),
    ]


def _planted(judged: Judged) -> list[str]:
    if not judged.spiked:
        return ["Nothing was measured."]
    rows = [
        [
            _percent(one.effect),
            f"{one.planted} in {one.rows}",
            str(one.slower),
            f"{one.promised:.0f}",
            f"{100 * one.found_share:.1f}",
            f"{100 * one.promised_share:.1f}",
            f"{100 * one.tolerance:.1f}",
            str(one.faster),
            str(one.untrusted),
        ]
        for one in judged.spiked
    ]
    head = [
        "change, %",
        "planted in rows",
        "SLOWER",
        "promised",
        "SLOWER, %",
        "promised, %",
        "tolerance",
        "FASTER",
        "UNTRUSTED",
    ]
    return [
        *reporting.paragraph(
            f"The recorded rounds of identical code, the after times of half of the rows of {1000 * FROM_MS:.0f} us and up "
            f"multiplied, by {SEEDS} seeds; all other rows are placebos. *Promised* takes a row's rounds as normal with the "
            "standard deviation that the row itself showed, and asks for a mean beyond the threshold and the quantile of "
            "the look's level, at either look. The tolerance is 5 points and two standard deviations of a share of so many "
            "different rows. A change of just the threshold is found or not by the toss of a coin at each look, whatever the "
            "spread."
        ),
        "",
        *reporting.table(head, rows),
    ]


def _left_out(judged: Judged) -> list[str]:
    if not judged.rlc:
        return ["Nothing was measured."]
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for one in judged.confirmations:
        outcomes[one.name][one.outcome] += 1
    words = (SpeedVerdict.FASTER, SpeedVerdict.SLOWER, SpeedVerdict.NO_CHANGE, SpeedVerdict.INCONCLUSIVE,
             SpeedVerdict.LAUNCH_BOUND, SpeedVerdict.UNTRUSTED, SpeedVerdict.IDENTICAL)  # fmt: skip
    kinds = ("confirmed", "not decided", "contradicted", "not measured again")
    lines = []
    for measured_one in judged.rlc:
        found = Counter(row.verdict for row in measured_one.looked.judgement.rows)
        told = outcomes[measured_one.name]
        lines.append(
            [measured_one.name, *(_count(found[word]) for word in words), *(_count(told[kind]) for kind in kinds)]
        )
    rows = [
        [
            one.name,
            row_text(one.first.key),
            one.first.verdict.value,
            change(one.first.speedup, one.first.ci_low, one.first.ci_high),
            "-" if one.second is None else one.second.verdict.value,
            "-" if one.second is None else change(one.second.speedup, one.second.ci_low, one.second.ci_high),
            one.outcome,
        ]
        for one in judged.confirmations
    ]
    return [
        *reporting.table(["operator", *(word.value for word in words), *kinds], lines),
        "",
        *reporting.paragraph(
            "*Contradicted* is the opposite word, or another one whose interval has nothing in common with the first. Of a "
            "change near the threshold a second measurement may well decide nothing."
        ),
        "",
        *reporting.table(["operator", "row", "first", "before / after", "again", "before / after", ""], rows, words=3),
    ]


def _costs(judged: Judged) -> list[str]:
    rows = []
    for part, each in zip(PARTS, (judged.aa, judged.rlc, judged.mirror), strict=True):
        for one in each:
            places = sum(len(line["missing"]) + line["rows"] // 2 for line in one.told("pair"))
            per = f"{one.seconds / places:.2f}" if places else "-"
            wall = f"{one.line['wall']:.0f}" + (" (resumed)" if one.line["resumed"] else "")
            screen = one.line["screen"]
            rows.append(
                [
                    f"{one.name}, {part}",
                    str(len(one.rounds.keys)),
                    str(len(one.rounds.numbers)),
                    f"{one.seconds:.0f}",
                    per,
                    wall,
                    f"{screen['seconds']:.0f} ({screen['at_once']})",
                ]
            )
    return [
        *reporting.paragraph(
            "*Pairs* is what the tool says that its pairs took, dropped ones included; *wall* is the whole command, the start "
            "of both sides and the import of the suite included. The code was compiled by the screen, whose seconds are those "
            f"of an operator among so many at once, and are in neither. The reference for a measurement is {REFERENCE}."
        ),
        "",
        *reporting.table(
            ["", "rows", "rounds", "pairs, s", "s per row and round", "wall, s", "screen, s (at once)"], rows
        ),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


def _count(number: int) -> str:
    return str(number) if number else "-"
