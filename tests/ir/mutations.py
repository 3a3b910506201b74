"""Single changes to real TTGIR, by name: those that matter, and those that do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Change = Callable[[str], str]


@dataclass(frozen=True)
class Mutation:
    """One named change to one fixture. `change` must really change the text; the tests check that."""

    name: str
    fixture: str
    change: Change


def replace(old: str, new: str, count: int = 1) -> Change:
    """Replace the first `count` occurrences."""

    def change(text: str) -> str:
        assert old in text, f"the fixture no longer holds {old!r}"
        return text.replace(old, new, count)

    return change


def substitute(pattern: str, new: str | Callable[[re.Match[str]], str], count: int = 0) -> Change:
    """Substitute by regular expression."""

    def change(text: str) -> str:
        result, applied = re.subn(pattern, new, text, count=count)
        assert applied, f"nothing in the fixture matches {pattern!r}"
        return result

    return change


def find_line(lines: list[str], part: str) -> int:
    return next(index for index, line in enumerate(lines) if part in line)


def delete_line(part: str) -> Change:
    def change(text: str) -> str:
        lines = text.split("\n")
        del lines[find_line(lines, part)]
        return "\n".join(lines)

    return change


def duplicate_line(part: str, old: str, new: str) -> Change:
    """Insert a copy of a line after it, with `old` replaced in the copy."""

    def change(text: str) -> str:
        lines = text.split("\n")
        index = find_line(lines, part)
        copy = lines[index].replace(old, new)
        assert copy != lines[index]
        return "\n".join([*lines[: index + 1], copy, *lines[index + 1 :]])

    return change


def move_line(part: str, before: str) -> Change:
    def change(text: str) -> str:
        lines = text.split("\n")
        line = lines.pop(find_line(lines, part))
        lines.insert(find_line(lines, before), line)
        return "\n".join(lines)

    return change


MEMDESC = "!ttg.memdesc<64x32xf16, #shared, #smem>"

SIGNIFICANT: tuple[Mutation, ...] = (
    Mutation(
        "extra convert_layout",
        "transpose.cuda90",
        duplicate_line("%7 = ttg.convert_layout", "%7 =", "%99 ="),
    ),
    Mutation(
        "missing convert_layout",
        "transpose.cuda90",
        lambda text: delete_line("%7 = ttg.convert_layout")(text).replace("tt.store %6, %7,", "tt.store %6, %0,"),
    ),
    Mutation("moved convert_layout", "transpose.cuda90", move_line("%7 = ttg.convert_layout", "%1 = arith.muli")),
    Mutation("convert_layout source", "matmul.cuda90", replace("ttg.convert_layout %7", "ttg.convert_layout %acc")),
    Mutation("sizePerThread", "vector_add.cuda90", replace("sizePerThread = [4]", "sizePerThread = [2]")),
    Mutation("threadsPerWarp", "transpose.cuda90", replace("threadsPerWarp = [", "threadsPerWarp = [1")),
    Mutation("warpsPerCTA", "matmul.cuda90", replace("warpsPerCTA = [2, 2]", "warpsPerCTA = [4, 1]")),
    Mutation("order", "transpose.cuda90", replace("order = [1, 0]}>", "order = [0, 1]}>")),
    Mutation("swizzle vec", "matmul.gfx942", replace("vec = 4", "vec = 8")),
    Mutation("swizzle perPhase", "matmul.gfx942", replace("perPhase = 2", "perPhase = 1")),
    Mutation("swizzle maxPhase", "matmul.gfx942", replace("maxPhase = 8", "maxPhase = 4")),
    Mutation("swizzle byte width", "matmul.cuda90", replace("swizzlingByteWidth = 64", "swizzlingByteWidth = 128")),
    Mutation("shared layout kind", "matmul.gfx942", replace("#ttg.amd_rotating_shared<", "#ttg.swizzled_shared<")),
    Mutation("mma version", "matmul.cuda90", replace("versionMajor = 3", "versionMajor = 2")),
    Mutation(
        "mma instruction shape", "matmul.cuda90", replace("instrShape = [16, 64, 16]", "instrShape = [16, 32, 16]")
    ),
    Mutation("mfma transposed", "matmul.gfx942", replace("isTransposed = true", "isTransposed = false")),
    Mutation(
        "linear layout basis", "matmul.gfx942", replace("register = [[1, 0], [2, 0]", "register = [[2, 0], [1, 0]")
    ),
    Mutation("slice dimension", "transpose.cuda90", replace("#ttg.slice<{dim = 1,", "#ttg.slice<{dim = 0,")),
    Mutation("slice parent", "matmul.cuda90", replace("dim = 1, parent = #blocked1", "dim = 1, parent = #blocked")),
    Mutation(
        "another alias",
        "transpose.cuda90",
        replace("tensor<64x64xf16, #blocked1> loc", "tensor<64x64xf16, #blocked> loc"),
    ),
    Mutation("cache modifier", "vector_add.cuda90", replace("cacheModifier = cg", "cacheModifier = ca")),
    Mutation("no cache modifier", "vector_add.cuda90", replace(" cacheModifier = cg", "")),
    Mutation("eviction policy of a load", "vector_add.cuda90", replace("evict_first", "evict_last")),
    Mutation("eviction policy of a store", "vector_add.cuda90", replace(" evictionPolicy = evict_last", "")),
    Mutation(
        "volatile load", "collatz.cuda90", replace("tt.load %value_0 :", "tt.load %value_0 {isVolatile = true} :")
    ),
    Mutation("mask dropped", "vector_add.cuda90", replace("tt.store %1, %3, %mask_5", "tt.store %1, %3")),
    Mutation(
        "another mask", "transpose.cuda90", replace("tt.load %tile_25, %inside_19", "tt.load %tile_25, %inside_17")
    ),
    Mutation("value under a mask", "vector_add.cuda90", replace("%mask_5, %cst_0 evict", "%mask_5, %cst evict")),
    Mutation("num_stages of a loop", "matmul.cuda90", replace("tt.num_stages = 3", "tt.num_stages = 2")),
    Mutation("loop attribute dropped", "matmul.cuda90", replace(" {tt.num_stages = 3 : i32}", "")),
    Mutation("loop attribute added", "matmul.cuda90", replace("{tt.num_stages = 3", "{tt.flatten, tt.num_stages = 3")),
    Mutation("loop step", "matmul.cuda90", replace("step %c32_i32", "step %c64_i32")),
    Mutation("loop start", "matmul.cuda90", replace("%acc_31 = %c0_i32", "%acc_31 = %c32_i32")),
    Mutation("loop yields another value", "matmul.cuda90", replace("scf.yield %acc_54#0", "scf.yield %acc_53")),
    Mutation("another result of an operation", "collatz.cuda90", replace("%steps#1, %limit", "%steps#0, %limit")),
    Mutation("loop condition", "collatz.cuda90", replace("cmpi sgt, %value_2", "cmpi sge, %value_2")),
    Mutation(
        "loop arguments swapped",
        "collatz.cuda90",
        replace("scf.condition(%2) %value_2, %steps_3", "scf.condition(%2) %steps_3, %value_2"),
    ),
    Mutation(
        "block arguments swapped",
        "collatz.cuda90",
        replace('^bb0(%value_2: i32 loc("value"), %steps_3: i32', '^bb0(%steps_3: i32 loc("value"), %value_2: i32'),
    ),
    Mutation(
        "branch targets swapped", "collatz.cuda90", replace("cf.cond_br %0, ^bb1, ^bb2", "cf.cond_br %0, ^bb2, ^bb1")
    ),
    Mutation("operations swapped", "vector_add.cuda90", move_line("%mask = tt.splat", "%offsets_2 = tt.make_range")),
    Mutation("operation replaced", "vector_add.cuda90", replace("arith.subf", "arith.addf")),
    Mutation("operation dropped", "matmul.cuda90", delete_line("ttng.fence_async_shared")),
    Mutation("operands swapped", "vector_add.cuda90", replace("arith.subf %x_7, %2", "arith.subf %2, %x_7")),
    Mutation("another operand", "vector_add.cuda90", replace("arith.mulf %y_9, %cst", "arith.mulf %x_7, %cst")),
    Mutation(
        "operand twice",
        "scan_and_call.cuda90",
        substitute(r"arith\.addf (%total_\d+), %total_\d+", r"arith.addf \1, \1"),
    ),
    Mutation("operand of the other argument", "scan_and_call.cuda90", replace("arith.mulf %arg4", "arith.mulf %arg5")),
    Mutation(
        "integer constant", "vector_add.cuda90", replace("arith.constant 1024 : i32", "arith.constant 2048 : i32")
    ),
    Mutation("float constant", "vector_add.cuda90", replace("dense<2.500000e+00>", "dense<2.500001e+00>")),
    Mutation("sign of an exponent", "scan_and_call.cuda90", replace("5.000000e-01", "5.000000e+01")),
    Mutation(
        "element type", "transpose.cuda90", replace("tensor<64x64xf16, #blocked>", "tensor<64x64xbf16, #blocked>")
    ),
    Mutation("shape", "vector_add.cuda90", replace("tensor<1024xi32", "tensor<512xi32")),
    Mutation("pointer's element type", "vector_add.cuda90", replace("!tt.ptr<f32>", "!tt.ptr<f16>")),
    Mutation("memory descriptor mutable", "matmul.cuda90", replace(MEMDESC, MEMDESC[:-1] + ", mutable>")),
    Mutation("comparison predicate", "vector_add.cuda90", replace("cmpi slt", "cmpi sle")),
    Mutation("program id axis", "transpose.cuda90", replace("tt.get_program_id x", "tt.get_program_id z")),
    Mutation(
        "range bounds", "vector_add.cuda90", replace("end = 1024 : i32, start = 0", "end = 1025 : i32, start = 1")
    ),
    Mutation("transposition order", "transpose.cuda90", replace("array<i32: 1, 0>", "array<i32: 0, 1>")),
    Mutation("expand_dims axis", "transpose.cuda90", replace("{axis = 1 : i32}", "{axis = 0 : i32}")),
    Mutation("scan direction", "scan_and_call.cuda90", replace("reverse = false", "reverse = true")),
    Mutation("atomic operation", "scan_and_call.cuda90", replace("tt.atomic_rmw add", "tt.atomic_rmw max")),
    Mutation("atomic memory order", "scan_and_call.cuda90", replace("acq_rel", "relaxed")),
    Mutation("atomic scope", "scan_and_call.gfx942", replace("acq_rel, gpu", "acq_rel, cta")),
    Mutation("dot input precision", "matmul.cuda90", replace("inputPrecision = 0", "inputPrecision = 1")),
    Mutation("asynchronous dot", "matmul.cuda90", replace("isAsync = true", "isAsync = false")),
    Mutation("pendings of a wait", "matmul.cuda90", replace("pendings = 0", "pendings = 1")),
    Mutation("argument attribute", "vector_add.cuda90", replace("tt.divisibility = 16", "tt.divisibility = 8")),
    Mutation("argument attribute dropped", "vector_add.cuda90", replace(" {tt.divisibility = 16 : i32}", "")),
    Mutation(
        "arguments swapped",
        "vector_add.cuda90",
        lambda text: text.replace("%x_ptr:", "%T:").replace("%y_ptr:", "%x_ptr:").replace("%T:", "%y_ptr:"),
    ),
    Mutation("function attribute", "vector_add.cuda90", replace("noinline = false", "noinline = true")),
    Mutation("function visibility", "scan_and_call.cuda90", replace("tt.func private", "tt.func public")),
    Mutation("function name", "vector_add.cuda90", replace("@vector_add", "@vector_sub")),
    Mutation(
        "called function", "scan_and_call.cuda90", replace('tt.call @"kernels._helper', 'tt.call @"kernels._other')
    ),
    Mutation("module attribute num-warps", "vector_add.cuda90", replace('"ttg.num-warps" = 4', '"ttg.num-warps" = 8')),
    Mutation("module attribute target", "vector_add.cuda90", replace('"cuda:90"', '"cuda:80"')),
    Mutation(
        "module attribute added",
        "vector_add.cuda90",
        replace("module attributes {", "module attributes {vendor.rlc = 1 : i32, "),
    ),
    Mutation(
        "fast-math flag",
        "vector_add.cuda90",
        replace("arith.mulf %y_9, %cst :", "arith.mulf %y_9, %cst fastmath<contract> :"),
    ),
    Mutation(
        "overflow flag", "vector_add.cuda90", replace("%c1024_i32 : i32 loc", "%c1024_i32 overflow<nsw> : i32 loc")
    ),
)


def _rename_values(text: str) -> str:
    """Every `%name` another name, consistently, with `#` and `:` suffixes kept."""
    names: dict[str, str] = {}
    return re.sub(r"%([\w$.]+)", lambda match: names.setdefault(match[0], f"%renamed_{len(names)}"), text)


def _swap_aliases(text: str) -> str:
    """`#blocked` and `#blocked1` exchanged, in definitions and uses."""
    swap = {"#blocked": "#blocked1", "#blocked1": "#blocked"}
    return re.sub(r"#blocked1?\b", lambda match: swap[match[0]], text)


def _inline_alias(text: str) -> str:
    """`#smem` written out wherever it is used, its definition gone."""
    text = text.replace("#smem = #ttg.shared_memory\n", "")
    return text.replace("#smem", "#ttg.shared_memory")


def _strip_all(text: str) -> str:
    """No location at all, as printed without debug information."""
    text = re.sub(r"(?m)^#loc\d* = .*\n", "", text)
    return re.sub(r' loc\((?:#loc\d*|unknown|"\w+"(?:\(#loc\d*\))?|callsite\(#loc\d* at #loc\d*\))\)', "", text)


INSIGNIFICANT: tuple[Mutation, ...] = (
    Mutation(
        "source line in a #loc definition", "matmul.cuda90", substitute(r'kernels\.py":(\d+)', r'kernels.py":9\1')
    ),
    Mutation(
        "path of the source file", "matmul.cuda90", replace("/somewhere/", '/else (where) \\"loc(#loc1)\\"/', 999)
    ),
    Mutation("number of a location alias", "matmul.cuda90", substitute(r"#loc(\d+)", r"#loc7\1")),
    Mutation("trailing location inline", "matmul.cuda90", substitute(r"loc\(#loc\d+\)", 'loc("/a/b.py":1:2)')),
    Mutation("trailing location unknown", "matmul.cuda90", substitute(r"loc\(#loc\d+\)", "loc(unknown)")),
    Mutation(
        "callsite location", "matmul.cuda90", substitute(r"loc\(#loc\d+\)", 'loc(callsite("f"("g.py":1:2) at #loc))')
    ),
    Mutation(
        "fused location", "matmul.cuda90", substitute(r"loc\(#loc\d+\)", 'loc(fused<"m(">["a.py":1:2, #loc1, unknown])')
    ),
    Mutation("name location", "matmul.cuda90", substitute(r"loc\(#loc\d+\)", 'loc("x"(#loc1))')),
    Mutation("range location", "matmul.cuda90", substitute(r"loc\(#loc\d+\)", 'loc("a.py":1:2 to 3:4)')),
    Mutation(
        "location of arguments", "matmul.cuda90", substitute(r'loc\("(\w+)"\(#loc\)\)', r'loc("\1_renamed"(#loc))')
    ),
    Mutation(
        "location of block arguments",
        "scan_and_call.gfx942",
        replace("f32 loc(unknown)", 'f32 loc(callsite("f" at "g"))'),
    ),
    Mutation("no locations at all", "matmul.cuda90", _strip_all),
    Mutation("no locations at all, block arguments", "scan_and_call.gfx942", _strip_all),
    Mutation("aliases renumbered", "matmul.cuda90", _swap_aliases),
    Mutation("alias renamed", "matmul.gfx942", substitute(r"#mma\b", "#mfma3")),
    Mutation("alias inlined", "matmul.cuda90", _inline_alias),
    Mutation("alias lines reordered", "transpose.cuda90", move_line("#blocked1 = ", "#blocked = ")),
    Mutation(
        "nested alias",
        "matmul.cuda90",
        lambda text: (
            "#order = array<i64: 1>\n#p = #q\n#q = #shared\n" + re.sub(r"(, )#shared(, #smem)", r"\1#p\2", text)
        ),
    ),
    Mutation(
        "type alias", "vector_add.cuda90", lambda text: "!p = !tt.ptr<f32>\n" + text.replace("!tt.ptr<f32>", "!p")
    ),
    Mutation("values renamed", "matmul.cuda90", _rename_values),
    Mutation("values renamed, blocks and loops", "collatz.cuda90", _rename_values),
    Mutation("values renamed, regions and calls", "scan_and_call.cuda90", _rename_values),
    Mutation("values numbered", "vector_add.cuda90", substitute(r"%x_7\b", "%77")),
    Mutation("name of one branch's value", "collatz.cuda90", replace("%value_5", "%half", 2)),
    Mutation("blocks renamed", "collatz.cuda90", lambda text: text.replace("^bb1", "^bb7").replace("^bb2", "^exit")),
    Mutation("indentation", "matmul.cuda90", substitute(r"(?m)^ +", "\t")),
    Mutation("blank lines and trailing blanks", "matmul.cuda90", replace("\n", "  \n\n", 9999)),
    Mutation("blanks around punctuation", "vector_add.cuda90", replace(", ", " ,  ", 9999)),
    Mutation("comments", "collatz.cuda90", substitute(r"(?m)$", ' // loc( "unfinished %0 {')),
    Mutation("carriage returns", "vector_add.cuda90", replace("\n", "\r\n", 9999)),
)
