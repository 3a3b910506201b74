"""Tuners of a library: subclasses that override `run`, keep their own best configurations and round their keys."""

from functools import partial

import triton
import triton.language as tl
from kernels import note
from triton.runtime.autotuner import Autotuner
from triton.testing import do_bench
from zl_probe.offline import FakePointer

HOOKED = []


def align32(value):
    return -(-value // 32) * 32


class LibraryTuner(Autotuner):
    """Chooses by its own policy and remembers by rounded keys, as FlagGems' LibTuner does."""

    def __init__(self, kernel, configs, key, strategy):
        super().__init__(kernel, kernel.arg_names, configs, key, None, None)
        self.keys = key
        self.strategy = strategy
        self.remembered = {}

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        if len(self.configs) > 1:
            key = tuple(round_by(self.nargs[name]) for round_by, name in zip(self.strategy, self.keys, strict=True))
            if key not in self.remembered:
                self.remembered[key] = self.policy(args, kwargs)
            config = self.remembered[key]
        else:
            config = self.configs[0]
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result

    def policy(self, args, kwargs):
        raise AssertionError("a pinned tuner must not choose")


class PolicyTuner(LibraryTuner):
    """A policy with a `run` of its own, which calls that of its base."""

    def run(self, *args, **kwargs):
        return super().run(*args, **kwargs)


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


def hook(arguments):
    HOOKED.append(arguments["BLOCK"])


def tuner(kind):
    configs = [triton.Config({"BLOCK": block}, num_warps=4, num_stages=2, pre_hook=hook) for block in (256, 64, 128)]
    return kind(copy, configs, ["n"], [align32])


def launch(kernel, n=1000):
    return kernel[(4,)](FakePointer("fp32"), FakePointer("fp32"), n)


def test_rounded():
    tuned = tuner(LibraryTuner)
    for n in (1000, 1020, 1030):
        do_bench(partial(launch, tuned, n))
    note("hooked", HOOKED)


def test_policy():
    do_bench(partial(launch, tuner(PolicyTuner)))
