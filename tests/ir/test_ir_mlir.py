"""The hard cases of MLIR's text: strings, scopes, look-alikes of `loc(`, damage, size."""

from __future__ import annotations

import re
import time

import pytest

from tests.ir.corpus import fixtures, read_fixture
from zl_bench.ir import mlir_values
from zl_bench.ir.fingerprint import fingerprint, normalise
from zl_bench.ir.unreadable import UnreadableStage


def module(body: str, head: str = "", arguments: str = "%a: i32, %b: i32") -> bytes:
    return f"{head}module {{\n  tt.func public @k({arguments}) {{\n{body}\n    tt.return\n  }}\n}}\n".encode()


def same(first: bytes, second: bytes) -> bool:
    return fingerprint("ttgir", first).digest == fingerprint("ttgir", second).digest


@pytest.fixture
def no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where names are not resolved by scope."""

    def refuse(words: list[str]) -> list[str]:
        raise AssertionError("fell back to numbering by first appearance")

    monkeypatch.setattr(mlir_values, "_rename_by_first_appearance", refuse)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("path", fixtures(), ids=lambda path: path.name)
def test_real_modules_need_no_fallback(path) -> None:
    text = normalise("ttgir", path.read_bytes())
    assert not re.search(r"\bloc\b", text)
    assert "#blocked" not in text and "#shared" not in text and "#mma" not in text


def test_operations_that_end_in_loc_are_kept() -> None:
    text = normalise(
        "ttgir", module("    %0 = ttg.local_alloc(%a) : (i32) -> i32 loc(#loc3)\n    %1 = x.loc(%a) : i32")
    )
    assert "ttg.local_alloc(%arg.0) : (i32) -> i32\n" in text
    assert "x.loc(%arg.0) : i32" in text


@pytest.mark.parametrize(
    "string",
    [r'"loc(#loc1)"', r'"#blocked"', r'"%a"', r'"// no comment"', r'"a \" loc( \\"', r'"^bb0"', r'"{ ( ["', r'"!p"'],
)
def test_strings_are_kept_to_the_byte(string: str) -> None:
    head = "#blocked = #ttg.blocked<{order = [0]}>\n!p = i32\n"
    with_string = module(f"    x.print {string} : %a : i32 loc({string}(#loc))", head)
    assert string in normalise("ttgir", with_string)
    assert not same(with_string, with_string.replace(string.encode(), b'"other"', 1))


def test_blanks_in_strings_matter_and_between_tokens_do_not() -> None:
    assert not same(module('    x.p "a b"'), module('    x.p "a  b"'))
    assert same(module("    x.p {a = 1 : i32, b}"), module("    x.p{a=1:i32,b}"))
    assert not same(module("    x.p a b"), module("    x.p ab"))
    assert not same(module("    x.p -1"), module("    x.p 1"))


@pytest.mark.parametrize(
    "location",
    [
        'loc("a(b.py":1:2)',
        'loc("quote \\" ) in name"(#loc1))',
        'loc(callsite("f"(fused<{a = "x)"}>["g.py":1:2, unknown]) at callsite("h" at #loc2)))',
        "loc(unknown)",
        "loc(#loc12)",
        'loc("a.py":1:2 to :9)',
        'loc ( "spaced" )',
    ],
)
def test_any_location_is_dropped_wherever_it_trails(location: str) -> None:
    body = "    %0 = x.op %a {k = 1 : i32} : i32 LOC\n    cf.br ^bb1(%0 : i32) LOC\n  ^bb1(%c: i32 LOC, %d: i32 LOC):"
    plain = module(body.replace(" LOC", ""))
    assert same(
        plain,
        module(body.replace("LOC", location), arguments=f"%a: i32 {location}, %b: i32 {{q}} {location}").replace(
            b"%b: i32 {q}", b"%b: i32"
        ),
    )


@pytest.mark.parametrize("name", ["#loc", "#loc7"])
def test_the_name_of_a_location_as_an_attribute_is_what_it_stands_for(name: str) -> None:
    written = module('    x.p {where = loc("a":1:2), at = [loc("a":1:2)]} : i32 loc("a":1:2)')
    body = f"    x.p {{where = {name}, at = [loc({name})]}} : i32 loc({name})"
    for definition in (f'{name} = loc("b":3:4)', f"{name} = loc(fused[unknown, unknown])"):
        assert same(written, module(body, f"{definition}\n"))


def test_a_location_where_an_attribute_is_expected_is_none_that_trails() -> None:
    for before, after in (
        ("= ", ""),
        ("=  ", ""),
        ("=\t", ""),
        (": ", ""),
        (", ", ""),
        ("[ ", "]"),
        ("( ", ")"),
        ("< ", ">"),
    ):
        assert not same(module(f"    x.p q{before}loc(#loc1){after}"), module(f"    x.p q{before}{after}"))


def test_a_location_as_an_attribute_leaves_its_place() -> None:
    assert same(module('    x.p {where = loc("a":1:2)}'), module('    x.p {where = loc("b":3:4)}'))
    assert not same(module('    x.p {where = loc("a":1:2)}'), module("    x.p {where}"))


def test_aliases_are_followed_through_each_other() -> None:
    direct = module("    x.p : tensor<2xi32, #ttg.slice<{dim = 1, parent = #ttg.blocked<{order = [0]}>}>>")
    nested = module(
        "    x.p : !t",
        "#a = #ttg.blocked<{order = [0]}>\n#b = #ttg.slice<{dim = 1, parent = #a}>\n!t = tensor<2xi32, #b>\n",
    )
    assert same(direct, nested)
    assert not same(direct, module("    x.p : tensor<2xi32, #ttg.slice<{dim = 1, parent = #a}>>", "#a = #ttg.x\n"))


def test_an_alias_of_itself_is_unreadable() -> None:
    with pytest.raises(UnreadableStage, match="defined by itself"):
        fingerprint("ttgir", module("    x.p #a", "#a = #t.x<#b>\n#b = #t.x<#a>\n"))


def test_affine_arrows_do_not_close_brackets() -> None:
    head = "#map = affine_map<(d0) -> (d0)>\n#set = affine_set<(d0) : (d0 >= 0)>\n"
    assert same(
        module("    x.p #map, #set", head),
        module("    x.p affine_map<(d0) -> (d0)>, affine_set<(d0) : (d0 >= 0)>"),
    )


@pytest.mark.usefixtures("no_fallback")
class TestScopes:
    def test_a_name_may_be_used_again_in_the_next_region(self) -> None:
        body = "    scf.if %a {\n  %0 = x.p\n  x.q %0\n } else {\n  %SECOND = x.p\n x.q %SECOND\n }"
        assert same(module(body.replace("SECOND", "0")), module(body.replace("SECOND", "7")))

    def test_loop_variables_end_with_their_loop(self) -> None:
        loop = "    %R = scf.for %I = %a to %b step %a iter_args(%X = %a) -> (i32) {\n scf.yield %X : i32\n }\n"
        first = loop.replace("%R", "%r0").replace("%I", "%i").replace("%X", "%x")
        again = loop.replace("%R", "%r1").replace("%I", "%i").replace("%X", "%x")
        other = loop.replace("%R", "%r1").replace("%I", "%j").replace("%X", "%y")
        assert same(module(first + again), module(first + other))
        assert not same(module(first + again), module(first + other.replace("yield %y", "yield %j")))

    def test_functions_share_no_names(self) -> None:
        second = b"module {\n tt.func private @g(%a: i32, %b: i32) -> i32 {\n tt.return %a : i32\n }\n"
        both = module("").replace(b"module {\n", second)
        renamed = both.replace(
            b"(%a: i32, %b: i32) -> i32 {\n tt.return %a", b"(%u: i32, %v: i32) -> i32 {\n tt.return %u"
        )
        assert same(both, renamed)
        assert not same(both, both.replace(b"tt.return %a", b"tt.return %b"))

    def test_several_results_by_name(self) -> None:
        body = "    %x, %y = x.pair %a, %b\n    x.q %x, %y"
        assert same(module(body), module(body.replace("%x", "%u").replace("%y", "%v")))
        assert not same(module(body), module(body.replace("x.q %x, %y", "x.q %y, %x")))

    def test_partitions_have_arguments_of_their_own(self) -> None:
        body = (
            "    ttg.warp_specialize(%a, %b)\n    default {\n      ttg.warp_yield\n    }\n"
            "    partition0(%arg3: i32, %arg4: i32) num_warps(4) {\n      x.p %arg3\n      ttg.warp_return\n    }\n"
            "    partition1(%arg3: i32, %arg4: i32) num_warps(4) {\n      x.q %arg4\n      ttg.warp_return\n"
            "    } : (i32, i32) -> ()"
        )
        head, _, tail = body.partition("partition1")
        assert same(module(body), module(head + "partition1" + tail.replace("%arg3", "%u").replace("%arg4", "%v")))
        assert not same(module(body), module(body.replace("x.q %arg4", "x.q %arg3")))


class TestFallback:
    """Forms that the scoping rules do not know: still no two programs collapse, and renaming is still invisible."""

    def test_a_use_before_its_definition(self) -> None:
        body = (
            "    cf.br ^bb2\n  ^bb1:\n    x.use %0, %1\n    tt.return\n"
            "  ^bb2:\n    %0 = x.p\n    %1 = x.p\n    cf.br ^bb1"
        )
        assert same(module(body), module(body.replace("%0", "%u").replace("%1", "%v")))
        assert not same(module(body), module(body.replace("x.use %0, %1", "x.use %1, %0")))

    def test_a_syntax_of_a_vendor(self) -> None:
        body = "    v.forall (%i, %j) in (%a, %b) {\n      v.use %i, %j\n    }"
        assert same(module(body), module(body.replace("%i", "%u").replace("%j", "%v")))
        assert not same(module(body), module(body.replace("v.use %i, %j", "v.use %j, %i")))
        assert not same(module(body), module(body.replace("in (%a, %b)", "in (%b, %a)")))

    def test_operands_with_their_types_are_no_definitions(self) -> None:
        body = "    v.reduce ins(%a : i32) outs(%b : i32)"
        assert not same(module(body), module(body.replace("ins(%a : i32) outs(%b", "ins(%b : i32) outs(%a")))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\x7fELF\x02\x01\x01", "binary"),
        (b"module {\x00}", "binary"),
        (b"module { tt.func \xff }", "UTF-8"),
        (b"module {\n}\n", "no function"),
        (b"#loc = loc(unknown)\n", "no function"),
        (b"// only a comment", "no function"),
        (b'module { tt.func @k() { x.p "open\n } }', "string does not end"),
        (b"module { tt.func @k( } )", "do not match"),
        (b"} module { tt.func @k() {}", "do not match"),
        (b"hello world", "no function"),
        (b"module { tt.func @k() { x.p #a } }\n#a =", "alias #a is not defined"),
    ],
)
def test_damaged_content_is_unreadable(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableStage, match=reason):
        fingerprint("ttgir", content)


@pytest.mark.parametrize("path", fixtures(), ids=lambda path: path.name)
def test_a_module_cut_anywhere_in_its_body_is_unreadable(path) -> None:
    content = path.read_bytes()
    end = content.rindex(b"\n} loc(#loc)")
    for cut in range(0, end, 37):
        with pytest.raises(UnreadableStage):
            fingerprint("ttgir", content[:cut])


@pytest.mark.parametrize(
    "tail", ["%x", "%x,", "%x =", "func", "func @", "^bb1", "loc", "#a", "module", "partition1", "%"]
)
def test_an_odd_tail_is_no_crash(tail: str) -> None:
    fingerprint("ttgir", module("") + tail.encode())
    with pytest.raises(UnreadableStage):
        fingerprint("ttgir", tail.encode())


def test_a_missing_module_is_no_crash() -> None:
    assert fingerprint("ttir", b"tt.func @k() { tt.return }").converts == 0
    assert fingerprint("ttir", b"module @m attributes {a = 1 : i32} { tt.func @k() { tt.return } }").converts == 0


def test_the_older_dialect_name_and_the_generic_form_count() -> None:
    body = '    %0 = triton_gpu.convert_layout %a : i32 -> i32\n    %1 = "ttg.convert_layout"(%a) : (i32) -> i32\n'
    assert fingerprint("ttgir", module(body + '    x.p "ttg.convert_layout"')).converts == 2


def test_a_large_module_is_quick() -> None:
    """300 KB in about half a second; the limit leaves room for a busy machine."""
    text = read_fixture("matmul.cuda90")
    head, _, rest = text.partition("  tt.func")
    function, _, tail = rest.partition("\n} loc(#loc)\n")
    copies = "\n".join("  tt.func" + function.replace("@matmul", f"@matmul{number}") for number in range(38))
    content = f"{head}{copies}\n}} loc(#loc)\n{tail}".encode()
    assert len(content) > 300_000
    start = time.process_time()
    fingerprint("ttgir", content)
    assert time.process_time() - start < 1.5


@pytest.mark.parametrize(
    ("operation", "count"),
    [
        ("%2 = tt.atomic_rmw fadd, acq_rel, gpu, %0, %1 : (!tt.ptr<f32>, f32) -> f32", 1),
        ("%2 = amdgpu.buffer_atomic_rmw fadd, relaxed, gpu, %1, %0 : f32", 1),
        ("%2 = tt.atomic_cas acq_rel, gpu, %0, %1, %1 : (!tt.ptr<i32>, i32, i32) -> i32", 1),
        ("%2 = tt.atomic_rmw add, acq_rel, gpu, %0, %1 : (!tt.ptr<i32>, i32) -> i32", 0),
        ("%2 = tt.atomic_rmw max, acq_rel, gpu, %0, %1 : (!tt.ptr<i32>, i32) -> i32", 0),
        ('x.p "tt.atomic_rmw fadd"', 0),
        ("%2 = arith.addf %0, %1 : f32", 0),
    ],
)
def test_operations_whose_order_is_free_are_counted(operation: str, count: int) -> None:
    assert fingerprint("ttgir", module(f"    {operation}")).unordered == count
