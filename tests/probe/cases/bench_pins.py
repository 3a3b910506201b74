"""Autotuned kernels of every make."""

from functools import partial

import triton
import triton.language as tl
from kernels import dot, note
from triton.testing import do_bench
from zl_probe.offline import FakePointer

BLOCKS = (256, 64, 128)


def configurations(blocks=BLOCKS):
    return [triton.Config({"BLOCK": block}, num_warps=4, num_stages=2) for block in blocks]


def copy(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


copy_kernel = triton.jit(copy)
tuned = triton.autotune(configs=configurations(), key=["n"])(copy_kernel)


def launch(kernel, n=1000, dtype="fp32", **options):
    return kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](FakePointer(dtype), FakePointer(dtype), n, **options)


def test_plain():
    do_bench(lambda: launch(tuned))


def test_keys():
    for n, dtype in ((1000, "fp32"), (2000, "fp32"), (1000, "fp16"), (1000, "fp32")):
        do_bench(partial(launch, tuned, n, dtype))


def test_single_configuration():
    single = triton.autotune(configs=configurations([64]), key=["n"])(copy_kernel)
    do_bench(lambda: launch(single))


@triton.autotune(configs=configurations(), key=["n"])
@triton.jit
def choosy(x, out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK <= 128, "too large a block")
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


def test_static_assert():
    do_bench(lambda: launch(choosy))


big_first = triton.autotune(
    configs=[triton.Config({}, num_warps=4, num_stages=stages) for stages in (6, 2)],
    key=["inner_size"],
)(dot)


def test_shared_memory():
    pointers = [FakePointer("fp16"), FakePointer("fp16"), FakePointer("fp32")]
    do_bench(lambda: big_first[(1,)](*pointers, 4096, M=64, N=32, BLOCK_K=256))


@triton.autotune(configs=configurations(), key=["n"])
@triton.jit
def impossible(x, out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK > 4096, "no block is large enough")
    tl.store(out, tl.load(x))


def test_no_configuration_compiles():
    do_bench(lambda: launch(impossible))


def test_hooks():
    called = []
    configs = [
        triton.Config({"BLOCK": block}, num_stages=2, pre_hook=lambda meta: called.append([meta["BLOCK"], meta["n"]]))
        for block in BLOCKS
    ]
    hooked = triton.autotune(configs=configs, key=["n"])(copy_kernel)
    do_bench(lambda: launch(hooked))
    note("called", called)


def test_pruning():
    seen = []

    def keep_small(configs, named_args, **kwargs):
        seen.append([named_args["n"], kwargs.get("EXTRA", "none")])
        return [config for config in configs if config.kwargs["BLOCK"] < named_args["n"]]

    pruned = triton.autotune(configs=configurations(), key=["n"], prune_configs_by={"early_config_prune": keep_small})(
        copy_kernel
    )
    do_bench(lambda: launch(pruned, n=100))
    note("seen", seen)


def full(arguments):
    return arguments["n"] % arguments["BLOCK"] == 0


def with_mask(x, out, n, BLOCK: tl.constexpr, FULL: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if FULL:
        tl.store(out + offsets, tl.load(x + offsets))
    else:
        tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


def test_heuristics_inside():
    kernel = triton.autotune(configs=configurations(), key=["n"])(
        triton.heuristics({"FULL": full})(triton.jit(with_mask))
    )
    do_bench(lambda: launch(kernel, n=1024))


def is_aligned(arguments):
    return arguments["n"] % 1024 == 0


def test_heuristics_outside():
    kernel = triton.heuristics({"FULL": is_aligned})(
        triton.autotune(configs=configurations(), key=["n", "FULL"])(triton.jit(with_mask))
    )
    do_bench(lambda: launch(kernel, n=1024))


def test_two_tuners_of_one_kernel():
    small = triton.autotune(configs=configurations([16, 32]), key=["n"])(copy_kernel)
    do_bench(lambda: (launch(tuned), launch(small)))


def test_timed():
    timed = []

    def timing(call, quantiles):
        call()
        timed.append(1)
        return [1.0 / len(timed)] * 3

    kernel = triton.autotune(configs=configurations(), key=["n"], do_bench=timing)(copy_kernel)
    do_bench(lambda: launch(kernel))
    note("timed", len(timed))
