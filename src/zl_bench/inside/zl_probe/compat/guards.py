"""Which skip guard may be dropped: data that the probe acts on and the tool checks. Standard library only."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SkipOverride:
    """One `pytest.mark.skipif` on the tests of one file that is wrongly wider than the code under test.

    `file` is relative to the checkout, `reason` the whole text of the guard's reason; both must fit exactly. `condition`
    is what the guard's condition holds in its source, so that a guard which was rewritten can be noticed. `why` says why
    it may be dropped, and `tried` on which card that was seen: empty when it was only read from source.
    """

    file: str
    reason: str
    condition: str
    why: str
    tried: str = ""
