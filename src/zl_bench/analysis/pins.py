"""The `pins` column: how the autotuners' choices of a pair came about, and whether they cover what they could."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zl_bench.model import Pin, Run, Side


@dataclass(frozen=True)
class PinSummary:
    """The pins of a pair. `missing` holds one sentence for each decision that could not be replayed."""

    label: str
    missing: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether an equal IR under these pins says anything about every configuration that would run."""
        return covers_everything(self.label)


def covers_everything(label: str) -> bool:
    """Whether a `pins` cell promises full cover: no tuner, every choice replayed, or all configurations screened."""
    word, _, count = label.partition(" ")
    if word == "none":
        return True
    screened, _, candidates = count.partition("/")
    return word in ("replayed", "all") and screened == candidates != ""


def summarise_pins(pairs: Sequence[tuple[Run, Run]]) -> PinSummary:
    """Sum the pins of an operator's nodes, each given as its before and after run.

    `missing n` outranks `first a/b`, which outranks `all a/b` and `replayed n/n`: the weakest promise is the one told.
    """
    before = [pin for first, _ in pairs for pin in first.pins]
    missing = [sentence for first, second in pairs for sentence in _missing(first, second)]
    if missing:
        return PinSummary(f"missing {len(missing)}", tuple(missing))
    if not before:
        after = [pin for _, second in pairs for pin in second.pins]
        # A tuner that only the after side met was never pinned by anyone.
        return PinSummary(f"replayed 0/{len(_decisions(after))}" if after else "none")
    how = {pin.origin or pin.how for pin in before}
    if how & {"first", "all"}:
        screened, candidates = _configurations(before)
        return PinSummary(f"{'first' if 'first' in how else 'all'} {screened}/{candidates}")
    replayed = sum(len(_decisions(first.pins) & _decisions(second.pins)) for first, second in pairs)
    recorded = sum(len(_decisions(first.pins) | _decisions(second.pins)) for first, second in pairs)
    return PinSummary(f"replayed {replayed}/{recorded}")


def _missing(before: Run, after: Run) -> list[str]:
    """One sentence per decision that could not be replayed, or was replayed as something else."""
    sentences = []
    sides: tuple[tuple[Side, Run], ...] = (("before", before), ("after", after))
    reported = set()
    for side, run in sides:
        for pin in run.missing_pins:
            if (side, pin.tuner, pin.key) not in reported:
                reported.add((side, pin.tuner, pin.key))
                sentences.append(f"{side}: {pin.tuner} {pin.key}: {pin.reason}".strip())
    chosen = _choices(before.pins)
    for decision, configurations in _choices(after.pins).items():
        foreign = configurations - chosen.get(decision, configurations)
        if foreign:
            tuner, key = decision
            sentences.append(f"after: {tuner} {key}: ran {', '.join(sorted(foreign))}, not what before chose")
    return sentences


def _decisions(pins: Iterable[Pin]) -> set[tuple[str, str]]:
    return {(pin.tuner, pin.key) for pin in pins}


def _choices(pins: Iterable[Pin]) -> dict[tuple[str, str], set[str]]:
    choices: dict[tuple[str, str], set[str]] = defaultdict(set)
    for pin in pins:
        choices[pin.tuner, pin.key].add(pin.configuration)
    return choices


def _configurations(pins: Iterable[Pin]) -> tuple[int, int]:
    """Distinct configurations screened, and candidates, summed over the distinct tuners by name."""
    screened: dict[str, set[str]] = defaultdict(set)
    candidates: dict[str, int] = defaultdict(int)
    for pin in pins:
        screened[pin.tuner].add(pin.configuration)
        candidates[pin.tuner] = max(candidates[pin.tuner], pin.candidates)
    return sum(map(len, screened.values())), sum(candidates.values())
