r"""Makes a recorded root of the tests of reports out of a real one, small and without the machine's names, and its goldens.

    python tests/reports/data/make.py recorded_screen ROOT
    python tests/reports/data/make.py recorded_flaggems ROOT
    python tests/reports/data/make.py recorded_measure ROOT

recorded_screen: ROOT is what this leaves, with Triton 3.6, whose compiler then fails on the operands of matmul:float16:

    zl-bench screen --switch pass:accelerate_matmul --target cuda:90 --root ROOT \
        matmul:float16 matmul:float32 vector_add aten_addcmul vector_add:complex64

recorded_flaggems: the same of FlagGems, every verdict once:

    zl-bench screen --suite flaggems --checkout … --switch pass:accelerate_matmul --target cuda:90 --root ROOT \
        linear:float16 benchmark/test_mm.py::test_mm_self_transpose_benchmark:float32 relu:float16 alias:float16 abs:float64

recorded_measure: ROOT was screened and measured on a real card, and may have more operators than are kept. This one was, on an
H200, a null control in two rounds, its root unpacked where it was never made:

    zl-bench screen --suite flaggems --switch TRITON_F32_DEFAULT=ieee..ieee --root ROOT softmax:float16 flip:float16
    zl-bench measure ROOT softmax:float16 flip:float16 --rounds 2 --seed 1

To take another measurement, name its operators in RECORDINGS, run this, and read what has changed in the goldens. Of the
stage files those of RECORDINGS are kept, of an operator's first kernel, with a path of the same length in the place of the
checkout's. Times of the day and seconds, which are of one day and one machine, become 0 and 1; latencies and clocks stay as
they were measured.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zl_bench.model import SIDES, Side, split_entry
from zl_bench.reports import markdown
from zl_bench.reports.csv_files import kernels_csv, performance_csv
from zl_bench.store.layout import operator_folder
from zl_bench.workflow.report import read_report

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Recording:
    """What is kept of a root: these operators, and of the first kernel in an operator's folders these stages."""

    operators: tuple[str, ...]
    stages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


RECORDINGS = {
    "recorded_screen": Recording(
        ("matmul:float16", "matmul:float32", "vector_add", "aten_addcmul", "vector_add:complex64"),
        {"vector_add": ("ttir", "ttgir", "llir", "ptx", "cubin"), "matmul:float32": ("ttgir",)},
    ),
    "recorded_flaggems": Recording(
        (
            *("linear:float16", "benchmark/test_mm.py::test_mm_self_transpose_benchmark:float32"),
            *("relu:float16", "alias:float16", "abs:float64"),
        )
    ),
    "recorded_measure": Recording(("softmax:float16", "flip:float16"), {"softmax:float16": ("ttgir", "cubin")}),
}
ROOT_RECORDS = ("axis.json", "cards.jsonl", "measure.jsonl")
"""Beside screen.json and screen.jsonl, as far as the root has them."""
KEPT = ("input.json", "events.jsonl", "env.json", "outcome.json")
ENVIRONMENT = ("PYTHONHASHSEED", "TRITON", "USE_")
FIXED = {
    "t": 0.0,
    "pid": 1,
    "started": "2026-12-02T12:00:00+00:00",
    "since": "2026-12-02T12:00:00+00:00",
    "platform": "Linux-x86_64",
}


def main(name: str, root: Path) -> None:
    """Replace what is there by what can be made of `root`, and the goldens by what is said of that."""
    recording, made = RECORDINGS[name], HERE / name
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    request = json.loads((root / "screen.json").read_text(encoding="utf-8"))
    places = _places(root, name, request, recording.operators[-1])
    kept = lambda entry: entry in recording.operators  # noqa: E731
    _write(made / "screen.json", [_of_operators(request, kept)], places)
    judged = [one for one in _records(root / "screen.jsonl") if kept(_entry(one))]
    # Operators come in the order in which they ended, which is chance.
    _write(made / "screen.jsonl", sorted(judged, key=lambda one: request["operators"].index(_entry(one))), places)
    for file in (file for file in ROOT_RECORDS if (root / file).exists()):
        records = (one for one in _records(root / file) if kept(one.get("entry", recording.operators[0])))
        _write(made / file, (_of_operators(one, kept) for one in records), places)
    for entry, side in ((entry, side) for entry in recording.operators for side in SIDES):
        source = _folder(root, entry, side)
        target = made / source.name
        target.mkdir()
        if entry in recording.stages:
            places |= _copy_stages(source, target, recording.stages[entry], places)
        for file in KEPT:
            _write(target / file, _records(source / file), places)
    view = read_report(made)
    renderers: dict[str, Callable[..., str]] = {
        "md": markdown.render, "performance.csv": performance_csv, "kernels.csv": kernels_csv
    }  # fmt: skip
    for ending, render in renderers.items():
        (HERE / "golden" / f"{name}.{ending}").write_text(render(view), encoding="utf-8", newline="")


def _places(root: Path, name: str, request: Mapping[str, Any], entry: str) -> dict[str, str]:
    """What stands for the machine's own names: of the root as it was made, the environment, the checkout and the cards."""
    folder = _folder(root, entry, "before")
    (given,) = _records(folder / "input.json")
    (begin, *_) = _events(folder, "begin")
    suite = Path(request["extra"]["suite folder"])
    checkout = str(suite.parents[3] if request["suite"] == "builtin" else suite)
    environment = str(Path(begin["interpreter"]).parents[1])
    return {
        str(Path(given["out"]).parent): f"/runs/{name}",
        # The environment may lie in the checkout, so it comes first.
        environment: _of_length("/opt/venv", len(environment)),
        checkout: _of_length("/opt/zl", len(checkout)),
        **{card["uuid"]: f"GPU-{index}" for index, card in enumerate(request["cards"] or ())},
    }


def _folder(root: Path, entry: str, side: Side) -> Path:
    operator, dtype = split_entry(entry)
    return operator_folder(root, operator, dtype, side)


def _of_operators(record: Mapping[str, Any], kept: Callable[[str], bool]) -> dict[str, Any]:
    if "operators" not in record:
        return dict(record)
    return {**record, "operators": [entry for entry in record["operators"] if kept(entry)]}


def _records(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in (text.splitlines() if path.suffix == ".jsonl" else [text])]


def _copy_stages(source: Path, target: Path, stages: Sequence[str], places: Mapping[str, str]) -> dict[str, str]:
    """Copy stage files of the first kernel; return their hashes with those that they have now, and so their names."""
    first = next(iter(_events(source, "kernel")))
    (target / "ir").mkdir()
    renamed: dict[str, str] = {}
    for stage in stages:
        reference = first["stages"][stage]
        content = (source / reference["file"]).read_bytes()
        for place, name in places.items():
            if len(place) == len(name):
                content = content.replace(place.encode(), name.encode())
        digest = hashlib.sha256(content).hexdigest()
        (target / "ir" / f"{digest[:24]}.{stage}").write_bytes(content)
        renamed |= {reference["sha256"]: digest, reference["sha256"][:24]: digest[:24]}
    return renamed


def _events(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [event for event in _records(folder / "events.jsonl") if event["event"] == kind]


def _of_length(name: str, length: int) -> str:
    """A name of so many characters: machine code has paths in it, and must stay as long as it was."""
    return name.ljust(length, "-")[:length]


def _entry(judged: dict[str, Any]) -> str:
    return judged["operator"] if judged["dtype"] == "-" else f"{judged['operator']}:{judged['dtype']}"


def _write(path: Path, records: Iterable[Any], places: Mapping[str, str]) -> None:
    lines = [json.dumps(_plain(record), separators=(",", ":")) for record in records]
    text = "\n".join(lines) + "\n"
    for place, name in places.items():
        text = text.replace(place, name)
    path.write_text(text, encoding="utf-8")


def _plain(value: Any, name: str = "") -> Any:
    """The value without what is of one day or one machine."""
    if name in FIXED:
        return FIXED[name]
    if name == "seconds" and value is not None:
        return 1.0
    if name == "environment" and isinstance(value, dict):
        return {key: text for key, text in value.items() if key.startswith(ENVIRONMENT)}
    if isinstance(value, dict):
        return {key: _plain(item, key) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).absolute())
