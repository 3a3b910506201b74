"""Triton's own printer without debug information, in a process of its own: `python oracle_printer.py < LIST`.

Reads one path a line. Prints one JSON object, file to text; null for a file that MLIR refuses or aborts on.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

TARGETS = {"cuda": GPUTarget("cuda", 90, 32), "hip": GPUTarget("hip", "gfx942", 64)}


def print_without_debug(path: str) -> str | None:
    kind = "hip" if '"hip:' in Path(path).read_text(encoding="utf-8") else "cuda"
    context = ir.context()
    ir.load_dialects(context)
    make_backend(TARGETS[kind]).load_dialects(context)
    try:
        module = ir.parse_mlir_module(path, context)
    except RuntimeError:
        return None
    module.context = context
    return module.str_nodebug()


def print_in_child(path: str) -> str | None:
    """The same in a forked child, because some of the IR that the verifier should refuse aborts the interpreter."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            pipe.write(print_without_debug(path) or "")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text or None


if __name__ == "__main__":
    print(json.dumps({path: print_in_child(path) for path in sys.stdin.read().split("\n") if path}))
