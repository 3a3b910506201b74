"""What the timer's self-test says of a card, judged from answers of our own."""

from __future__ import annotations

from typing import Any

import pytest

from zl_bench.workflow.doctor import Finding
from zl_bench.workflow.doctor_timer import judge_selftest, regimes_of, steady_after

READING = {"clock_mhz": 1980, "memory_clock_mhz": 3201, "temperature_c": 41, "power_w": 120.5, "throttle": []}
RAMP = [[5.0, 345], [10.0, 1200], [15.0, 1980], [20.0, 1965], [25.0, 1980], [30.0, 1980]]
Measured = tuple[float | None, float | None, float | None]
SOUND: dict[tuple[str, str], Measured] = {
    ("direct", "cold"): (1.014, 2.024, 0.0051),
    ("queued", "warm"): (1.012, 2.022, 0.0022),
    ("graph", "warm"): (1.011, 2.021, 0.0011),
    ("graph", "cold"): (1.011, 2.021, 0.0024),
}


def timings(measured: dict[tuple[str, str], Measured], note: str = "it failed") -> list[dict[str, Any]]:
    """As the probe writes them; the note goes to whatever was not measured."""
    expected = {"known": 1.0101, "doubled": 2.0202, "empty": None}
    return [
        {"method": method, "l2": l2, "what": what, "expected_ms": expected[what], "measured_ms": value,
         "note": note if value is None else ""}
        for (method, l2), values in measured.items()
        for what, value in zip(("known", "doubled", "empty"), values, strict=True)
    ]  # fmt: skip


def answer(measured: dict[tuple[str, str], Measured] | None = None, **changed: Any) -> dict[str, Any]:
    clock = {"idle": {**READING, "clock_mhz": 345}, "ramp": RAMP, "loaded": READING}
    told = {"reason": "", "card": {}, "clock": clock, "timings": timings(SOUND if measured is None else measured)}
    return {**told, **changed}


def judged(told: dict[str, Any]) -> dict[str, Finding]:
    return {finding.subject: finding for finding in judge_selftest(told, "graph")}


def test_a_sound_card() -> None:
    found = judged(answer())
    assert list(found) == [
        "clock",
        "timing by direct, L2 cold",
        "timing by queued, L2 warm",
        "timing by graph, L2 warm",
        "timing by graph, L2 cold",
        "timing methods",
        "timing overhead",
    ]
    assert all(finding.good and not finding.remedy for finding in found.values())
    assert found["timing by graph, L2 warm"].text == (
        "a call of known length takes 1.011 ms, by the card's clock 1.01 ms, one of twice that 1.999 times as long, "
        "an empty one 1.1 us"
    )
    assert found["timing methods"].text == "they agree within 0.30% on the call of known length"
    assert found["timing overhead"].text == "an empty call takes 1.1 us by graph, 2.2 us by queued, 5.1 us by direct"


def test_the_clock_s_behaviour_is_told() -> None:
    assert judged(answer())["clock"].text == (
        "345 MHz idle, 1980 MHz under load, steady after 15 ms, memory 3201 MHz, 41 °C, 120.5 W, nothing holds it down"
    )


def with_clock(**changed: Any) -> Finding:
    clock = {"idle": READING, "ramp": RAMP, "loaded": READING, **changed}
    return judged(answer(clock=clock))["clock"]


@pytest.mark.parametrize(
    ("reason", "good"),
    [("power cap", True), ("applications clocks setting", True), ("hardware thermal slowdown", False)],
)
def test_what_holds_the_clock_down_is_told_and_a_fault_is_one(reason: str, good: bool) -> None:
    found = with_clock(loaded={**READING, "throttle": [reason]})
    assert f"held down by: {reason}" in found.text
    assert (found.good, bool(found.remedy)) == (good, not good)


def test_a_clock_that_does_not_come_to_rest_is_told() -> None:
    found = with_clock(ramp=[[5.0, 1900], [10.0, 1500], [15.0, 1900], [20.0, 1500]])
    assert found.good
    assert "does not come to rest within 20 ms" in found.text


def test_a_vendor_that_tells_no_clock() -> None:
    found = with_clock(idle=None, ramp=[], loaded=None)
    assert found.good
    assert "not told by this vendor" in found.text


def test_what_a_vendor_does_not_tell_is_unknown() -> None:
    assert "unknown W" in with_clock(loaded={**READING, "power_w": None}).text


@pytest.mark.parametrize(
    ("ramp", "after"),
    [
        ([], None),
        ([(1, 100), (2, 100)], None),
        ([(1, 100), (2, 101), (3, 100)], 1),
        ([(1, 100), (2, 102), (3, 100)], None),
        ([(1, 50), (2, 100), (3, 100), (4, 100)], 2),
        ([(1, 100), (2, 100), (3, 100), (4, 100), (5, 50)], None),
    ],
)
def test_when_the_clock_is_steady(ramp: list[tuple[float, float]], after: float | None) -> None:
    assert steady_after(ramp) == after


@pytest.mark.parametrize(
    ("measured", "good"),
    [
        ((1.0, 2.039, 0.001), True),
        ((1.0, 2.041, 0.001), False),
        ((1.0, 1.961, 0.001), True),
        ((1.0, 1.5, 0.001), False),
    ],
)
def test_twice_the_length_takes_twice_as_long(measured: Measured, good: bool) -> None:
    found = judged(answer({("graph", "warm"): measured}))["timing by graph, L2 warm"]
    assert found.good is good
    assert ("should be 2 within 2%" in found.text) is not good
    assert ("--timing" in found.remedy) is not good


@pytest.mark.parametrize(("known", "good"), [(1.10, True), (0.92, True), (1.15, False), (0.5, False)])
def test_the_length_is_roughly_what_the_clock_says(known: float, good: bool) -> None:
    found = judged(answer({("graph", "warm"): (known, 2 * known, 0.001)}))["timing by graph, L2 warm"]
    assert found.good is good
    assert ("not what the clock says" in found.text) is not good


def test_a_call_whose_length_nobody_knows_is_compared_with_its_double_alone() -> None:
    told = [{**timing, "expected_ms": None} for timing in timings({("queued", "warm"): (7.0, 14.0, 0.001)})]
    found = judged(answer(timings=told))["timing by queued, L2 warm"]
    assert found.good
    assert "clock" not in found.text


@pytest.mark.parametrize(("method", "good"), [("graph", False), ("direct", False), ("queued", True)])
def test_a_method_that_is_not_to_be_had(method: str, good: bool) -> None:
    """Bad where rows would be timed by it: on this card by graph, and everywhere by direct in the end."""
    found = judged(answer({(method, "cold"): (None, None, None)}))[f"timing by {method}, L2 cold"]
    assert (found.good, bool(found.remedy)) == (good, not good)
    assert found.text == "not to be had: it failed"


def test_an_examination_that_ended_early() -> None:
    told = timings({("graph", "warm"): (None, None, None)}, "poisoned: the capture failed")[:1]
    found = judged(answer(timings=told))["timing by graph, L2 warm"]
    assert found.text == "not to be had: poisoned: the capture failed"
    assert regimes_of(told)[0].doubled is None


def test_an_empty_call_without_a_latency_is_no_fault() -> None:
    found = judged(answer({("graph", "warm"): (1.01, 2.02, None)}))["timing by graph, L2 warm"]
    assert found.good
    assert "an empty one was not measured (it failed)" in found.text


def test_methods_that_do_not_agree() -> None:
    found = judged(answer({**SOUND, ("queued", "warm"): (1.05, 2.1, 0.002)}))["timing methods"]
    assert not found.good
    assert found.text == "queued, L2 warm takes 3.9% longer than graph, L2 warm on the same call, more than 2%"
    assert found.remedy


def test_an_empty_call_that_a_graph_makes_no_shorter() -> None:
    found = judged(answer({**SOUND, ("graph", "warm"): (1.011, 2.021, 0.0052)}))["timing overhead"]
    assert not found.good
    assert "a graph should add less" in found.text


def test_one_method_alone_is_compared_with_none() -> None:
    found = judged(answer({("direct", "cold"): (1.01, 2.02, 0.005)}))
    assert list(found) == ["clock", "timing by direct, L2 cold"]


def test_no_device_is_the_only_finding() -> None:
    found = judged(answer(reason="the torch of /python finds no cuda device to use"))
    assert list(found) == ["timer"]
    assert not found["timer"].good
    assert found["timer"].remedy
