"""Random renamings are SAME; a random significant token replaced is DIFFERENT."""

from __future__ import annotations

import re
import string
from functools import cache
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ir.corpus import fixtures, read_fixture
from zl_bench.ir.fingerprint import fingerprint
from zl_bench.ir.unreadable import UnreadableStage

NAMES = tuple(path.name.removesuffix(".ttgir") for path in fixtures())
LOCATIONS = (
    "loc(unknown)",
    'loc("x) \\" (":1:2)',
    'loc(callsite("a"("b.py":3:4) at #loc))',
    'loc(fused<"m">["b.py":3:4, unknown])',
    'loc("name"(#loc))',
    "",
)
SIMPLE_LOCATION = re.compile(r'loc\((?:#loc\d*|unknown|"\w+"(?:\(#loc\d*\))?|callsite\(#loc\d* at #loc\d*\))\)')
IDENTIFIER = re.compile(r'"[^"\n]*"|[A-Za-z_][\w.]*|\d[\w.]*')


def digest_or_none(text: str) -> str | None:
    """None for a text that is unreadable, and so equals nothing."""
    try:
        return fingerprint("ttgir", text.encode()).digest
    except UnreadableStage:
        return None


@cache
def digest_of(name: str) -> str:
    return fingerprint("ttgir", read_fixture(name).encode()).digest


@st.composite
def renamed_module(draw: st.DrawFn) -> tuple[str, str]:
    """A fixture with every value, alias and location renamed at random, bijectively."""
    name = draw(st.sampled_from(NAMES))
    head, *rest = re.split(r"(?m)^(?=module)", read_fixture(name))
    text = head + "".join(rest)
    random = Random(draw(st.integers(0, 2**32)))

    def fresh(taken: set[str], first: str) -> str:
        while True:
            candidate = random.choice(first) + "".join(
                random.choices(string.ascii_letters + "_$", k=random.randint(1, 9))
            )
            if candidate not in taken and not candidate.startswith("loc"):
                taken.add(candidate)
                return candidate

    taken: set[str] = set()
    values: dict[str, str] = {}
    text = re.sub(
        r"%[\w$.]+", lambda match: values.setdefault(match[0], "%" + fresh(taken, string.ascii_letters)), text
    )
    for alias in sorted(set(re.findall(r"(?m)^#(?!loc)\w+(?= =)", text))):
        text = re.sub(rf"{alias}\b(?!\.)", "#" + fresh(taken, string.ascii_letters), text)
    lines = [
        line if line.startswith("#") else SIMPLE_LOCATION.sub(lambda _: random.choice(LOCATIONS), line)
        for line in text.split("\n")
    ]
    definitions = [line for line in lines if line.startswith("#loc")]
    others = [line for line in lines if not line.startswith("#loc")]
    random.shuffle(definitions)
    return name, "\n".join(definitions + others)


@settings(max_examples=60, deadline=None)
@given(renamed_module())
def test_random_names_and_locations_are_the_same(case: tuple[str, str]) -> None:
    name, text = case
    assert fingerprint("ttgir", text.encode()).digest == digest_of(name)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_a_random_token_replaced_is_different(name: str, data: st.DataObject) -> None:
    lines = read_fixture(name).split("\n")
    chosen = data.draw(st.sampled_from([n for n, line in enumerate(lines) if line and not line.startswith("#loc")]))
    line = SIMPLE_LOCATION.sub(lambda match: " " * len(match[0]), lines[chosen]).partition("//")[0]
    tokens = [match for match in IDENTIFIER.finditer(line) if line[match.start() - 1] not in "%#^@!"]
    tokens = [match for match in tokens if not re.fullmatch(r"\d+", match[0]) or line[match.start() - 1] not in "#:"]
    if not tokens:
        return
    token = data.draw(st.sampled_from(tokens))
    old = token[0]
    new = data.draw(
        st.sampled_from([f"{old[:-1]}9{old[-1:]}", f"{old[:-1]}8{old[-1:]}"]).filter(lambda text: text != old)
    )
    lines[chosen] = lines[chosen][: token.start()] + new + lines[chosen][token.end() :]
    assert digest_or_none("\n".join(lines)) != digest_of(name)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_a_random_operand_replaced_by_another_value_is_different(name: str, data: st.DataObject) -> None:
    text = read_fixture(name)
    uses = [
        match
        for match in re.finditer(r"%[\w$.]+", text)
        if re.match(r"(?:#\d+)?[,)\]]? ?(?:[:,]|%|$)", text[match.end() :])
    ]
    use = data.draw(st.sampled_from(uses))
    others = sorted(set(re.findall(r"%[\w$.]+", text)) - {use[0]})
    new = data.draw(st.sampled_from(others))
    mutated = text[: use.start()] + new + text[use.end() :]
    assert fingerprint("ttgir", mutated.encode()).digest != digest_of(name)
