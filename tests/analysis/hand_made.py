"""Hand-made runs for judgement: kernels whose stages are named by their digests, rows, runs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from zl_bench.analysis.prints import StageRules, Unreadable
from zl_bench.analysis.verdict import judge
from zl_bench.model import (
    Absence,
    FailedRow,
    JudgedOperator,
    Kernel,
    KernelIdentity,
    MissingPin,
    Pin,
    Row,
    RowKey,
    Run,
    Side,
    StageText,
)

RULES = StageRules(("ttir", "ttgir", "llir", "ptx", "cubin"), "ttgir", frozenset({"cubin", "hsaco"}))
_numbers = itertools.count()


@dataclass(frozen=True)
class Print:
    digest: str
    body_digest: str
    converts: int
    unordered: int = 0


@dataclass
class Workshop:
    """Makes kernels and remembers their fingerprints."""

    prints: dict[Path, Print | Unreadable] = field(default_factory=dict)

    def kernel(
        self,
        name: str = "k",
        *,
        converts: int = 0,
        unordered: int = 0,
        body: str | None = None,
        warps: int = 4,
        attributes: str = "{}",
        configuration: str = "",
        **stages: str | None,
    ) -> Kernel:
        """A kernel whose stages have the given digests; None is a stage that can not be read."""
        texts = []
        for stage, digest in (stages or {"ttir": "i", "ttgir": "g", "cubin": "m"}).items():
            path = Path(f"/ir/{next(_numbers)}.{stage}")
            texts.append(StageText(stage, path))
            if digest is None:
                self.prints[path] = Unreadable(f"the {stage} stage is empty")
            else:
                is_criterion = stage == "ttgir"
                body_digest = (body or digest) if is_criterion else digest
                self.prints[path] = Print(digest, body_digest, converts * is_criterion, unordered * is_criterion)
        return Kernel(KernelIdentity(name, "{}", "{}", attributes, warps, 3, 1), 0, tuple(texts), configuration)

    def judge(self, *pairs: tuple[Run, Run], again: dict[str, Run] | None = None) -> JudgedOperator:
        return judge("op", None, pairs, self.prints, RULES, seconds=1.5, again=again)


def key(detail: str = "64", node: str = "t.py::t", ordinal: int = 0) -> RowKey:
    return RowKey(node, "op", "float16", ordinal, detail)


def row(*launches: Kernel, detail: str = "64", guesses: int = 0, node: str = "t.py::t") -> Row:
    return Row(key(detail, node), launches, guesses)


def failed(
    detail: str = "64",
    *,
    phase: str = "compile",
    message: str = "PassManager::run failed",
    kernel: str = "k",
    stage: str = "ttgir",
    whole_test: bool = False,
) -> FailedRow:
    return FailedRow(key(detail), phase, message, kernel, stage, whole_test)  # type: ignore[arg-type]


def run(
    side: Side,
    *rows: Row,
    failed_rows: tuple[FailedRow, ...] = (),
    absence: Absence | None = None,
    pins: tuple[Pin, ...] = (),
    missing: tuple[MissingPin, ...] = (),
    compiles: int = 0,
    node: str = "t.py::t",
) -> Run:
    return Run(node, side, Path("/run"), rows, failed_rows, pins, missing, compiles, absence)
