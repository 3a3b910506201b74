"""A pytest plugin that runs a suite on the stand-in device and writes down what each benchmark launched.

Loaded with `-p count_launches` in a process of its own; reads TARGET, DROP_PASS and REPORT from the environment. With no
TARGET it counts on the card that is there. It is not the tool's probe: the suite must be drivable by anybody's.
"""

import hashlib
import json
import os
import time
from pathlib import Path

import pytest


class Counter:
    def __init__(self):
        self.tests = {}
        self.kernels = {}
        self.current = None

    def launched(self, kernel):
        identity = {
            "name": kernel.metadata.name,
            "signature": str(kernel.src.signature),
            "constants": str(sorted(map(str, kernel.src.constants.items()))),
            "attributes": str(kernel.src.attrs),
            "warps": kernel.metadata.num_warps,
            "stages": kernel.metadata.num_stages,
        }
        key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        if key not in self.kernels:
            stages = {stage: code if isinstance(code, str) else None for stage, code in kernel.asm.items()}
            self.kernels[key] = {**identity, "shared": kernel.metadata.shared, "ttgir": stages.get("ttgir")}
            for stage in ("ptx", "amdgcn"):
                if stages.get(stage) and os.environ.get("KEEP_ASSEMBLY"):
                    self.kernels[key][stage] = stages[stage]
            folder = os.environ.get("BINARIES")
            if folder:
                Path(folder, key).write_bytes(kernel.kernel)
        if self.current is not None:
            self.current["launches"].append(key)


def pytest_configure(config):
    if os.environ.get("TARGET"):
        from zl_probe.offline import install

        install(os.environ["TARGET"])
    import triton
    import triton.testing
    from triton import compiler
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.autotuner import Autotuner

    counter = config.counter = Counter()
    launch_metadata, compile_kernel, make_tuner = CompiledKernel.launch_metadata, compiler.compile, Autotuner.__init__

    def counted(kernel, *arguments):
        kernel._init_handles()
        counter.launched(kernel)
        return launch_metadata(kernel, *arguments)

    def timed(*arguments, **options):
        started, cpu = time.perf_counter(), sum(os.times()[:4])
        try:
            return compile_kernel(*arguments, **options)
        finally:
            counter.current["compile_seconds"] += time.perf_counter() - started
            counter.current["cpu_seconds"] += sum(os.times()[:4]) - cpu
            counter.current["compiles"] += 1

    def one_configuration(tuner, *arguments, **options):
        make_tuner(tuner, *arguments, **options)
        counter.tests.setdefault("configurations", len(tuner.configs))
        tuner.configs = tuner.configs[:1]

    def once(call, *arguments, **options):
        counter.current["rows"] += 1
        call()
        return 1.0

    CompiledKernel.launch_metadata, compiler.compile, Autotuner.__init__ = counted, timed, one_configuration
    triton.testing.do_bench = once
    name = os.environ.get("DROP_PASS")
    if name:
        from triton._C.libtriton import passes

        setattr(passes.ttgpuir, "add_" + name, lambda *arguments: None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    counter = item.config.counter
    entry = {
        "operator": item.originalname,
        "launches": [],
        "rows": 0,
        "compiles": 0,
        "compile_seconds": 0.0,
        "cpu_seconds": 0.0,
        "error": None,
    }
    counter.current = counter.tests[item.nodeid.split("/")[-1]] = entry
    outcome = yield
    counter.current = None
    if outcome.excinfo is not None:
        entry["error"] = f"{outcome.excinfo[0].__name__}: {outcome.excinfo[1]}"


def pytest_unconfigure(config):
    with Path(os.environ["REPORT"]).open("w", encoding="utf-8") as stream:
        counter = config.counter
        configurations = counter.tests.pop("configurations", None)
        json.dump({"tests": counter.tests, "kernels": counter.kernels, "configurations": configurations}, stream)
