"""What a report of a root says: everything that its renderers show, as plain values, so that no renderer computes anything.

`dataclasses.asdict` of a `ReportView` is JSON: text, whole numbers, finite numbers, true and false, null and lists. A number is
None, and a text empty or `NOT_RECORDED`, where nobody knows it. Texts are as they were recorded: a renderer escapes them.
Paths are relative to the root's folder unless they lead out of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NOT_RECORDED = "not recorded"

Sameness = Literal["same", "differs", "-"]
"""`-` where nothing was compared."""


@dataclass(frozen=True)
class Question:
    """What was asked."""

    sentence: str
    """The question as one sentence, with its mark."""
    switch: str
    """As it was given: `pass:remove_layout_conversions`, `NAME=0..1`, `build:A..B`; empty where it was not recorded."""
    kind: Literal["variable", "pass", "build", ""]
    before: str
    """What the before side is, in words: `remove_layout_conversions kept`, `NAME=0`, `NAME unset`, an interpreter."""
    after: str
    suite: str
    target: str
    """What was compiled for without a card, such as `cuda:90`; empty for a screen on cards."""
    cards: tuple[str, ...]
    """Names of the models of card that anything ran on, without repetition."""
    operators: tuple[str, ...]
    """The entries that were asked for, `name` or `name:dtype`, in the order asked; empty where that was not recorded."""


@dataclass(frozen=True)
class VerdictCount:
    """How many operators (of a screen) or rows (of a measure) have a verdict, in the order in which tables list them."""

    verdict: str
    count: int
    sentence: str
    """What the verdict means, and never more than that; of a screen also what to do next."""


@dataclass(frozen=True)
class GroupView:
    """The geometric mean of the speed-ups of some rows, with its 95 % interval over rounds."""

    name: str
    rows: int
    """How many rows are in it, of `of` that could be."""
    of: int
    rounds: int
    speedup: float | None
    """before / after, above 1 is faster."""
    low: float | None
    """Of the interval; None with fewer than two rounds: then there is no range to show."""
    high: float | None
    sentence: str
    """All of that in words."""


@dataclass(frozen=True)
class ScreenPart:
    """What the screen as a whole says."""

    counts: tuple[VerdictCount, ...]
    """Verdicts that occur."""
    totals: str
    """`12 operators: 3 IR_CHANGED, 9 NO_IR_DIFF (1 partial)`."""
    axis_state: Literal["live", "not shown live", "dead", "null control"]
    axis: str
    """What that state means, as a sentence."""
    finding: str
    """Where the compiler was found to know the switch, or that this was not recorded."""
    criterion: str
    """The stage that decides a verdict: `ttgir`, or a vendor's counterpart."""
    basis: str
    """On how many compiles a verdict rests, as a sentence."""
    shapes: tuple[str, ...]
    """Where shapes were asked for: what became of them, a sentence each."""


@dataclass(frozen=True)
class MeasurePart:
    """What the measured rounds as a whole say."""

    counts: tuple[VerdictCount, ...]
    """Verdicts of rows, FASTER first; IDENTICAL rows are the placebos."""
    totals: str
    trusted: bool
    """False when rows of identical code moved: then no row of this measure can be believed."""
    untrusted: tuple[str, ...]
    """Why not, a phrase each."""
    placebo: GroupView
    """As measured; `rows` is 0 where there were none."""
    placebo_line: str
    """What the placebos say of this measure, as one sentence."""
    changed: GroupView
    """All changed rows together."""
    rounds: tuple[int, ...]
    """The numbers of the rounds that have both sides of some row."""
    basis: str
    """On how many rounds the verdicts rest, as a sentence; one round is called one round."""
    threshold: float
    """The share from which a change was called one: 0.01 is 1 %."""
    level: float
    """The rate of false discoveries among FASTER and SLOWER."""
    words: str
    """What FASTER, SLOWER and NO_CHANGE promise, as a sentence."""
    notes: tuple[str, ...]
    """What else must be known to read the numbers rightly, a sentence each: rounds of one side, bad lines, dropped pairs."""


@dataclass(frozen=True)
class NumericsView:
    """How the sampled outputs of a row compare between the sides."""

    same: bool
    text: str
    """`same`, or by how much or in what they differ."""


@dataclass(frozen=True)
class RoundView:
    """One round of one row: a fresh pair of processes. A side is None where that round has no latency of it."""

    number: int
    before_ms: float | None
    after_ms: float | None
    speedup: float | None
    """before / after of this round, as measured; None unless both sides are there."""
    first: Literal["before", "after", ""]
    """The side that went first; empty where nobody said."""


@dataclass(frozen=True)
class TimingView:
    """How long a row took on both sides, and what can be said of that."""

    source: Literal["measure", "screen"]
    """`screen`: one latency a side, taken while screening. That is one round, without interval and without verdict."""
    before_ms: float | None
    """The geometric mean over the paired rounds, as measured; of a single side where the other has none."""
    after_ms: float | None
    speedup: float | None
    """before / after, above 1 is faster; with the placebos' common mode taken out, where `source` is measure."""
    low: float | None
    """95 % interval of the speed-up; None with fewer than two paired rounds."""
    high: float | None
    q: float | None
    mde: float | None
    """The smallest change, as a share, that these rounds would have shown with a probability of 80 %."""
    verdict: str
    """FASTER, SLOWER, NO_CHANGE, INCONCLUSIVE, IDENTICAL, LAUNCH_BOUND or UNTRUSTED; empty where nothing was judged."""
    kind: Literal["changed", "placebo", ""]
    """placebo: machine code, configuration and launch are the same on both sides."""
    paired: int
    """Rounds that have both sides, of `of` that have any."""
    of: int
    rounds: tuple[RoundView, ...]
    method: str
    """`graph`, `queued` or `direct`, or `graph before, direct after`; NOT_RECORDED where nobody said."""
    l2: str
    """`cold` or `warm`; NOT_RECORDED where nobody said."""
    launch_bound: bool
    clocks: str
    """`1980 to 1980 MHz before, 1965 to 1980 MHz after`; NOT_RECORDED where the card or the file does not tell."""
    basis: str
    """What stands behind the numbers: `6 rounds`, `one round: no interval`, `4 of 6 rounds have both sides`."""
    note: str
    """Why there is no ratio, where there is none."""


@dataclass(frozen=True)
class StageView:
    """One recorded stage of a kernel."""

    name: str
    path: str
    """Of the raw file, relative to the root."""
    sha256: str
    """Of the file as it was recorded; equal files are equal code, different files may still be (locations, names)."""
    is_text: bool
    """Whether the file is text that can be shown beside the other side's."""


@dataclass(frozen=True)
class KernelView:
    """One compiled variant on one side of one run."""

    id: int
    """Its place in `ReportView.kernels`."""
    side: Literal["before", "after"]
    name: str
    signature: str
    """JSON, as recorded: [[parameter, type], …]."""
    constants: str
    """JSON, as recorded: {parameter: value}."""
    attributes: str
    num_warps: int
    num_stages: int
    num_ctas: int
    configuration: str
    """The autotuner's; empty without one."""
    shared_bytes: int | None
    registers: int | None
    """Per thread, as the machine code or its assembly says."""
    spills: int | None
    converts: int | None
    """convert_layout operations in the criterion stage."""
    stages: tuple[StageView, ...]
    """In pipeline order."""
    executable_sha256: str
    """Of the executable sections of the machine code; empty where there is none that can be read."""


@dataclass(frozen=True)
class LaunchView:
    """One matched pair of launches of a row, or one without a partner; equal ones of a row are one, `times` over."""

    name: str
    before: int | None
    """`KernelView.id`; None where that side has no such launch, or its run is gone."""
    after: int | None
    times: int
    changed_stages: tuple[str, ...]
    """By fingerprint, in pipeline order; empty when all recorded stages agree."""
    same_stages: tuple[str, ...]
    attributes_only: bool
    """The criterion stage differs in module attributes alone."""
    machine_code: Sameness
    converts_before: int
    converts_after: int
    only_on: Literal["before", "after", ""]
    specialised_otherwise: tuple[str, ...]
    """Parts of the kernel's identity in which the two differ; they were matched by name."""
    unstable: bool
    """It differed from itself when before was compiled twice, and is not counted as a change."""


@dataclass(frozen=True)
class RowView:
    """A row that both sides recorded, or that was measured."""

    key: str
    """Stable: the same row has the same key in every root, and in performance.csv and kernels.csv."""
    number: int | None
    """By which `zl-bench show --row` names it; None where it was not screened."""
    operator: str
    dtype: str
    detail: str
    """The size detail, as the suite writes it."""
    node: str
    parameters: str
    """Of the test it comes from: what its node has in brackets; empty without any."""
    ordinal: int
    """Counts rows that share all else from 0."""
    changed: bool | None
    """By the criterion stage; None where it was not screened."""
    first_stage: str
    """The first stage at which a launch differs; `-` if none."""
    machine_code: Sameness
    sequence: str
    """How the launch sequences compare: same, reordered, differs, unstable; empty where it was not screened."""
    guesses: int
    numerics: NumericsView | None
    launches: tuple[LaunchView, ...]
    timing: TimingView | None


@dataclass(frozen=True)
class ProblemView:
    """A row or a run of an operator that was not compared."""

    kind: Literal["broken", "failed", "one side only", "ended early", "missing pin"]
    side: str
    """On which it happened; of `one side only`, the side that has the row."""
    row: str
    """Dtype and size detail; empty where it is no single row."""
    node: str
    text: str


@dataclass(frozen=True)
class UncomparedRow:
    """A row that was not measured on both sides, and why."""

    row: RowView
    """Its key alone is known."""
    problem: Literal["broken", "failed", "one side only"]
    """broken: measured on one side, failed on the other."""
    failed_side: Literal["before", "after", "both"]
    """On which it failed; of `one side only`, the side that does not have it."""
    reason: str


@dataclass(frozen=True)
class OperatorView:
    """One operator entry, in the order of every table: BROKEN first."""

    entry: str
    """`name`, or `name:dtype` when a dtype was asked for."""
    operator: str
    dtype: str
    """The one that was asked for; `-` when none was."""
    verdict: str
    """BROKEN, IR_CHANGED, NO_IR_DIFF, NO_KERNEL or NO_ROWS; empty for one that was measured and not screened here."""
    advice: str
    """What to do about it, in a few words."""
    reason: str
    status: str
    """complete, partial or failed; empty where it was not screened."""
    numerics: str
    """`same`, `differs (…)` or `n/a`."""
    row_count: int
    changed_rows: int
    kernel_count: int
    """Distinct kernels that its paired rows launched."""
    converts_before: int
    converts_after: int
    first_stage: str
    machine_code: Sameness
    pins: str
    seconds: float | None
    speed: GroupView | None
    """Its changed rows together; None where none was measured in rounds."""
    speed_verdicts: tuple[tuple[str, int], ...]
    """(verdict of rows, how many), in the order of the verdicts."""
    rows: tuple[RowView, ...]
    problems: tuple[ProblemView, ...]
    key: str = ""
    """What stands for a row's key where it has none, in the line of a table that is about the operator itself."""
    uncompared: tuple[UncomparedRow, ...] = ()
    """The rows that the screen could not compare; one that was measured later on is in `rows` as well, by the same key."""
    first_failure: str = ""
    """Of a BROKEN one what failed in its first broken row, and how the message begins; shorter than the reason."""


@dataclass(frozen=True)
class NotCovered:
    """Something that this report can not speak for."""

    subject: str
    """An operator, or a group of them in words."""
    why: str


@dataclass(frozen=True)
class SideProvenance:
    """What one side ran, as its runs said themselves; where runs differ, every distinct value, comma-separated."""

    side: Literal["before", "after"]
    python: str
    interpreter: str
    platform: str
    triton: str
    """Its version."""
    triton_commit: str
    """Where the version names it."""
    library: str
    """The compiler's native library."""
    library_sha256: str
    torch: str
    """Version, and the CUDA or HIP it was built for."""
    target: str


@dataclass(frozen=True)
class CardProvenance:
    """One card that was used."""

    name: str
    uuid: str
    pci: str
    driver: str
    clocks: str
    """The range of its clock beside the latencies; NOT_RECORDED where nothing was timed or told."""
    throttle: str
    """Why the clock was held down, in words, or `none seen`; NOT_RECORDED where nothing was timed or told."""
    others: str
    """Who else had it open when it was taken."""


@dataclass(frozen=True)
class Provenance:
    """Where all of this comes from."""

    tool_version: str
    started: str
    """ISO 8601, with the offset from UTC."""
    root: str
    """The name of the root's folder."""
    suite: str
    suite_folder: str
    suite_hash: str
    """Over the suite's files."""
    suite_revision: str
    """The commit that its folder had checked out, where it is in a repository."""
    sides: tuple[SideProvenance, ...]
    cards: tuple[CardProvenance, ...]
    environment_differences: tuple[tuple[str, str, str], ...]
    """(variable, before, after) of all variables in which the recorded environments of the sides differ."""
    pins: str
    """Where the autotuners' choices come from, as a sentence."""


@dataclass(frozen=True)
class Reproduction:
    """What a second person needs to repeat it."""

    commands: tuple[str, ...]
    """Shell commands, in order."""
    exact: bool
    """Whether they are as they were typed (secrets hashed); otherwise put together from the request."""
    environment: tuple[tuple[str, str, str], ...]
    """(variable, before, after) that were given or switched; a value is `unset` where it must not be there."""
    facts: tuple[tuple[str, str], ...]
    """(what, value) of everything that must be the same: versions, library hashes, suite, pins, card, driver, clocks, tool."""


@dataclass(frozen=True)
class ReportView:
    """A report of one root."""

    title: str
    answer: str
    """The answer to the question in one sentence, never claiming more than the data says."""
    question: Question
    screen: ScreenPart | None
    """None for a root that was only measured."""
    measure: MeasurePart | None
    """None where no rounds were measured."""
    operators: tuple[OperatorView, ...]
    kernels: tuple[KernelView, ...]
    """Every kernel that a row's launches refer to, by `id`."""
    not_covered: tuple[NotCovered, ...]
    provenance: Provenance
    reproduction: Reproduction
    notes: tuple[str, ...]
    """What else must be known, a sentence each: an interrupted screen, runs that are gone."""
