"""Judge the two sides of an operator from their run directories: read, fingerprint, compare.

The screen calls it as soon as an operator's runs have ended, and `show` calls it again on runs of any age.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from zl_bench.analysis.numerics import compare_runs
from zl_bench.analysis.prints import Fingerprints, StageFingerprint, StageRules, Unreadable
from zl_bench.analysis.shapes import note_shapes
from zl_bench.analysis.verdict import judge
from zl_bench.errors import ZlBenchError
from zl_bench.ir.fingerprint import fingerprint
from zl_bench.ir.stages import MACHINE_CODE_STAGES, order_stages
from zl_bench.model import AskedShapes, JudgedOperator, OutputSample, Run, StageText

DEFAULT_CRITERION = "ttgir"


def judge_operator(
    operator: str,
    dtype: str | None,
    nodes: Sequence[tuple[Run, Run]],
    *,
    criterion: str = DEFAULT_CRITERION,
    seconds: float = 0.0,
    again: Mapping[str, Run] | None = None,
    fingerprints: StageFingerprints | None = None,
    shapes: AskedShapes | None = None,
) -> JudgedOperator:
    """The verdict on one operator and what it rests on.

    Args:
        operator: the operator's name.
        dtype: the dtype that was asked for, None when none was.
        nodes: the (before, after) runs of each of its nodes.
        criterion: the backend's criterion stage.
        seconds: wall-clock seconds of the operator's runs.
        again: by node, the before side's repetition of a self-check.
        fingerprints: those that were taken already, while other runs went on.
        shapes: those that were asked for; what became of them is noted with the reason.
    """
    runs = [*(run for pair in nodes for run in pair), *(again or {}).values()]
    stages = list(recorded_stages(runs))
    prints = (fingerprints or StageFingerprints()).of(stages)
    rules, numerics = stage_rules(stages, criterion), compare_runs(nodes, read_sample)
    judged = judge(operator, dtype, nodes, prints, rules, seconds=seconds, again=again, numerics=numerics)
    return judged if shapes is None else note_shapes(judged, nodes, shapes)


def recorded_stages(runs: Iterable[Run]) -> Iterable[StageText]:
    """Every stage of every kernel that a row of the runs launched, each file once."""
    seen: set[Path] = set()
    for run in runs:
        for row in run.rows:
            for kernel in row.launches:
                for stage in kernel.stages:
                    if stage.path not in seen:
                        seen.add(stage.path)
                        yield stage


def stage_rules(stages: Iterable[StageText], criterion: str = DEFAULT_CRITERION) -> StageRules:
    """The order and the roles of the stages that were recorded."""
    return StageRules(order_stages(stage.name for stage in stages), criterion, MACHINE_CODE_STAGES)


class StageFingerprints:
    """Fingerprints of stage files, or why a file has none. Equal contents of a stage are fingerprinted once."""

    def __init__(self) -> None:
        self._by_path: dict[Path, StageFingerprint | Unreadable] = {}
        self._by_content: dict[tuple[str, str], StageFingerprint | Unreadable] = {}

    def of(self, stages: Iterable[StageText]) -> Fingerprints:
        """The fingerprints of these stages and of all that were asked for before."""
        for stage in stages:
            if stage.path not in self._by_path:
                self._by_path[stage.path] = self._take(stage)
        return self._by_path

    def _take(self, stage: StageText) -> StageFingerprint | Unreadable:
        content = read_stage(stage)
        if isinstance(content, Unreadable):
            return content
        key = (stage.name, hashlib.sha256(content).hexdigest())
        if key not in self._by_content:
            self._by_content[key] = _fingerprint(stage.name, content)
        return self._by_content[key]


def read_stage(stage: StageText) -> bytes | Unreadable:
    """The raw content of a stage, unless it is gone or no longer what the run recorded."""
    try:
        content = stage.path.read_bytes()
    except OSError as error:
        return Unreadable(f"{stage.path.name} can not be read: {error.strerror or error}")
    if stage.sha256 and hashlib.sha256(content).hexdigest() != stage.sha256:
        return Unreadable(f"{stage.path.name} is not the file that the run recorded (SHA-256 differs)")
    return content


def read_sample(sample: OutputSample) -> bytes | None:
    """The elements that were sampled of an output, unless they are gone or no longer what the run recorded."""
    try:
        content = sample.path.read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == sample.sha256 else None


def _fingerprint(stage: str, content: bytes) -> StageFingerprint | Unreadable:
    try:
        return fingerprint(stage, content)
    except ZlBenchError as error:
        return Unreadable(str(error))
