"""Where everything of a screen lies below its root, and the names and the lock that keep screens and runs apart.

    runs/ab_<axis>_<timestamp>/
        screen.tsv  screen.jsonl  screen.json  screen.lock
        side_before.log  side_before.cache/             what the side's server printed, and its own caches (and after);
                                                        with cards side_before.card0.log and so on, a pair per card
        cards.jsonl                                     each time that a card was taken: which, and who else was using it
        axis.json                                       where the compiler was found to know the switch
        shapes.yaml                                     the shape file that FlagGems reads, where shapes were asked for
        <operator>[.<dtype>]_{before,after}/            the run itself, or, with several nodes:
            <node>/                                     one run per node
        measure.jsonl  measure.tsv                      the rounds that were measured, and what they say
        measure/round_<n>/<operator>[.<dtype>]_{…}/     the runs of a round, as above
        measure/code/<operator>[.<dtype>]_{…}/          the compiled code of each side, from the screen's runs
        on_card/                                        the root of the pairs repeated on a card, of a screen for a target
        bisect/<operator, row, kernel and goal>.jsonl   what a bisection tried, and what came of it
        bisect/<the same>.steps/<parts that are on>/    a root of its own for each of them that was run on a card
    runs/run_<timestamp>/                               runs of one side: run_<side>.json instead of the screen's files

A name on disk is the text with every character outside [A-Za-z0-9_-] as %XX per UTF-8 byte. Where that would not be
enough to tell two names apart (capitals on a file system that folds case, more than the length limit), `%h` and a hash
of the text follow, which no escaped text contains. So different texts never share a folder.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

import filelock

from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.model import Side

TABLE_FILE = "screen.tsv"
RECORD_FILE = "screen.jsonl"
REQUEST_FILE = "screen.json"
SHAPES_FILE = "shapes.yaml"
LOCK_FILE = "screen.lock"
CARDS_FILE = "cards.jsonl"
MEASURE_RECORD_FILE = "measure.jsonl"
MEASURE_TABLE_FILE = "measure.tsv"
MEASURE_FOLDER = "measure"
BISECT_FOLDER = "bisect"
ON_CARD_FOLDER = "on_card"
AXIS_FILE = "axis.json"

Folder = Literal["before", "after", "again"]
"""A side's folder; `again` holds the repetition of the before side that a self-check compiles."""

PART_LIMIT = 100
"""Characters of one escaped operator, dtype or node: a folder's name has two of them and stays below 255 bytes."""
HASH_DIGITS = 12
AXIS_LIMIT = 60
ROOT_TRIES = 1000


def safe_name(text: str, limit: int = PART_LIMIT) -> str:
    """A file name for any text: injective also where the file system folds case, at most `limit` characters."""
    raw = text.encode("utf-8", "surrogatepass")
    escaped = "".join(chr(byte) if re.match(rb"[A-Za-z0-9_-]", bytes([byte])) else f"%{byte:02X}" for byte in raw)
    if text and len(escaped) <= limit and not any("A" <= letter <= "Z" for letter in text):
        return escaped
    suffix = "%h" + hashlib.sha256(raw).hexdigest()[:HASH_DIGITS]
    return escaped[: limit - len(suffix)] + suffix


def operator_folder(root: Path, operator: str, dtype: str | None, folder: Folder) -> Path:
    """The folder of all runs of one operator entry on one side."""
    entry = safe_name(operator) + (f".{safe_name(dtype)}" if dtype is not None else "")
    return root / f"{entry}_{folder}"


def run_directory(
    root: Path, operator: str, dtype: str | None, folder: Folder, node: str | None = None, *, several: bool = False
) -> Path:
    """The directory of one run: the operator's folder, or one for the node below it when the operator has several."""
    parent = operator_folder(root, operator, dtype, folder)
    if not several:
        return parent
    if node is None:
        raise ValueError("one of several nodes needs its name")
    return parent / safe_name(node)


def round_folder(root: Path, number: int) -> Path:
    """The folder of all runs of one round of a measurement."""
    return root / MEASURE_FOLDER / f"round_{number}"


def code_folder(root: Path) -> Path:
    """The folder of the compiled code that a measurement's runs use, as the runs lie in a round's."""
    return root / MEASURE_FOLDER / "code"


def bisect_log_file(root: Path, words: Sequence[str]) -> Path:
    """The log of the bisection that those words tell from the others of the root."""
    return root / BISECT_FOLDER / f"{safe_name(' '.join(words))}.jsonl"


def bisect_steps_folder(log: Path) -> Path:
    """The folder of all that a bisection with that log has run on a card."""
    return log.with_suffix(".steps")


def bisect_step_folder(log: Path, parts: Sequence[str]) -> Path:
    """The root in which it has screened and measured those parts."""
    return bisect_steps_folder(log) / safe_name(" ".join(parts) or "no part")


def run_request_file(side: Side) -> str:
    """The request of the runs of one side; a root may hold both sides', each asked for by itself."""
    return f"run_{side}.json"


def axis_name(axis: str) -> str:
    """A readable, filesystem-safe word for a switch: `pass:pipeline@2` becomes `pass-pipeline-2`.

    Not injective, and need not be: roots are told apart by creating them exclusively.
    """
    readable = re.sub(r"[^A-Za-z0-9_]+", "-", axis).strip("-_")
    return readable[:AXIS_LIMIT].rstrip("-_") or "axis"


def new_default_root(runs: Path, axis: str | None, now: datetime) -> Path:
    """Create and return `runs/ab_<axis>_<timestamp>`, with `-2`, `-3` … behind it when another screen has that name.

    Without an axis it is `runs/run_<timestamp>`. Raises EnvironmentUnfit if it can not be created.
    """
    name = f"{f'ab_{axis_name(axis)}' if axis is not None else 'run'}_{now:%Y%m%d-%H%M%S}"
    for number in range(1, ROOT_TRIES + 1):
        root = runs / (name if number == 1 else f"{name}-{number}")
        try:
            root.mkdir(parents=True)
        except FileExistsError:
            if not runs.is_dir():
                break
        except OSError as error:
            raise EnvironmentUnfit(
                f"can not create {root}: {error.strerror or error}. Name another with --root."
            ) from error
        else:
            return root
    raise EnvironmentUnfit(f"can not create a folder {name} in {runs}. Name another with --root.")


@contextmanager
def hold_root(root: Path) -> Iterator[None]:
    """Keep `root`, which must exist, to this process until the block is left; a killed process lets go by itself.

    Raises UsageError while another live screen holds it, EnvironmentUnfit if the file system can not lock.
    """
    lock = filelock.FileLock(root / LOCK_FILE, timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        raise UsageError(
            f"another screen is running in {root}. Wait for it, stop it, or name another folder with --root."
        ) from error
    except (OSError, NotImplementedError) as error:
        raise EnvironmentUnfit(f"can not lock {root / LOCK_FILE}: {error}. Name another folder with --root.") from error
    try:
        yield
    finally:
        lock.release()
