"""The vocabulary as frozen data: what was recorded, and what was judged from it.

Recorded things (`Kernel`, `Row`, `FailedRow`, `Pin`, `Run`) come out of one run's events.jsonl; judged things
(`PairedRow`, `BrokenRow`, `NodeVerdict`, `OperatorVerdict`) are computed from them by pure functions in `analysis`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Literal, get_args

Side = Literal["before", "after"]
SIDES: tuple[Side, ...] = get_args(Side)


class Verdict(Enum):
    """One word per operator (R4), in the order in which every table lists them."""

    BROKEN = "BROKEN"
    IR_CHANGED = "IR_CHANGED"
    NO_IR_DIFF = "NO_IR_DIFF"
    NO_KERNEL = "NO_KERNEL"
    NO_ROWS = "NO_ROWS"


class Status(Enum):
    """How much of an operator's pair was obtained."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, order=True)
class RowKey:
    """Identity of a row across sides. `ordinal` counts the rows of one (node, operator, dtype, detail) from 0."""

    node: str
    operator: str
    dtype: str
    ordinal: int
    detail: str


@dataclass(frozen=True)
class KernelIdentity:
    """What makes two compiled variants "the same kernel" across sides; never a vendor's whole option set.

    The fields are canonical text as the probe recorded it: `signature`, `constants` and `attributes` are JSON.
    """

    name: str
    signature: str
    constants: str
    attributes: str
    num_warps: int
    num_stages: int
    num_ctas: int


@dataclass(frozen=True)
class StageText:
    """One recorded stage of a kernel. `path` is the raw file from the compiler: text, or an ELF of machine code."""

    name: str
    path: Path
    sha256: str = ""
    """Of the file when it was written; empty when unknown. A file that no longer agrees with it is unreadable."""


@dataclass(frozen=True)
class Kernel:
    """One compiled variant that a row's timed call launched."""

    identity: KernelIdentity
    shared_bytes: int | None
    stages: tuple[StageText, ...]
    configuration: str = ""
    """The autotuner's configuration it came from, empty when there is no tuner."""
    registers: int | None = field(default=None, compare=False)
    """Per thread, as the driver of a card told; None where none did."""
    spills: int | None = field(default=None, compare=False)
    source: StageText | None = field(default=None, compare=False)
    """What the frontend made of it, the input of the first stage; None where that was not recorded."""
    target: str = field(default="", compare=False)
    """What it was compiled for; empty where that was not recorded."""
    options: Mapping[str, object] | None = field(default=None, compare=False)
    """What its compile was asked for, a vendor's own options included; None where that was not recorded."""

    def stage(self, name: str) -> StageText | None:
        """The stage of that name, or None if it was not recorded."""
        return next((stage for stage in self.stages if stage.name == name), None)


TimingMethod = Literal["graph", "queued", "direct"]
"""graph: replay of a captured graph. queued: events enqueued behind a blocking kernel. direct: Triton's do_bench as it is."""
L2Policy = Literal["cold", "warm"]
"""cold: the L2 is flushed before each timed call, as do_bench does. warm: calls follow each other."""


@dataclass(frozen=True)
class CardReading:
    """The card beside a measurement; None where the vendor does not tell."""

    clock_mhz: int | None
    memory_clock_mhz: int | None
    temperature_c: int | None
    power_w: float | None
    throttle: tuple[str, ...] = ()
    """Why the clock is held down, in words; idling is none."""


@dataclass(frozen=True)
class Latency:
    """How long one call took on a card, in milliseconds; NaN throughout where nothing valid was measured (see `invalid`)."""

    method: TimingMethod
    l2: L2Policy
    median_ms: float
    q1_ms: float
    q3_ms: float
    min_ms: float
    samples: int
    launch_bound: bool = False
    """The host was slower than the device, so that this is the host's time."""
    invalid: str = ""
    """Why this is no latency (zero, negative, not a number, infinite), empty where it is one."""
    fell_back: tuple[tuple[TimingMethod, str], ...] = ()
    """Methods that were to be used and failed, each with why."""
    before: CardReading | None = None
    after: CardReading | None = None


@dataclass(frozen=True)
class OutputSample:
    """Some elements of one output tensor of a row's first call: raw little-endian bytes in `path`."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str
    path: Path
    elements: int
    of: int
    strides: tuple[int, ...] | None = None
    """Of a tensor that was not contiguous: they decide which of its elements were taken."""


@dataclass(frozen=True)
class Row:
    """One measured row: the launches of its timed call, in order."""

    key: RowKey
    launches: tuple[Kernel, ...]
    guesses: int = 0
    """How many data-dependent values the stand-in device had to guess before or in this row."""
    ran: Mapping[str, str] | None = None
    """Without a launch, where it was recorded: the device's operators that the call ran, as `view`, `native`, `library`."""
    seconds: float | None = field(default=None, compare=False)
    """Since the row before it, or since the run began."""
    latency: Latency | None = None
    """None where nothing was timed."""
    baseline: Latency | None = None
    """Of what the suite compares the operator with (torch's own operator), where that was timed."""
    outputs: tuple[OutputSample, ...] | None = None
    """None where none were recorded."""


@dataclass(frozen=True)
class FailedRow:
    """A row whose call raised. `stage` is the compiler stage or pass that failed, if it was the compiler."""

    key: RowKey
    phase: Literal["compile", "run", "read"]
    """`read`: the row was measured, but a recorded stage of it is missing, empty or unreadable."""
    message: str
    kernel: str = ""
    stage: str = ""
    whole_test: bool = False
    """True when the failure ended the test itself, so that later rows of the same node may be missing because of it."""


@dataclass(frozen=True)
class Pin:
    """One autotuner decision. `position` of `candidates` configurations; `how` it was obtained."""

    tuner: str
    key: str
    configuration: str
    position: int
    candidates: int
    how: Literal["tuned", "first", "all", "replayed"]
    origin: str = ""
    """Of a replayed choice that no card has timed: how it was made (`first`, `all`)."""


@dataclass(frozen=True)
class MissingPin:
    """An autotuner decision that could not be replayed, and why."""

    tuner: str
    key: str
    reason: str


@dataclass(frozen=True)
class BenchmarkShapes:
    """The shapes that a benchmark object of the suite had when it made its inputs, as text, `(1024, 1024)`."""

    operator: str
    classes: tuple[str, ...]
    """Its class and those above it, the nearest first: the suite looks its shapes up by these names too."""
    shapes: tuple[str, ...]
    file: str = ""
    """The shape file that it was told to read, empty if it was told none."""


@dataclass(frozen=True)
class Absence:
    """Why a node has no rows (or lost some). `clean` means that the suite decided so: an unsupported dtype, a skip."""

    kind: Literal[
        "dtype",
        "skipped",
        "failed",
        "timeout",
        "memory",
        "crashed",
        "nothing collected",
        "nothing captured",
        "foreign cache",
        "needs a device",
        "not started",
    ]
    reason: str
    clean: bool = False
    kernel: str = ""
    """The kernel whose compilation ended the test, if it was the compiler."""
    stage: str = ""


@dataclass(frozen=True)
class ProcessOutcome:
    """How a run's process ended, as the launcher saw it.

    `code` is the exit status (`exited`) or the signal number (`signal`, and `memory`: ended because it took more than it
    may), otherwise 0; `detail` is for people: the limit that ran out, or why the process could not be started.
    """

    kind: Literal["exited", "signal", "memory", "timeout", "not started"]
    code: int = 0
    detail: str = ""
    left: int = 0
    """Processes that it left behind, which were ended."""
    seconds: float | None = field(default=None, compare=False)
    """How long the process had, where it was measured."""


@dataclass(frozen=True)
class Run:
    """Everything that one process left behind: one case on one side."""

    node: str
    side: Side
    directory: Path
    rows: tuple[Row, ...]
    failed_rows: tuple[FailedRow, ...]
    pins: tuple[Pin, ...]
    missing_pins: tuple[MissingPin, ...]
    compiles: int
    """Compile events of this run's own, launched or not."""
    absence: Absence | None
    """Why the run ended early or empty; None for an orderly end with rows."""
    cached_kernels: int = 0
    """Compiled kernels that the run's own cache held at its end, whoever compiled them; 0 if it did not get there."""
    foreign_kernels: tuple[str, ...] = ()
    """Kernels that came out of a cache though this run had not compiled them: another run's code, maybe."""
    environment: Mapping[str, object] = field(default_factory=dict)
    """The `begin` event: versions, library hash, target."""
    unfinished_seconds: float | None = field(default=None, compare=False)
    """Of a run that was ended: how long it had been at whatever followed its last row."""
    limit_seconds: float | None = field(default=None, compare=False)
    """Of a run that ran out of time: how long it had in all."""
    shapes: tuple[BenchmarkShapes, ...] = ()
    left_processes: int = 0
    """Processes that were still there when the run had ended, and were ended."""


@dataclass(frozen=True)
class AskedShapes:
    """What a screen was asked for in shapes. `by_key` is the whole shape file that the suite is given, as text."""

    by_key: Mapping[str, tuple[str, ...]]
    keys: frozenset[str]
    """Those of its keys that the user asked for; the others are the suite's own."""
    whole_file: bool = False
    """The user's shapes replace the suite's for every operator, so one without a key falls back to defaults."""
    file_name: str = "shapes.yaml"


ShapeOutcome = Literal["honoured", "not honoured", "not seen", "no key", "not reached"]
"""`not seen`: the benchmark had the shapes, and the sizes of its rows are others; it may ignore them, or derive sizes."""


@dataclass(frozen=True)
class ShapeFinding:
    """What became of the shapes asked for one benchmark. `told` says it where something is to be said."""

    operator: str
    key: str
    """The key of the shape file that it matched, empty if none."""
    outcome: ShapeOutcome
    asked: tuple[str, ...]
    emitted: tuple[str, ...]
    told: str = ""


@dataclass(frozen=True)
class Launch:
    """Two matched launches of a row, or one without a partner, and where they part."""

    identity: KernelIdentity
    changed_stages: tuple[str, ...]
    """Stages (in pipeline order) whose fingerprints differ; empty when all recorded stages agree."""
    attributes_only: bool
    """The criterion stage differs in module attributes alone."""
    machine_code: Literal["same", "differs", "-"]
    converts_before: int
    converts_after: int
    unmatched: Side | None = None
    """Set when the launch exists on that side only."""
    specialised_otherwise: tuple[str, ...] = ()
    """The fields of the identity in which the two kernels differ; they were matched by name."""
    unstable: bool = False
    """The kernel differed from itself when the before side was compiled twice."""


@dataclass(frozen=True)
class Numerics:
    """How the outputs of one row compare between the sides, over the sampled elements.

    `largest_absolute` is |before - after|, `largest_relative` that over |before|; NaN on one side only counts as infinite.
    """

    same: bool
    largest_absolute: float = 0.0
    largest_relative: float = 0.0
    note: str = ""
    """In what they differ where no elements could be compared: their number, a dtype, a shape; both sizes are infinite then."""
    unordered: bool = False
    """They differ, but so they might from themselves: the same machine code on both sides, with floating-point atomics whose
    order is free. That says nothing about the switch."""

    @property
    def differ(self) -> bool:
        """Whether the outputs differ in a way that tells something about the sides."""
        return not self.same and not self.unordered


@dataclass(frozen=True)
class PairedRow:
    """A row that both sides measured."""

    key: RowKey
    changed: bool
    launches: tuple[Launch, ...]
    guesses: int = 0
    first_stage: str = "-"
    """The first stage, in pipeline order, at which any launch of the row differs; `-` if none."""
    machine_code: Literal["same", "differs", "-"] = "-"
    sequence: Literal["same", "reordered", "differs", "unstable"] = "same"
    """How the ordered kernel identities compare; `unstable` when the before side's repetition has another sequence."""
    numerics: Numerics | None = None
    """How the sampled outputs of the two sides compare; None where a side has none."""


@dataclass(frozen=True)
class BrokenRow:
    """A row that one side measured and that failed on the other."""

    key: RowKey
    side: Side
    """The side on which it failed."""
    phase: str
    kernel: str
    stage: str
    message: str


@dataclass(frozen=True)
class OneSidedRow:
    """A row that only one side measured, without a failure of its own on the other."""

    key: RowKey
    side: Side
    """The side that has the row."""
    why: str
    """What kept the other side from it."""


@dataclass(frozen=True)
class OperatorVerdict:
    """One line of screen.tsv, with what stands behind it."""

    operator: str
    dtype: str
    verdict: Verdict
    rows: int
    changed_rows: int
    kernels: int
    converts_before: int
    converts_after: int
    first_stage: str
    machine_code: Literal["same", "differs", "-"]
    pins: str
    reason: str
    seconds: float
    status: Status
    broken_compiles: int = 0
    """Broken rows whose compilation failed on one side only: the switch acts, whatever else agrees."""
    failed_runs: int = 0
    """Runs (one node, one side) that failed in whole or in part, crashed, timed out or never started."""
    guessed_rows: int = 0
    unstable_kernels: int = 0
    """Kernels (or launch sequences) that differed from themselves in a self-check, left out of the changes."""
    shapes: ShapeOutcome | Literal[""] = ""
    """Where shapes were asked for, the worst that became of them."""
    shape_keys: tuple[str, ...] = ()
    """The keys of the shape file that its benchmarks matched."""
    numerics: str = "n/a"
    """`same`, `differs (largest absolute …, relative …)`, or `n/a` where no row has outputs on both sides."""


@dataclass(frozen=True)
class NodeVerdict:
    """The share of one node in its operator's verdict; `summary` has the node's own counts and its own reason."""

    node: str
    summary: OperatorVerdict
    paired: tuple[PairedRow, ...]
    broken: tuple[BrokenRow, ...]
    one_sided: tuple[OneSidedRow, ...]
    failed: tuple[tuple[Side, FailedRow], ...]
    """Every failed row of either side, the broken ones included."""
    absences: tuple[tuple[Side, Absence], ...]
    missing_pins: tuple[tuple[Side, MissingPin], ...]
    shapes: tuple[ShapeFinding, ...] = ()


@dataclass(frozen=True)
class JudgedOperator:
    """An operator's verdict and, node by node, what it rests on."""

    verdict: OperatorVerdict
    nodes: tuple[NodeVerdict, ...]


def split_entry(text: str) -> tuple[str, str | None]:
    """`fft:complex64` is the operator `fft` with dtype `complex64`; without a single colon there is no dtype.

    The `::` of a node id and colons within the brackets of its parameters divide nothing.
    """
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if (
            letter == ":"
            and depth <= 0
            and ":" not in (text[position - 1 : position], text[position + 1 : position + 2])
        ):
            return text[:position], text[position + 1 :]
    return text, None
