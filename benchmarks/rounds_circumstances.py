"""What the report of flaggems_rounds.py says of exceptions, of starting, and of what produced the rounds."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import reporting
from card_judge import flat
from card_results import Line, Results
from rounds_results import PARTS, Measured, measured

from zl_bench.analysis.wording import counted
from zl_bench.model import RowKey
from zl_bench.store.measure_record import row_of

SHOWN = 3


def row_text(key: RowKey) -> str:
    return f"{key.operator} {key.dtype} {flat(key.detail)}"


def exceptions(results: Results) -> list[str]:
    text = []
    for part in PARTS:
        for line in results.done(part):
            if not Measured(line).told("pair"):
                screen = line["screen"]["verdict"]
                why = f"{screen.get('verdict', 'no verdict')} {flat(screen.get('reason', ''))}".strip()
                text.append(
                    f"- {line['name']}, {part}: not measured, exit {line['exit']}, screened {why}. {_last(line['said'])}"
                )
        for one in measured(results, part):
            text += [f"- {one.name}, {part}: {told}" for told in _exceptions_of(one)]
    every = [line for part in PARTS for one in measured(results, part) for line in one.told("round")]
    methods = Counter(f"{line['method']} {line['l2']}" for line in every)
    told = ", ".join(f"{count} {name}" for name, count in methods.most_common()) or "none"
    return [f"Measured sides of rows by method: {told}.", "", *(text or ["No exception."])]


def _exceptions_of(one: Measured) -> Iterator[str]:
    for why, count in Counter(flat(line["why"]) for line in one.told("dropped")).items():
        yield f"{counted(count, 'pair')} dropped: {why}"
    for line in one.told("stopped"):
        yield f"stopped: {flat(line['why'])}"
    missing = Counter((row["row"], row["why"]) for line in one.told("pair") for row in line["missing"])
    for (row, why), count in missing.items():
        yield f"{flat(row)} not timed in {count} rounds: {flat(why)}"
    bound = [row_text(key) for key, is_bound in zip(one.rounds.keys, one.rounds.launch_bound, strict=True) if is_bound]
    if bound:
        yield f"bound by the host: {_some(bound)}"
    others: dict[str, list[str]] = defaultdict(list)
    for line in one.told("round"):
        if line["method"] != "graph":
            whys = "; ".join(f"{fell['method']}: {fell['why']}" for fell in line["fell_back"])
            others[f"timed by {line['method']}: {flat(whys) or 'no reason recorded'}"].append(row_text(row_of(line)))
    for why, rows in others.items():
        yield f"{_some(list(dict.fromkeys(rows)))} {why}"


def starting(results: Results) -> list[str]:
    gaps: dict[str, list[float]] = defaultdict(list)
    why: dict[str, list[str]] = defaultdict(list)
    for part in PARTS:
        for line in results.done(part):
            gaps[part] += [gap for *_, gap in line["entered"]]
            if line["not_imported"]:
                why[line["not_imported"]].append(f"{line['name']} ({part})")
    rows = [
        [part, str(len(each)), f"{statistics.median(each):.2f}", f"{max(each):.2f}"]
        for part, each in gaps.items()
        if each
    ]
    return [
        *reporting.paragraph(
            "Seconds from when a process is let onto the card to the first latency that it tells, its own turns and the other "
            "side's included:"
        ),
        "",
        *reporting.table(["part", "processes", "median", "most"], rows),
        "",
        *(f"- not imported once for all processes: {flat(reason)}: {_some(names)}" for reason, names in why.items()),
        *(() if why else ("Every side imported the suite's library once for all of its processes.",)),
    ]


def produced(results: Results) -> list[str]:
    """By what is the same: card, versions, code and machine, with the dates and the clocks that were seen."""
    groups: dict[tuple[str, ...], list[tuple[str, Line]]] = defaultdict(list)
    for part in PARTS:
        for line in results.done(part):
            cards = ", ".join(f"{card['name']} {card['uuid']}" for card in line["cards"]) or "no card"
            versions = ", ".join(f"{name} {version}" for name, version in line["versions"].items())
            drivers = sorted(
                {one["card"].get("driver", "") for one in line["record"] if "card" in one and "side" in one}
            )
            driver = f"driver {', '.join(filter(None, drivers)) or 'unknown'}"
            code = f"commit {line['commit']}; {line['machine']}; suite's files {line['suite']}, dtypes {line['dtypes']}"
            options = " ".join(line["options"])
            groups[cards, driver, versions, code, f"options {options}" if options else "", part].append((part, line))
    text = []
    for about, lines in groups.items():
        *same, part = about
        dates = sorted(line["date"] for _, line in lines)
        names = ", ".join(line["name"] for _, line in lines)
        command = next((line["record"][0].get("command", "") for _, line in lines if line["record"]), "")
        seeds = sorted({one["seed"] for _, line in lines for one in line["record"][:1]})
        text.append(
            f"- {part}, {dates[0]} to {dates[-1]}: {'; '.join(filter(None, same))}; {_clocks([line for _, line in lines])}; "
            f"seed {', '.join(map(str, seeds)) or '-'}; {names}. {_command(command)}"
        )
    return text


def _clocks(lines: Sequence[Line]) -> str:
    clocks = [
        reading["clock_mhz"]
        for line in lines
        for one in Measured(line).told("round")
        for reading in (one["before"], one["after"])
        if reading is not None and reading.get("clock_mhz")
    ]
    if not clocks:
        return "clocks unknown"
    return f"clock {statistics.median(clocks):.0f} MHz in the median, {min(clocks)} to {max(clocks)}"


def _command(command: str) -> str:
    """The tool's command, without what lies where on the machine."""
    words = [word if not word.startswith("/") else "…" for word in command.split()]
    return f"`{' '.join(words)}`" if words else ""


def _last(said: str) -> str:
    return flat(said)[-300:]


def _some(names: Sequence[str]) -> str:
    return "; ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
