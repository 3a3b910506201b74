"""FlagGems' benchmarks on a card against themselves: a pair and a null control, the same offline, the cost, and timing.

    python benchmarks/flaggems_card.py visit --checkout DIR --work DIR --seconds 440 --out DIR [--have FILE …]
    python benchmarks/flaggems_card.py report FILE … [--write NAME]

A visit goes on with what the files of --have lack, as far as the time goes: `screen` (pairs on the card, without
remove_layout_conversions and as a null control), `timing` (the null control, timed), `plain` (two plain pytest runs each)
and `offline` (the pairs without the card, with the pins of the card's); each is a command of its own too. Then it packs what
there is, that of --have included, into --out, which is what the next visit gets as --have and what `report` reads. `offline`
needs no card, only the results of `screen`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import card_report
import card_results
import card_sittings
import reporting
from card_commands import add_visit_options, visit_of
from card_results import SWITCHES
from card_sittings import UNFIT, Visit

STEPS = ("screen", "timing", "plain", "offline")


def run_step(step: str, visit: Visit, given: argparse.Namespace) -> int:
    """One of STEPS, as far as the time goes. Returns an exit status of UNFIT where it could not be done."""
    if step == "timing":
        return card_sittings.timing(visit, given.timing, given.l2)
    if step == "plain":
        return card_sittings.plain(visit, given.warmup, given.iter)
    code = 0
    for axis in given.axis:
        if step == "screen":
            code = card_sittings.screen(visit, axis)
        else:
            code = card_sittings.offline(visit, axis, given.target, given.stages, given.jobs)
        if code in UNFIT:
            break
    return code


def run_steps(visit: Visit, given: argparse.Namespace) -> int:
    """The steps that were asked for, and then the packing, whatever became of them."""
    code = 0
    try:
        card_sittings.harvest_what_was_left(visit)
        for step in STEPS if given.command == "visit" else (given.command,):
            code = run_step(step, visit, given)
            if code in UNFIT:
                break
    finally:
        if given.out is not None:
            for path in card_results.pack(given.work, given.have, given.out):
                print(f"{path}: {path.stat().st_size} bytes", flush=True)
    return code if code in UNFIT else 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("visit", *STEPS):
        step = commands.add_parser(name)
        add_visit_options(step, packs="at the end")
        step.add_argument("--axis", choices=list(SWITCHES), nargs="+", default=list(SWITCHES))
        step.add_argument("--timing", choices=["graph", "queued", "direct"], default="graph")
        step.add_argument("--l2", choices=["cold", "warm"], default="cold")
        step.add_argument("--warmup", type=int, default=1000, help="of the plain runs, in ms; the suite's own default")
        step.add_argument("--iter", type=int, default=100, help="of the plain runs, in ms; the suite's own default")
        step.add_argument("--target", default="cuda:90")
        step.add_argument("--stages", choices=["all", "ttgir"], default="all", help="how far to compile offline")
        step.add_argument("--jobs", type=int, help="operators at a time offline")
    packer = commands.add_parser("pack")
    packer.add_argument("--work", type=Path, required=True)
    packer.add_argument("--have", type=Path, nargs="*", default=[])
    packer.add_argument("--out", type=Path, required=True)
    reporter = commands.add_parser("report")
    reporter.add_argument("--write", metavar="NAME")
    reporter.add_argument("files", type=Path, nargs="+")
    return parser


def main() -> None:
    given = arguments().parse_args()
    if given.command == "pack":
        card_results.pack(given.work, given.have, given.out)
    elif given.command == "report":
        results = card_results.load(given.files)
        if not results.lines:
            raise SystemExit("there is no result in these files")
        reporting.keep(card_report.report(results), given.write)
    else:
        raise SystemExit(run_steps(visit_of(given), given))


if __name__ == "__main__":
    main()
