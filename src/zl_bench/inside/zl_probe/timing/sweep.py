"""Empties the L2 by reading: a small kernel of our own, in PTX, which the driver compiles, on NVIDIA cards.

A flush that writes, as do_bench's does, leaves the L2 full of dirty lines, and the next kernel pays for writing them back. On
an H200 a softmax of 33 us took 37 us then, in two modes, and its median lay 0.4 to 1 % apart between processes; after a
flush that reads, 0.2 %. PTX, because a kernel of Triton's or torch's may be what the suite replaces or the tool records.
"""

import ctypes
from typing import Any

THREADS, BLOCKS = 512, 1024
BYTES_AT_ONCE = 16
"""Of each thread: one vector load of four words."""
PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry sweep(.param .u64 start, .param .u64 bytes)
{
    .reg .pred %end, %never;
    .reg .b32 %thread, %threads, %block, %blocks, %a, %b, %c, %d, %all;
    .reg .b64 %at, %size, %step, %where, %from;
    ld.param.u64 %from, [start];
    ld.param.u64 %size, [bytes];
    cvta.to.global.u64 %from, %from;
    mov.u32 %thread, %tid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %blocks, %nctaid.x;
    mad.lo.u32 %thread, %block, %threads, %thread;
    mul.wide.u32 %at, %thread, 16;
    mul.lo.u32 %threads, %threads, %blocks;
    mul.wide.u32 %step, %threads, 16;
    mov.u32 %all, 0;
again:
    setp.ge.u64 %end, %at, %size;
    @%end bra done;
    add.u64 %where, %from, %at;
    ld.global.v4.u32 {%a, %b, %c, %d}, [%where];
    or.b32 %a, %a, %b;
    or.b32 %c, %c, %d;
    or.b32 %a, %a, %c;
    or.b32 %all, %all, %a;
    add.u64 %at, %at, %step;
    bra again;
done:
    setp.eq.u32 %never, %all, 0xffffffff;
    @%never st.global.u32 [%from], %all;
    ret;
}
"""
"""Ors the words together, and writes the first of them if all bits are set: so no compiler may leave the reading out."""


class Sweep:
    """Reads `size` bytes at `address` on a stream, which may be under capture."""

    def __init__(self, address: int, size: int):
        self._driver = ctypes.CDLL("libcuda.so.1")
        module, self._kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self._ask("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(PTX))
        self._ask("cuModuleGetFunction", ctypes.byref(self._kernel), module, ctypes.c_char_p(b"sweep"))
        self._values = (ctypes.c_uint64(address), ctypes.c_uint64(size - size % BYTES_AT_ONCE))
        self._arguments = (ctypes.c_void_p * 2)(*(ctypes.addressof(value) for value in self._values))

    @classmethod
    def over(cls, address: int, size: int) -> "Sweep | None":
        """None where the driver is not to be found, or does not take the kernel."""
        try:
            return cls(address, size)
        except (OSError, AttributeError, RuntimeError):
            return None

    def enqueue(self, stream: int) -> None:
        """Start it. Raises RuntimeError with the driver's number."""
        grid, block = (BLOCKS, 1, 1), (THREADS, 1, 1)
        self._ask(
            "cuLaunchKernel",
            self._kernel,
            *grid,
            *block,
            0,
            ctypes.c_void_p(stream),
            self._arguments,
            ctypes.c_void_p(),
        )

    def _ask(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} answered {status}")
