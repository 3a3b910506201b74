"""Compile as many of FlagGems' kernels as guessed signatures allow to TTGIR; no device is needed, flag_gems is.

    python tests/ir/data/make_flag_gems.py FOLDER [--every N]

Nothing is executed, so a guess need not make sense, it only has to compile: every pointer is fp32, every size i32. A
kernel that a guess does not fit is left out. The answers about a card that `import flag_gems` asks for are made up.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend
from triton.runtime.jit import JITFunction

TARGET = GPUTarget("cuda", 90, 32)
POINTER = re.compile(
    r".*(ptr|inp|out|grad|mid|mask|index|indices|src|sums?|rstd|mean)$|in_|^(in\d?|[xyzvwagobdq]|d[xyw]|inp\d?|input.*)$",
    re.I,
)
SIZES = re.compile(r"^[A-Z]$|.*(size|stride|numel|num|elements|cnt|_n|_m|_k)")
NUMBER = re.compile(r"^(eps|p|alpha|beta|scale|value|val|lambd|momentum|.*_val)$")


def pretend_a_card() -> None:
    """Answer what flag_gems asks for at import."""
    properties = types.SimpleNamespace(
        multi_processor_count=132, L2_cache_size=50 << 20, name="made up", major=9, minor=0, total_memory=80 << 30
    )
    cuda: Any = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.get_device_name = lambda *_: "made up"
    cuda.get_device_capability = lambda *_: (9, 0)
    cuda.get_device_properties = lambda *_: properties


def kernels() -> Iterator[tuple[str, JITFunction[Any]]]:
    """Every JIT function of flag_gems.ops that is no helper, by module and name."""
    for module_name, module in sorted(sys.modules.items()):
        if module_name.startswith("flag_gems.ops."):
            for name, value in vars(module).items():
                function = value
                while function is not None and not isinstance(function, JITFunction):
                    function = getattr(function, "fn", None)
                if function is not None and function.__module__ == module_name and "kernel" in name:
                    yield f"{module_name.rpartition('.')[2]}.{name}", function


def guess(function: JITFunction[Any]) -> ASTSource:
    """A source with guessed types and constants."""
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    attributes: dict[tuple[int, ...], list[list[object]]] = {}
    for position, parameter in enumerate(function.params):
        name = parameter.name
        if parameter.is_constexpr:
            signature[name] = "constexpr"
            sized = re.search(r"BLOCK|TILE|SIZE|MID", name, re.I)
            constants[name] = 64 if sized else 4 if re.search(r"GROUP|^[A-Z]$", name) else False
        elif NUMBER.match(name):
            signature[name] = "fp32"
        elif not SIZES.match(name) and POINTER.match(name):
            signature[name] = "*fp32"
            attributes[position,] = [["tt.divisibility", 16]]
        else:
            signature[name] = "i32"
    return ASTSource(function, signature, constants, attributes)


def compile_to_ttgir(source: ASTSource) -> str:
    backend = make_backend(TARGET)
    options = backend.parse_options({"arch": "sm90"})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    functions = backend.get_codegen_implementation(options)
    module = source.make_ir(TARGET, options, functions, backend.get_module_map(), context)
    metadata: dict[str, Any] = {}
    for stage in ("ttir", "ttgir"):
        module = stages[stage](module, metadata)
    return str(module)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take only every Nth kernel")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pretend_a_card()
    os.environ["GEMS_VENDOR"] = "nvidia"  # or it looks for a card's tools to find out
    import flag_gems  # noqa: F401

    for name, function in list(kernels())[:: arguments.every]:
        try:
            text = compile_to_ttgir(guess(function))
        except (triton.CompilationError, RuntimeError, TypeError, ValueError, AssertionError) as error:
            print(f"{name}: left out, {type(error).__name__}: {str(error).strip().splitlines()[-1:]}")
            continue
        (arguments.folder / f"{name}.ttgir").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
