"""Compiling a kernel again from its IR: as a whole and pass by pass, which must come to the same."""

import json
import os
import subprocess
import sys

import pytest
from offline_script import INSIDE

pytestmark = pytest.mark.integration

LAYOUTS = "remove_layout_conversions"
MAKE = """
import json, sys
from zl_probe import kernels, offline, probe_kernel

offline.install("cuda:90")
kernel = probe_kernel.copy_kernel[(1,)](offline.FakePointer("fp32"), offline.FakePointer("fp32"), SIZE=128)
made = kernels.SOURCE if kernels.SOURCE in kernel.asm else "ttir"
with open(sys.argv[1] + "/kernel", "w") as stream:
    stream.write(str(kernel.asm[made]))
with open(sys.argv[1] + "/ttgir", "w") as stream:
    stream.write(str(kernel.asm["ttgir"]))
with open(sys.argv[1] + "/made", "w") as stream:
    stream.write(made)
"""


def python(*arguments, folder):
    environment = {**os.environ, "PYTHONPATH": str(INSIDE), "TRITON_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    python("-c", MAKE, str(folder), folder=folder)
    return folder


def replayed(kernel, folder, **request):
    """The events of a replay of the kernel."""
    source = {
        "id": "k",
        "source": str(kernel / "kernel"),
        "made": (kernel / "made").read_text(),
        "target": "cuda:90",
        "options": {"num_warps": 4},
    }
    asked = {"out": str(folder), "kernels": [source], "drop_pass": None, "last": "ttgir", "passes": False, **request}
    folder.mkdir()
    (folder / "request.json").write_text(json.dumps(asked))
    python("-m", "zl_probe.replay", str(folder / "request.json"), folder=folder)
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def stages(events, folder):
    return {event["stage"]: (folder / event["file"]).read_text() for event in events if event["event"] == "stage"}


def plain(text):
    """Without locations, whose numbers are the printer's choice."""
    return [line.split(" loc(")[0] for line in text.splitlines() if not line.startswith("#loc")]


def test_pass_by_pass_comes_to_what_the_whole_pipeline_makes(kernel, tmp_path):
    whole = replayed(kernel, tmp_path / "whole")
    steps = replayed(kernel, tmp_path / "steps", passes=True)
    made = stages(whole, tmp_path / "whole")
    assert made == stages(steps, tmp_path / "steps")
    assert plain(made["ttgir"]) == plain((kernel / "ttgir").read_text())
    run = [event for event in steps if event["event"] == "pass"]
    assert not any(event["left_out"] for event in run)
    (end,) = (event for event in steps if event["event"] == "replayed")
    assert [event["pass"] for event in run if event["stage"] == "ttgir"] == end["added"]
    assert "torch" not in steps[0]
    assert steps[0]["triton"]["library_sha256"]


def test_the_occurrences_that_are_named_are_left_out(kernel, tmp_path):
    drop = {"name": LAYOUTS, "occurrence": [1, 3]}
    events = replayed(kernel, tmp_path / "out", passes=True, drop_pass=drop)
    assert [event["left_out"] for event in events if event.get("pass") == LAYOUTS and event["event"] == "pass"][:3] == [
        True,
        False,
        True,
    ]


def test_a_kernel_that_can_not_be_read_fails_alone(kernel, tmp_path):
    bad = tmp_path / "bad"
    bad.write_text("this is no IR")
    good = {"id": "good", "source": str(kernel / "kernel"), "made": (kernel / "made").read_text(), "target": "cuda:90"}
    other = {**good, "id": "bad", "source": str(bad), "options": {}}
    events = replayed(kernel, tmp_path / "out", kernels=[other, {**good, "options": {"num_warps": 4}}])
    ends = {event["kernel"]: event["event"] for event in events if event["event"] in ("replayed", "replay_failed")}
    assert ends == {"bad": "replay_failed", "good": "replayed"}
    assert events[-1]["event"] == "end"
