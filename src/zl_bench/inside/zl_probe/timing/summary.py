"""What is recorded of a call's samples; everything else is judged outside."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Summary:
    """Milliseconds per call: the median, the quartiles, the minimum; NaN without a sample."""

    median_ms: float
    q1_ms: float
    q3_ms: float
    min_ms: float
    samples: int

    @property
    def invalid(self) -> str:
        """Why this is no latency, empty if it is one."""
        return why_invalid(self.median_ms) if self.samples else "nothing was measured"


def why_invalid(milliseconds: float) -> str:
    """Why that many milliseconds are no latency, empty if they are one."""
    if math.isnan(milliseconds):
        return "the latency is not a number"
    if math.isinf(milliseconds):
        return "the latency is infinite"
    if milliseconds <= 0:
        return "the latency is zero" if milliseconds == 0 else "the latency is negative"
    return ""


def summarise(samples: Sequence[float]) -> Summary:
    """Of samples in milliseconds. One that is not a number makes everything so."""
    if not samples or any(math.isnan(sample) for sample in samples):
        return Summary(math.nan, math.nan, math.nan, math.nan, len(samples))
    ordered = sorted(samples)
    return Summary(
        _quantile(ordered, 0.5), _quantile(ordered, 0.25), _quantile(ordered, 0.75), ordered[0], len(ordered)
    )


def summarise_turns(turns: Sequence[Sequence[float]]) -> Summary:
    """Of several turns: quartiles and minimum of all their samples, and the median of the turns' medians, so that each turn
    counts the same however many samples it took.
    """
    everything = summarise([sample for turn in turns for sample in turn])
    medians = sorted(summarise(turn).median_ms for turn in turns)
    if len(turns) < 2 or any(math.isnan(median) for median in medians):
        return everything
    return replace(everything, median_ms=_quantile(medians, 0.5))


def as_asked(samples: Sequence[float], quantiles: Sequence[float] | None, return_mode: str) -> float | list[float]:
    """The samples in the shape in which Triton's do_bench gives them for these arguments; NaN without a sample."""
    ordered = sorted(samples) or [math.nan]
    if quantiles is not None:
        found = [_quantile(ordered, share) for share in quantiles]
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return list(samples)
    if return_mode == "min":
        return ordered[0]
    if return_mode == "max":
        return ordered[-1]
    return _quantile(ordered, 0.5) if return_mode == "median" else sum(ordered) / len(ordered)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """By linear interpolation between the two samples that are next to it, as torch and NumPy do."""
    place = share * (len(ordered) - 1)
    lower = math.floor(place)
    upper = min(lower + 1, len(ordered) - 1)
    if ordered[lower] == ordered[upper]:
        return ordered[lower]  # also of two infinities, whose difference is not a number
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (place - lower)
