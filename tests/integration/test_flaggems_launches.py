"""What a card launched is what the stand-in device launches: the same kernels in the same order with the same TTGIR.

Eight of the sixteen recorded operators have, in the flag-gems 5.0.2 wheel, the kernels that the recorded checkout had, in
thirteen of its tests. The others do not: topk, weight_norm, rms_norm, log_softmax of other dimensions and cat were written
anew since, the generator of pointwise kernels (flip, sort, and the copies of batch_norm and index_select) too, and the
wheel does not register addmm.dtype.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from pathlib import Path

import pytest

from tests.integration.flaggems_screens import RECORDED, needs_flag_gems, without_the_pass
from tests.integration.running import events

CARD = json.loads((Path(__file__).parent / "data" / "launches_h200.json").read_text(encoding="utf-8"))["rows"]
TRITON = "3.6.0"

pytestmark = [
    needs_flag_gems,
    pytest.mark.skipif(importlib.metadata.version("triton") != TRITON, reason=f"recorded with Triton {TRITON}"),
]


@pytest.fixture
def session_folder(tmp_path_factory):
    return tmp_path_factory.getbasetemp()


def digest(file: Path) -> str:
    """As the card's launches were recorded."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#loc")]
    text = re.sub(r" loc\((#loc\d*|unknown)\)", "", "\n".join(lines))
    return hashlib.sha1(text.encode()).hexdigest()[:12]


def launches(run: Path) -> list[list[str]]:
    """`kernel:digest` of every launch, row by row, in order."""
    named: dict[int, str] = {}
    rows = []
    for event in events(run):
        if event["event"] == "kernel":
            named[event["id"]] = f"{event['name']}:{digest(run / event['stages']['ttgir']['file'])}"
        elif event["event"] == "row":
            rows.append([named[kernel] for kernel in event["launches"]])
    return rows


def tuned_kernels(run: Path) -> set[str]:
    tuners = [event["tuner"] for event in events(run) if event["event"] == "pin"]
    return {tuner.partition("#")[0].rpartition(".")[2] for tuner in tuners}


def without_trials(row: list[str], tuned: set[str]) -> list[str]:
    """The card recorded each row's first call, with the one trial of a tuner before its launch; a run records a later call."""
    return [
        launch
        for place, launch in enumerate(row)
        if launch.partition(":")[0] not in tuned or row[place - 1 : place] != [launch]
    ]


def test_every_recorded_operator_is_screened():
    assert set(CARD) == set(RECORDED)
    assert sum(map(len, CARD.values())) == 66


@pytest.mark.parametrize("operator", RECORDED)
def test_the_card_and_the_stand_in_launch_the_same(session_folder, operator):
    _, root = without_the_pass(session_folder)
    run = root / f"{operator}.float16_before"
    tuned = tuned_kernels(run)
    assert launches(run) == [without_trials(row, tuned) for row in CARD[operator]]


def test_without_the_pass_it_is_not_what_the_card_launched(session_folder):
    """Otherwise the hash would see too little."""
    _, root = without_the_pass(session_folder)
    assert launches(root / "mm.float16_after") != launches(root / "mm.float16_before")
