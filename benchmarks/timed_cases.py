# mypy: ignore-errors
"""One process that times the five cases by every method of the probe's; started by timing_spread.py.

    python timed_cases.py FILE

It times them as a run of a suite would: one Timer for all, on a stream of its own, each call run once before. FILE gets one
JSON object: the card, the versions, and what the probe records of each latency.
"""

import json
import os
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from timing_cells import CASES, METHODS

from zl_bench.inside.zl_probe import versions
from zl_bench.inside.zl_probe.timing.nvml import clocks_of
from zl_bench.inside.zl_probe.timing.timer import Timer, TimingPlan
from zl_bench.inside.zl_probe.timing.torch_device import TorchDevice

GAVE_UP = 3
"""The exit status after a capture that failed or a device that did not answer."""
SMALL, SQUARE, GIGABYTE = 4096, 4096, 1_000_000_000


@triton.jit
def add_kernel(left, right, target, size, BLOCK: tl.constexpr):
    """Of two vectors."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < size
    total = tl.load(left + offsets, mask=inside) + tl.load(right + offsets, mask=inside)
    tl.store(target + offsets, total, mask=inside)


@triton.jit
def softmax_kernel(source, target, columns, BLOCK: tl.constexpr):
    """Of each row, one program a row."""
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    place = tl.program_id(0) * columns + offsets
    row = tl.load(source + place, mask=inside, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(target + place, powers / tl.sum(powers, 0), mask=inside)


@triton.jit
def copy_kernel(source, target, size, BLOCK: tl.constexpr):
    """Of 32-bit words."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < size
    tl.store(target + offsets, tl.load(source + offsets, mask=inside), mask=inside)


def calls():
    """The cases by name, each as the call that a benchmark would hand to do_bench."""
    left, right, total = (torch.randn(SMALL, device="cuda") for _ in range(3))
    logits = torch.randn(SQUARE, SQUARE, device="cuda")
    shares = torch.empty_like(logits)
    source = torch.zeros(GIGABYTE // 4, dtype=torch.int32, device="cuda")
    target = torch.empty_like(source)
    first, second = (torch.randn(SQUARE, SQUARE, dtype=torch.float16, device="cuda") for _ in range(2))
    product = torch.empty_like(first)

    def one():
        add_kernel[(triton.cdiv(SMALL, 1024),)](left, right, total, SMALL, BLOCK=1024)

    def five():
        for _ in range(5):
            one()

    def softmax():
        softmax_kernel[(SQUARE,)](logits, shares, SQUARE, BLOCK=SQUARE, num_warps=8)

    def copy():
        copy_kernel[(triton.cdiv(source.numel(), 4096),)](source, target, source.numel(), BLOCK=4096, num_warps=8)

    def mm():
        torch.mm(first, second, out=product)

    return {"one": one, "five": five, "softmax": softmax, "copy": copy, "mm": mm}


class Told(list):
    """Takes the timer's events."""

    def event(self, event, **fields):
        self.append({"event": event, **fields})


def plan(method):
    """What input.json would ask for."""
    name, l2 = method.split() if " " in method else (method, "cold")
    return TimingPlan.of({"timing": {"method": name, "l2": l2, "baseline": False}})


def record(told):
    """The JSON object. What the timer tells by events is sorted by case and by the method that was asked for."""
    results = {}
    for event in told:
        if event["event"] == "latency":
            kept = {name: event[name] for name in event if name not in ("event", "node", "operator", "dtype", "detail")}
            results.setdefault(event["operator"], {})[event["detail"]] = kept
    return {
        "card": next((event for event in told if event["event"] == "card"), None),
        "results": results,
        "abandoned": [event for event in told if event["event"] == "abandoned"],
        "versions": versions.versions(),
        "pid": os.getpid(),
    }


def main():
    """Time everything, and write what there is also where timing has to give the process up."""
    told = Told()

    def write():
        Path(sys.argv[1]).write_text(json.dumps(record(told)), encoding="utf-8")

    def leave():
        write()
        os._exit(GAVE_UP)

    device = TorchDevice.of("cuda")
    if device is None:
        raise SystemExit("torch finds no CUDA device here")
    device.use_own_stream()
    torch.manual_seed(0)
    timer = Timer(plan(METHODS[0]), device, clocks_of(device.module), told, triton.testing.do_bench, leave)
    number = 0
    cases = calls()
    for case in CASES:
        cases[case]()
        device.synchronize()
        for method in METHODS:
            timer.plan = plan(method)
            key = {"node": "timed_cases.py", "operator": case, "dtype": "", "ordinal": 0, "detail": method}
            timer.time(cases[case], (), key, number, "operator")
            number += 1
    write()


if __name__ == "__main__":
    main()
