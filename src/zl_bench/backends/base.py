"""What the tool asks of a vendor. Everything else in the tool is the same for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, get_args

from zl_bench.backends.listing import CardProcess, ListedCard
from zl_bench.backends.status import CardStatus
from zl_bench.inside.zl_probe.compat.guards import SkipOverride
from zl_bench.model import TimingMethod

Capability = Literal["screen", "graph timing", "queued timing", "clocks", "masks"]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)
"""screen: the pair, the pins and the verdict. graph timing: latency by graph replay. queued timing: latency of launches
queued back to back. clocks: reading (or fixing) the card's clock. masks: hiding cards from a process."""

TimingFeature = Literal["events", "graphs", "durations"]
"""events: device timestamps between launches. graphs: capture and replay. durations: `do_bench` takes its warm-up and
repetition in milliseconds."""


class Standing(Enum):
    """What a statement about a capability rests on."""

    RUN = "run"
    """It was really run on that vendor's card."""
    SIMULATED = "simulated"
    """Only tests stand behind it: a stand-in device, a compile with no card, text that we wrote ourselves."""
    UNKNOWN = "unknown"
    """Nobody has tried."""


@dataclass(frozen=True)
class Evidence:
    """How far a capability is known to work. `by` is what stands behind it, as a path of this project; empty if unknown."""

    standing: Standing
    by: str = ""


UNKNOWN = Evidence(Standing.UNKNOWN)


@dataclass(frozen=True, kw_only=True)
class DeviceBackend:
    """One vendor's data. Where nobody has told, a field says so (None, or empty) rather than guess."""

    name: str
    """As FlagGems calls the vendor."""
    segment: str | None
    """What `{VENDOR}` becomes in a switch's name: empty for none, None when not known."""
    torch_device: str = ""
    """The device type of its tensors (`cuda`, `musa`)."""
    dispatch_key: str = ""
    """torch's dispatch key under which FlagGems registers its operators."""
    target_kinds: tuple[str, ...] = ()
    """First parts of the targets that the vendor's Triton compiles for (`cuda:90` -> `cuda`); no two vendors share one."""
    criterion_stage: str = "ttgir"
    """The stage whose fingerprints decide between IR_CHANGED and NO_IR_DIFF."""
    mask_variables: tuple[str, ...] = ()
    """They hide cards from a process, all to be set alike; a compile-only run sets them to nothing, so touches none."""
    inner_masks: tuple[str, ...] = ()
    """Of the mask variables, those that count within what the others leave: unset in a run that is given one card."""
    number_order: tuple[str, str] | None = None
    """The variable, and its value, by which a mask's numbers count cards as `list_command` does; None where they always do."""
    list_command: tuple[str, ...] = ()
    """Prints what `read_list` reads; where there is none, cards have the status command's numbers and no UUID."""
    read_list: Callable[[str], tuple[ListedCard, ...]] | None = None
    """Pure reader of the list command's output; an output that it does not know has no cards."""
    processes_command: tuple[str, ...] = ()
    """Prints what `read_processes` reads."""
    read_processes: Callable[[str], tuple[CardProcess, ...]] | None = None
    """Pure reader of the processes that have a card open."""
    query_command: tuple[str, ...] = ()
    """Succeeds where the vendor's cards are."""
    status_command: tuple[str, ...] = ()
    """Prints what `read_status` reads."""
    read_status: Callable[[str], tuple[CardStatus, ...]] | None = None
    """Pure reader of the status command's output; an output that it does not know has no cards."""
    option_names: Mapping[str, str] = field(default_factory=dict)
    """FlagGems benchmark options that have another name here."""
    replaces_shape_file: bool = False
    """FlagGems ignores `--shape_file` here and reads the vendor's own."""
    default_timing: TimingMethod = "direct"
    """How rows are timed unless asked otherwise: by graph only where the cards are known to bear it (R12)."""
    timing_lacks: tuple[TimingFeature, ...] = ()
    """Timing features reported missing or unsafe; what is not listed is not thereby known to work."""
    selected_by: tuple[str, ...] = ()
    """Variables whose mere presence makes FlagGems take this vendor, whatever else is set; its cards need them."""
    compat_plugins: tuple[str, ...] = ()
    """Probe modules that adapt pytest for this vendor, in order; they are planned before every other plugin (R10)."""
    skip_overrides: tuple[SkipOverride, ...] = ()
    """The skip guards that its compat plugins drop, to be checked against a checkout."""
    capabilities: Mapping[Capability, Evidence] = field(default_factory=dict)
    """What is known of each capability; one that is not listed is unknown."""

    def evidence(self, capability: Capability) -> Evidence:
        """What stands behind a capability."""
        return self.capabilities.get(capability, UNKNOWN)

    @property
    def environment(self) -> dict[str, str]:
        """Makes FlagGems take this vendor rather than look for cards."""
        return {"GEMS_VENDOR": self.name}

    def named_options(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """pytest arguments with the options' names of this vendor (`--mode kernel`, `--mode=kernel`)."""
        renamed = []
        for argument in arguments:
            name, equals, value = argument.partition("=")
            renamed.append(self.option_names.get(name, name) + equals + value)
        return tuple(renamed)
