"""What every command that visits a card with FlagGems' benchmarks is told on its command line."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Collection
from pathlib import Path

from card_operators import choose
from card_sittings import Visit


def add_visit_options(parser: argparse.ArgumentParser, *, packs: str) -> None:
    """Give a command the options that `visit_of` reads; `packs` says when it packs what there is."""
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="where the roots and results of this machine lie")
    parser.add_argument("--have", type=Path, nargs="*", default=[], help="what earlier visits have packed")
    parser.add_argument("--out", type=Path, help=f"pack what there is into this folder {packs}")
    parser.add_argument("--seconds", type=float, default=math.inf, help="be done by then")
    parser.add_argument("--operators", default="", metavar="A,B,…", help="only these of the list")
    parser.add_argument("--again", action="store_true", help="also those that there are results of")
    parser.add_argument("--dtypes", choices=["first", "own"], default="first")
    parser.add_argument("--python", default=sys.executable, help="of the measured processes")
    parser.add_argument("--timeout", type=float, default=200.0, help="seconds for each run")
    parser.add_argument("--commit", help="what is measured, where there is no checkout of the tool to ask")


def visit_of(given: argparse.Namespace, usual: Collection[str] = ()) -> Visit:
    """What the command line asks for; of the operators in `usual`, or all, if it names none.

    Raises SystemExit for an operator that is not in the list.
    """
    checkout = given.checkout.absolute()
    names = [name for name in given.operators.split(",") if name]
    operators, missing = choose(checkout, names or list(usual))
    if missing:
        print(f"this checkout has no benchmark of: {', '.join(missing)}", file=sys.stderr, flush=True)
    return Visit(
        checkout=checkout,
        work=given.work,
        have=tuple(given.have),
        operators=tuple(operators),
        ends=time.monotonic() + given.seconds,
        dtypes=given.dtypes,
        python=Path(given.python),
        timeout=given.timeout,
        again=given.again,
        commit=given.commit,
    )
