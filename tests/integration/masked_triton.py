"""Appended to the cuda back end of a copy of Triton, so that it reads two switches of the tests.

ZL_TEST_ENHANCE turns on what the bits of ZL_TEST_PHASE_MASK say: bit 2 acts alone, bits 0 and 3 only together, bits 1 and 4
only apart, bit 5 fails the compile. It leaves its mark in the module's attributes.
"""

import os


def _bits_on(mask: int, *positions: int) -> list[bool]:
    return [bool(mask >> position & 1) for position in positions]


def _marked(make_ttgir):  # type: ignore[no-untyped-def]
    def make_marked_ttgir(mod, metadata, opt, capability):  # type: ignore[no-untyped-def]
        mod = make_ttgir(mod, metadata, opt, capability)
        mask = int(os.environ.get("ZL_TEST_PHASE_MASK", "0"), 0) if os.environ.get("ZL_TEST_ENHANCE") == "1" else 0
        one, first, second, left, right, fatal = _bits_on(mask, 2, 0, 3, 1, 4, 5)
        mark = one + 2 * (first and second) + 4 * (left != right)
        if fatal:
            raise RuntimeError("the phase of bit 5 fails")
        if mark:
            mod.set_attr("ttg.test-mark", ir.builder(mod.context).get_int32_attr(mark))  # type: ignore[name-defined] # noqa: F821
        return mod

    return staticmethod(make_marked_ttgir)


CUDABackend.make_ttgir = _marked(CUDABackend.make_ttgir)  # type: ignore[name-defined] # noqa: F821
