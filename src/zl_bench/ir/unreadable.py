"""The error for content that can not be compared."""

from __future__ import annotations

from zl_bench.errors import ExitCode, ZlBenchError


class UnreadableStage(ZlBenchError):
    """A stage's content is empty, cut short or not what its stage holds; it equals nothing, not even itself."""

    exit_code = ExitCode.FAILED_RUN

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"the {stage} stage can not be compared: {reason}")
        self.stage = stage
        self.reason = reason
