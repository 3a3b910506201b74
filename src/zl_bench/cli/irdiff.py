"""`zl-bench irdiff A B`: do two IR files hold the same code?"""

from __future__ import annotations

from pathlib import Path

import click

from zl_bench.errors import UsageError, ZlBenchError
from zl_bench.ir.diff import unified_diff
from zl_bench.ir.fingerprint import Fingerprint, attributes_only, fingerprint
from zl_bench.ir.stages import StageKind, stage_kind
from zl_bench.ir.unreadable import UnreadableStage

SAME, DIFFERENT, TROUBLE = 0, 1, 2


@click.command("irdiff")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--stage", help="What both files hold (ttgir, ptx, cubin …), instead of what their suffixes say.")
@click.pass_context
def irdiff(context: click.Context, a: Path, b: Path, stage: str | None) -> None:
    """Compare two IR files by the fingerprint that `screen` uses.

    Prints SAME or DIFFERENT, the number of convert_layout operations in each, and a unified diff of what matters: no
    locations, aliases inlined, values renamed; of a cubin or hsaco, the loaded sections. The exit status is diff's: 0
    same, 1 different, 2 when the two can not be compared (a file missing, empty or unreadable, or of another stage).
    """
    try:
        context.exit(_compare(a, b, stage))
    except ZlBenchError as error:
        click.echo(f"irdiff: {error}", err=True)
        context.exit(TROUBLE)


def _compare(a: Path, b: Path, stage: str | None) -> int:
    stage_a, stage_b = stage or _stage_of(a), stage or _stage_of(b)
    if stage_a != stage_b:
        raise UsageError(f"{a} is {stage_a} and {b} is {stage_b}: only files of one stage can be compared")
    content_a, content_b = _read(a), _read(b)
    before, after = _fingerprint(a, stage_a, content_a), _fingerprint(b, stage_a, content_b)
    same = before.digest == after.digest
    click.echo("SAME" if same else "DIFFERENT")
    if attributes_only(before, after):
        click.echo("attributes only: the two differ in the module's attributes and in nothing else")
    kind = stage_kind(stage_a)
    if kind is StageKind.MLIR:
        click.echo(f"convert_layout: {before.converts} in {a}, {after.converts} in {b}")
    elif kind is StageKind.OPAQUE:
        click.echo(f"{stage_a} is a stage unknown to zl-bench, compared byte for byte")
    for line in unified_diff(stage_a, content_a, content_b, str(a), str(b)):
        click.echo(line)
    return SAME if same else DIFFERENT


def _stage_of(path: Path) -> str:
    if not path.suffix[1:]:
        raise UsageError(f"{path} has no suffix that says its stage: name it with --stage")
    return path.suffix[1:]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can not be read: {error.strerror}") from None


def _fingerprint(path: Path, stage: str, content: bytes) -> Fingerprint:
    try:
        return fingerprint(stage, content)
    except UnreadableStage as error:
        raise UsageError(f"{path}: {error}") from None
