"""FlagGems' benchmarks in rounds on a card: identical code, a pass left out and confirmed, and what a measurement costs.

    python benchmarks/flaggems_rounds.py visit --checkout DIR --work DIR --seconds 560 --out DIR [--have FILE …]
    python benchmarks/flaggems_rounds.py report FILE … [--write NAME]

A visit goes on with what the files of --have lack, as far as the time goes: `aa` (a null control, measured), `rlc` (without
remove_layout_conversions, measured) and `mirror` (what that changed, measured again with the sides' order reversed); each is a
command of its own too. It screens several operators at once, then measures one after the other, and packs what there is, that
of --have included, into --out after each: that file is what the next visit gets as --have and what `report` reads. On the same
machine it goes on with the roots in --work, so that nothing is screened twice.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import card_results
import reporting
import rounds_report
from card_commands import add_visit_options, visit_of
from rounds_costs import PER_ROW
from rounds_results import PARTS
from rounds_visit import ORDER, How, Rounds, cores_for_screens


def how_of(given: argparse.Namespace) -> How:
    """What it asks of every measurement. Raises SystemExit for a part that is none."""
    parts = tuple(given.parts.split(",")) if given.command == "visit" else (given.command,)
    if unknown := [part for part in parts if part not in PARTS]:
        raise SystemExit(f"no part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return How(
        parts=parts,
        rounds=given.rounds,
        seed=given.seed,
        at_once=given.at_once,
        per_row=given.per_row,
        options=tuple(given.option),
        out=given.out,
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("visit", *PARTS):
        step = commands.add_parser(name)
        add_visit_options(step, packs="after each operator")
        step.add_argument("--rounds", type=int, default=6)
        step.add_argument("--seed", type=int, default=1)
        step.add_argument("--at-once", type=int, default=cores_for_screens(), help="operators screened at a time")
        step.add_argument("--per-row", type=float, default=PER_ROW, help="seconds expected of a row until one is known")
        step.add_argument("--option", action="append", default=[], help="of zl-bench measure, --option=--no-ahead say")
        if name == "visit":
            step.add_argument("--parts", default=",".join(PARTS))
    reporter = commands.add_parser("report")
    reporter.add_argument("--write", metavar="NAME")
    reporter.add_argument("files", type=Path, nargs="+")
    return parser


def main() -> None:
    given = arguments().parse_args()
    if given.command != "report":
        raise SystemExit(Rounds(visit_of(given, ORDER), how_of(given)).go())
    results = card_results.load(given.files)
    if not results.lines:
        raise SystemExit("there is no result in these files")
    reporting.keep(rounds_report.report(results), given.write)


if __name__ == "__main__":
    main()
