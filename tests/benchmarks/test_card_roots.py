"""What is kept of a root is what the screen recorded, and enough to replay its pins."""

import json

import card_roots
import pytest

from zl_bench.ir.fingerprint import fingerprint
from zl_bench.store.pins import recorded_pins, require_runs

from .made_up import NODE, TTGIR, key, latency, paired, pin, row, write_record, write_run

SAME = {"same": True, "largest_absolute": 0.0, "largest_relative": 0.0, "note": ""}
DIFFERS = {"same": False, "largest_absolute": 0.5, "largest_relative": "inf", "note": ""}


def root_of(tmp_path, before, after=None, *rows, **options):
    for side, events in (("before", before), ("after", before if after is None else after)):
        write_run(card_roots.operator_folder(tmp_path, NODE, None, side), events, **options)
    write_record(tmp_path, *rows)
    return tmp_path


def only(root):
    (record,) = card_roots.operators(root)
    return record


def test_rows_have_their_kernels_with_the_fingerprint_of_the_screen(tmp_path):
    events = [row("[64]", "k0", "k1", "k0"), row("[128]", "k1", guesses=3)]
    run = only(root_of(tmp_path, events, names=("one", "two")))["before"]
    assert [one["name"] for one in run["kernels"]] == ["one", "two"]
    expected = [fingerprint("ttgir", TTGIR.format(name=name).encode()).digest for name in ("one", "two")]
    assert [one["ttgir"] for one in run["kernels"]] == expected
    assert [(one["key"], one["launches"], one["guesses"]) for one in run["rows"]] == [
        ([NODE, "softmax", "float16", 0, "[64]"], [0, 1, 0], 0),
        ([NODE, "softmax", "float16", 0, "[128]"], [1], 3),
    ]


def test_code_that_is_no_longer_what_was_recorded_has_no_fingerprint(tmp_path):
    root = root_of(tmp_path, [row("[64]", "k0")])
    next(root.glob("*_before/ir/0.ttgir")).write_text("module {}\n")
    record = only(root)
    assert record["before"]["kernels"][0]["ttgir"] == ""
    assert record["after"]["kernels"][0]["ttgir"] != ""


def test_failed_rows_keep_their_message(tmp_path):
    failed = {"event": "row_failed", **key("[9]"), "phase": "run", "message": "boom", "whole_test": True}
    run = only(root_of(tmp_path, [row("[64]", "k0"), failed]))["after"]
    assert run["failed"] == [{"key": list(key("[9]").values()), "phase": "run", "message": "boom", "kernel": ""}]


def test_numerics_count_rows_by_outcome(tmp_path):
    free = {**DIFFERS, "unordered": True}
    rows = (paired("[1]", SAME), paired("[2]", DIFFERS), paired("[3]", None), paired("[4]", free))
    record = only(root_of(tmp_path, [row("[1]", "k0")], None, *rows))
    assert record["numerics"] == {"same": 1, "unordered": 1, "without": 1, "differs": [["[2]", DIFFERS]]}


def test_the_last_line_of_an_operator_counts(tmp_path):
    root = root_of(tmp_path, [row("[64]", "k0")])
    path = root / "screen.jsonl"
    line = json.loads(path.read_text())
    path.write_text(json.dumps({**line, "seconds": 1.0}) + "\n" + json.dumps({**line, "seconds": 7.0}) + "\n")
    assert only(root)["verdict"]["seconds"] == 7.0


def test_a_latency_that_is_not_by_graph_says_why(tmp_path):
    fell_back = [{"method": "graph", "why": "the call makes the host wait"}]
    first, second, third = (key(detail) for detail in ("[1]", "[2]", "[3]"))
    events = [
        *(row("[1]", "k0"), latency(first)),
        *(row("[2]", "k0"), latency(second, "queued", fell_back=fell_back)),
        *(row("[3]", "k0"), latency(third, "direct")),
    ]
    found = only(root_of(tmp_path, events, timing=True))["before"]["rows"]
    told = [(one["latency"]["method"], one["latency"]["why"]) for one in found]
    assert told == [("graph", ""), ("queued", "graph: the call makes the host wait"), ("direct", "")]


def test_rows_after_lost_processes_say_that_graphs_had_cost_them(tmp_path):
    rows = [key(f"[{number}]") for number in range(4)]
    lost = {"method": "graph", "why": "poisoned", "message": "the capture failed", "role": "operator"}
    events = []
    for number, one in enumerate(rows):
        if number < 2:
            events += [{"event": "abandoned", "call": number, **one, **lost}, {"event": "begin"}]
            events += [{"event": "kernel", **kernel_of("kernel")}]
        events += [row(one["detail"], "k0"), latency(one, "queued")]
    found = only(root_of(tmp_path, events, timing=True))["before"]["rows"]
    given_up, not_tried = "graph: poisoned: the capture failed", "graph: not tried any more, it had cost 2 processes"
    whys = [one["latency"]["why"] for one in found]
    assert whys[:2] == [given_up, given_up]
    assert [why.startswith(not_tried) for why in whys[2:]] == [True, True]


def kernel_of(name):
    told = {"id": "k0", "name": name, "signature": "[]", "constants": "{}", "attributes": "{}", "num_warps": 4}
    return {**told, "num_stages": 2, "num_ctas": 1, "shared": 0, "configuration": "", "stages": {}}


def test_an_invalid_latency_has_no_median_and_says_why(tmp_path):
    events = [row("[1]", "k0"), latency(key("[1]"), median_ms=0.0, invalid="the latency is zero")]
    (found,) = only(root_of(tmp_path, events, timing=True))["before"]["rows"]
    assert (found["latency"]["median_ms"], found["latency"]["invalid"]) == (None, "the latency is zero")


def test_the_pins_of_the_before_run_can_be_replayed_from_what_was_kept(tmp_path):
    chosen = [pin("a.kernel#1", "BLOCK: 64"), pin("b.kernel#2", "BLOCK: 32")]
    other = [pin("a.kernel#1", "BLOCK: 128")]
    kept = json.loads(json.dumps(only(root_of(tmp_path / "card", [*chosen, row("[1]", "k0")], other))))
    card_roots.write_pins(tmp_path / "pins", [kept])
    require_runs(tmp_path / "pins")
    assert recorded_pins(tmp_path / "pins", NODE, None) == recorded_pins(tmp_path / "card", NODE, None)
    assert [one.configuration for one in recorded_pins(tmp_path / "pins", NODE, None)] == ["BLOCK: 64", "BLOCK: 32"]


def test_an_operator_with_several_tests_is_refused(tmp_path):
    root = root_of(tmp_path, [row("[1]", "k0")])
    second = next(root.glob("*_before")) / "second"
    write_run(second, [row("[1]", "k0")])
    (second / "input.json").write_text(json.dumps({"operator": NODE, "dtype": None, "node": "another"}))
    with pytest.raises(SystemExit, match="has 2 tests"):
        list(card_roots.operators(root))


def test_what_produced_a_root_is_read_from_it(tmp_path):
    root = root_of(tmp_path, [row("[1]", "k0")])
    card = {"index": "0", "name": "a card", "uuid": "GPU-1", "pci": ""}
    (root / "screen.json").write_text(json.dumps({"cards": [card], "extra": {"suite's files": "f" * 64}}))
    use = {"since": "", "others": [{"pid": 1, "name": "python", "used_mib": 5}]}
    (root / "cards.jsonl").write_text(json.dumps(use) + "\n" + json.dumps({**use, "others": None}) + "\n")
    assert card_roots.about(root) == {
        "cards": [card],
        "suite": "f" * 12,
        "others": ["python"],
        "versions": {"python": "3.12.3", "torch": "2.11.0", "triton": "3.6.0"},
    }


def test_of_a_root_that_never_began_nothing_is_known(tmp_path):
    assert card_roots.about(tmp_path)["versions"] == {"python": "unknown", "torch": "unknown", "triton": "unknown"}
