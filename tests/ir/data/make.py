"""Compile the fixture kernels with the installed Triton; no device is needed.

    python tests/ir/data/make.py [FOLDER] [--without PASS]

writes one .ttgir per kernel and target. The committed texts came from Triton 3.6.0.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import triton
from triton._C.libtriton import passes
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from kernels import VARIANTS  # noqa: E402

TARGETS = {"cuda90": GPUTarget("cuda", 90, 32), "gfx942": GPUTarget("hip", "gfx942", 64)}


def compile_variant(name: str, target: GPUTarget) -> Any:
    """The compiled kernel of one named variant, with every stage's text in `.asm`."""
    function, signature, constants = VARIANTS[name]
    names = function.arg_names
    full = {argument: signature.get(argument, "constexpr") for argument in names}
    attributes = {
        (names.index(argument),): [["tt.divisibility", 16]] for argument, kind in signature.items() if kind[0] == "*"
    }
    return triton.compile(ASTSource(function, full, constants, attributes), target=target)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=HERE)
    parser.add_argument("--without", metavar="PASS", help="leave this TTGIR pass out of the pipeline")
    parser.add_argument("--all-stages", action="store_true", help="write the other stages too, unchanged")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.without:
        setattr(passes.ttgpuir, f"add_{arguments.without}", lambda *_: None)
    for label, target in TARGETS.items():
        for name in VARIANTS:
            stages = compile_variant(name, target).asm
            text = (
                stages["ttgir"].replace(str(HERE), "/somewhere").replace(str(Path(triton.__file__).parent), "/triton")
            )
            (arguments.folder / f"{name}.{label}.ttgir").write_text(text, encoding="utf-8")
            if arguments.all_stages:
                for stage in set(stages) - {"ttgir", "source", "sass"}:
                    content = stages[stage]
                    binary = content if isinstance(content, bytes) else content.encode()
                    (arguments.folder / f"{name}.{label}.{stage}").write_bytes(binary)


if __name__ == "__main__":
    main()
