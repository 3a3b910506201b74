"""Which cards an inherited mask allows, which of them are meant, and how a process is given one: pure functions.

A mask is a variable such as CUDA_VISIBLE_DEVICES. It names cards by number or by (the beginning of) their UUID, separated by
commas; a negative number ends it, and an empty one hides every card. A card's number is its position among the cards that
the mask allows, in the mask's own order: what a process that inherits the mask calls device 0, 1, …
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zl_bench.backends.base import DeviceBackend
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.fleet.cards import Card

ALL = "all"
LONGEST_NUMBER = 9
"""Digits of a card's number that are read; whoever writes more means no card that there is."""


WITHOUT_A_CARD = (
    "To screen without a card, name what to compile for: --target cuda:90 (also cuda:80, cuda:100, hip:gfx942)."
)


def choose(
    cards: Sequence[Card] | None,
    backend: DeviceBackend,
    environment: Mapping[str, str],
    asked: str | None,
    otherwise: str = WITHOUT_A_CARD,
) -> tuple[Card, ...]:
    """The cards that `--cards` means (None: the first one) among those that the environment's masks allow, each once.

    `cards` are all that the vendor lists, None where nobody knows how; then numbers are taken at their word. `otherwise` is
    what helps the command where there is none.
    Raises EnvironmentUnfit when nothing is allowed, UsageError for what names no card.
    """
    masks = _masks_in_force(backend, environment)
    allowed = list(cards) if cards is not None else None
    for name in masks:
        entries = _entries(environment[name])
        _require_one_order(cards or (), backend, environment, entries, name)
        allowed = _masked(allowed, entries, name, environment[name], backend)
    if allowed is None:
        return _at_their_word(backend, asked, otherwise)
    if not allowed:
        hidden = (
            f"{masks[-1]}={environment[masks[-1]]} hides every card" if masks else f"there is no {backend.name} card"
        )
        raise EnvironmentUnfit(f"No card can be used: {hidden}. {otherwise}")
    if asked is None:
        return (allowed[0],)
    if asked.strip() == ALL:
        return tuple(allowed)
    entries = _asked_entries(asked)
    if not masks:
        _require_one_order(allowed, backend, environment, entries, "--cards")
    return tuple(dict.fromkeys(_asked_card(allowed, entry, asked) for entry in entries))


def variables_for(card: Card, backend: DeviceBackend) -> dict[str, str | None]:
    """The mask variables of a process that is to see that card alone; None for one that must be unset."""
    return {name: None if name in backend.inner_masks else card.selector for name in backend.mask_variables}


def _masks_in_force(backend: DeviceBackend, environment: Mapping[str, str]) -> list[str]:
    """The masks that count, the outer one first; of several that are read alike, the first that is set."""
    outer = [name for name in backend.mask_variables if name not in backend.inner_masks]
    found = (next((name for name in names if name in environment), None) for names in (outer, backend.inner_masks))
    return [name for name in found if name is not None]


def _entries(text: str) -> list[str]:
    """What a mask names, up to where it ends."""
    entries: list[str] = []
    for part in text.split(","):
        entry = part.strip()
        if not entry or entry.startswith("-"):
            break
        entries.append(entry)
    return entries


def _masked(
    cards: list[Card] | None, entries: Sequence[str], name: str, value: str, backend: DeviceBackend
) -> list[Card]:
    if cards is None:
        if not all(entry.isdecimal() for entry in entries):
            raise EnvironmentUnfit(f"{name}={value}: how the cards of {backend.name} are listed is not known here.")
        return [Card(backend.name, int(entry)) for entry in dict.fromkeys(entries)]
    found = [_one(cards, entry) for entry in entries]
    unknown = [entry for entry, card in zip(entries, found, strict=True) if card is None]
    if unknown:
        raise EnvironmentUnfit(
            f"{name}={value} names {unknown[0]}, which is none of this machine's cards: {_listed(cards)}. "
            "Set it to cards that there are, or unset it."
        )
    return list(dict.fromkeys(card for card in found if card is not None))


def _one(cards: Sequence[Card], entry: str) -> Card | None:
    """The card of that number (a position) or of a UUID that begins so; None if there is none, or more than one."""
    if entry.isdecimal():
        number = int(entry[:LONGEST_NUMBER])
        return cards[number] if number < len(cards) else None
    matching = [card for card in cards if card.uuid and card.uuid.startswith(entry)]
    return matching[0] if len(matching) == 1 else None


def _asked_entries(asked: str) -> list[str]:
    entries = [entry.strip() for entry in asked.split(",")]
    if not all(entries):
        raise UsageError(f"--cards {asked!r}: write numbers or UUIDs with commas between them, as in 0,1, or all.")
    return entries


def _asked_card(allowed: Sequence[Card], entry: str, asked: str) -> Card:
    card = _one(allowed, entry)
    if card is None:
        raise UsageError(
            f"--cards {asked}: there is no card {entry}. There are {_listed(allowed)}; numbers count from 0 what an "
            "inherited mask allows."
        )
    return card


def _at_their_word(backend: DeviceBackend, asked: str | None, otherwise: str) -> tuple[Card, ...]:
    """Numbers of cards that nobody can list."""
    entries = _asked_entries(asked) if asked is not None and asked.strip() != ALL else []
    if not entries or not all(entry.isdecimal() for entry in entries):
        raise EnvironmentUnfit(
            f"How the cards of {backend.name} are listed is not known here: name them by number, as in --cards 0. "
            + otherwise
        )
    return tuple(Card(backend.name, int(entry)) for entry in dict.fromkeys(entries))


def _require_one_order(
    cards: Sequence[Card], backend: DeviceBackend, environment: Mapping[str, str], entries: Sequence[str], where: str
) -> None:
    """Refuse a number where it could mean one card to the vendor's runtime and another to its list."""
    if backend.number_order is None or len({card.name for card in cards}) < 2:
        return
    variable, value = backend.number_order
    if environment.get(variable) != value and any(entry.isdecimal() for entry in entries):
        raise UsageError(
            f"The cards of this machine differ ({_listed(cards)}), so the numbers in {where} could mean either order. "
            f"Set {variable}={value} to count them so, or name cards by their UUIDs."
        )


def _listed(cards: Sequence[Card]) -> str:
    return ", ".join(f"{position}: {card}" for position, card in enumerate(cards)) or "none"
