"""Names of files without the folders of the machine."""

from __future__ import annotations

from zl_bench.ir.fingerprint import fingerprint
from zl_bench.ir.location_paths import message_without_folders, paths_named, without_folders

MODULE = """#loc = loc("/home/me/a b/kernel.py":12:0)
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @k(%x: i32 loc("x"(#loc))) {
    %0 = arith.addi %x, %x : i32 loc(callsite("/home/me/lib.py":3:5 at #loc))
    tt.return loc("kernel.py":13:4)
  } loc(#loc)
} loc(#loc)
"""


def test_locations_lose_their_folders_and_nothing_else() -> None:
    cut = without_folders(MODULE)
    assert "/home" not in cut
    assert '#loc = loc("kernel.py":12:0)' in cut
    assert 'callsite("lib.py":3:5 at #loc)' in cut
    assert cut.count("\n") == MODULE.count("\n")
    assert fingerprint("ttir", cut.encode()) == fingerprint("ttir", MODULE.encode())


def test_other_strings_that_are_paths_are_found() -> None:
    text = '{libpath = "/opt/a.bc", asm = "// a comment", other = "a/b"}'
    assert without_folders(text) == text
    assert paths_named(text) == ("/opt/a.bc",)
    assert paths_named(without_folders(MODULE)) == ()


def test_messages_name_files_alone() -> None:
    message = "RuntimeError: /tmp/tmp1/x.ptx, line 3; see '/home/me/log' and 1/2 of a/b (compiler.py:378)"
    assert message_without_folders(message) == "RuntimeError: x.ptx, line 3; see 'log' and 1/2 of a/b (compiler.py:378)"
