"""Which cards an inherited mask leaves, and which of them --cards means."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet.simulated import MASK, simulated_cards
from zl_bench.backends.vendors import backend_named
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.fleet.cards import Card
from zl_bench.fleet.masks import choose, variables_for

FOUR = tuple(Card("nvidia", index, f"GPU-{letter * 8}", "Simulated H1") for index, letter in enumerate("abcd"))
NVIDIA = backend_named("nvidia")
AMD = backend_named("amd")
CUDA = "CUDA_VISIBLE_DEVICES"


def chosen(asked: str | None, mask: str | None = None, **environment: str) -> list[int]:
    if mask is not None:
        environment[CUDA] = mask
    return [card.index for card in choose(FOUR, NVIDIA, environment, asked)]


@pytest.mark.parametrize(
    ("asked", "indices"),
    [(None, [0]), ("all", [0, 1, 2, 3]), ("0", [0]), ("3,1", [3, 1]), (" 1 , 2 ", [1, 2]), ("1,1", [1]),
     ("GPU-cccc", [2]), ("GPU-dddddddd,0", [3, 0])],
)  # fmt: skip
def test_without_a_mask(asked: str | None, indices: list[int]) -> None:
    assert chosen(asked) == indices


@pytest.mark.parametrize(
    ("mask", "asked", "indices"),
    [
        ("2", None, [2]),
        ("3,1", None, [3]),
        ("3,1", "all", [3, 1]),
        ("3,1", "0", [3]),
        ("3,1", "1,0", [1, 3]),
        ("1,2,-1,3", "all", [1, 2]),
        ("1,,3", "all", [1]),
        (" 2 , 0 ", "all", [2, 0]),
        ("GPU-bbbbbbbb,GPU-dd", "all", [1, 3]),
        ("GPU-bbbbbbbb,GPU-dd", "1", [3]),
        ("0,GPU-cc", "GPU-cccc", [2]),
        ("1,1,0", "all", [1, 0]),
    ],
)
def test_numbers_count_what_the_mask_allows(mask: str, asked: str | None, indices: list[int]) -> None:
    assert chosen(asked, mask) == indices


@pytest.mark.parametrize("mask", ["", " ", "-1", "-1,0"])
@pytest.mark.parametrize("asked", [None, "all", "0"])
def test_a_mask_that_hides_every_card(mask: str, asked: str | None) -> None:
    with pytest.raises(EnvironmentUnfit, match=rf"{CUDA}={mask} hides every card.*--target cuda:90"):
        chosen(asked, mask)


@pytest.mark.parametrize("mask", ["4", "0,9", "GPU-e", "MIG-1234", "NoDevFiles", "GPU-"])
def test_a_mask_that_names_no_card_of_this_machine(mask: str) -> None:
    with pytest.raises(EnvironmentUnfit, match="none of this machine's cards: 0: card 0"):
        chosen(None, mask)


@pytest.mark.parametrize("asked", ["4", "0,7", "GPU-e", "GPU-", "one"])
def test_a_card_that_there_is_not(asked: str) -> None:
    with pytest.raises(UsageError, match=r"there is no card .* There are 0: card 0 \(Simulated H1, GPU-aaaaaaaa\)"):
        chosen(asked)


def test_a_card_that_the_mask_forbids() -> None:
    with pytest.raises(UsageError, match="what an inherited mask allows"):
        chosen("1", "3")
    with pytest.raises(UsageError):
        chosen("GPU-aaaaaaaa", "3")


@pytest.mark.parametrize("asked", ["", ",", "0,", ",1"])
def test_no_card_s_name(asked: str) -> None:
    with pytest.raises(UsageError, match="with commas between them"):
        chosen(asked)


def test_no_card_at_all() -> None:
    with pytest.raises(EnvironmentUnfit, match=r"there is no nvidia card.*--target"):
        choose((), NVIDIA, {}, "all")


MIXED = (Card("nvidia", 0, "GPU-aa", "Simulated display"), Card("nvidia", 1, "GPU-bb", "Simulated H1"))


@pytest.mark.parametrize(("mask", "asked"), [("0", None), ("1,0", "all"), (None, "0"), (None, "GPU-aa,1")])
def test_a_number_that_could_mean_two_cards_is_refused(mask: str | None, asked: str | None) -> None:
    """The runtime's numbers begin with the fastest card unless told otherwise, those of the list with the first slot."""
    environment = {} if mask is None else {CUDA: mask}
    with pytest.raises(UsageError, match="CUDA_DEVICE_ORDER=PCI_BUS_ID"):
        choose(MIXED, NVIDIA, environment, asked)
    assert choose(MIXED, NVIDIA, {**environment, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, asked)


def test_different_cards_may_be_named_where_no_number_is_meant() -> None:
    assert choose(MIXED, NVIDIA, {}, "all") == MIXED
    assert choose(MIXED, NVIDIA, {}, None) == MIXED[:1]
    assert choose(MIXED, NVIDIA, {}, "GPU-bb") == MIXED[1:]
    assert choose(MIXED, NVIDIA, {CUDA: "GPU-bb,GPU-aa"}, "0") == MIXED[1:]


def test_masks_within_masks() -> None:
    """ROCR_VISIBLE_DEVICES comes first; the others count what it leaves, and one of them at most."""
    cards = tuple(Card("amd", index) for index in range(4))
    for environment, indices in [
        ({"ROCR_VISIBLE_DEVICES": "3,1"}, [3, 1]),
        ({"HIP_VISIBLE_DEVICES": "2"}, [2]),
        ({CUDA: "2"}, [2]),
        ({"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "1"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "1", CUDA: "2"}, [1]),
    ]:
        assert [card.index for card in choose(cards, AMD, environment, "all")] == indices


def test_the_variables_of_a_process_that_sees_one_card(tmp_path: Path) -> None:
    assert variables_for(FOUR[2], NVIDIA) == {CUDA: "GPU-cccccccc"}
    assert variables_for(Card("amd", 3), AMD) == {
        "ROCR_VISIBLE_DEVICES": "3",
        "HIP_VISIBLE_DEVICES": None,
        CUDA: None,
    }
    assert variables_for(Card("ascend", 1), backend_named("ascend")) == {
        "ASCEND_RT_VISIBLE_DEVICES": "1",
        "NPU_VISIBLE_DEVICES": "1",
    }
    simulated = simulated_cards(tmp_path)
    assert variables_for(simulated.cards[1], simulated.backend) == {MASK: "SIM-b1000"}


def test_cards_that_nobody_can_list_are_taken_at_their_word() -> None:
    backend = backend_named("tsingmicro")
    mask = "TXDA_VISIBLE_DEVICES"
    assert choose(None, backend, {}, "2,0,2") == (Card("tsingmicro", 2), Card("tsingmicro", 0))
    assert choose(None, backend, {mask: "5,6"}, "1") == (Card("tsingmicro", 6),)
    assert choose(None, backend, {mask: "5,6"}, None) == (Card("tsingmicro", 5),)
    for asked in (None, "all", "GPU-a"):
        with pytest.raises(EnvironmentUnfit, match="--cards 0"):
            choose(None, backend, {}, asked)
    with pytest.raises(EnvironmentUnfit, match="is not known here"):
        choose(None, backend, {mask: "X"}, None)
