"""Options that several commands share, and how they become a backend, a switch and a suite."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import backend_for_target, backend_named
from zl_bench.config import Axis, Config, find_config, load_config
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.inside.zl_probe.offline import targets
from zl_bench.inside.zl_probe.offline.errors import TargetError
from zl_bench.running.switch import Switch, is_interpreter, parse_switch
from zl_bench.suites import flaggems
from zl_bench.suites.base import Suite, read_operator_file
from zl_bench.suites.named import load_suite

suite_option = click.option(
    "--suite",
    "suite_name",
    default="builtin",
    show_default=True,
    help="builtin, flaggems, or a folder of pytest benchmarks.",
)
checkout_option = click.option(
    "--checkout",
    type=click.Path(path_type=Path),
    help="The FlagGems checkout; ZL_FLAGGEMS or zl-bench.toml unless given.",
)


def configuration() -> Config:
    """What the zl-bench.toml of the working directory or of a folder above it says."""
    return load_config(find_config(Path.cwd()))


def choose_suite(name: str, checkout: Path | None, config: Config) -> Suite:
    """The suite of that name; FlagGems from the checkout that the flag, the environment or the configuration names."""
    if name == flaggems.NAME:
        return load_suite(name, config.checkout(checkout, os.environ))
    if checkout is not None:
        raise UsageError(f"--checkout is for --suite {flaggems.NAME}; the suite asked for is {name}.")
    return load_suite(name, None)


def choose_backend(vendor: str | None, target: str) -> DeviceBackend:
    """The vendor named, or else the one that the target belongs to."""
    return backend_named(vendor) if vendor is not None else backend_for_target(target)


def choose_target(text: str | None) -> str:
    """The target as it was given. Raises EnvironmentUnfit without one, UsageError for a spelling that no Triton could read."""
    if text is None:
        raise EnvironmentUnfit(
            "No card is used by this version, and no target is named. To screen without a card, name what to compile "
            "for: --target cuda:90 (also cuda:80, cuda:100, hip:gfx942)."
        )
    kind, _, arch = text.partition(":")
    if kind in targets.KNOWN_KINDS:
        try:
            targets.parse_target(text)
        except TargetError as error:
            raise UsageError(f"--target {text}: {error}.") from error
    elif kind and not arch:
        raise UsageError(f"--target {text}: write what kind of device and which, as in cuda:90 or hip:gfx942.")
    return text


def choose_axis(switch: str | None, name: str | None, config: Config) -> Axis:
    """The axis of that name, or the switch itself, which has none. Raises UsageError unless exactly one is given."""
    if (switch is None) == (name is None):
        raise UsageError("Name the switch under test: either --switch SWITCH or --axis NAME.")
    return config.axis(name) if name is not None else Axis("", switch or "")


def choose_operators(named: Sequence[str], file: Path | None, *, whole_suite: bool) -> tuple[str, ...]:
    """The operator entries of the command line and of --ops; none for the whole suite."""
    listed = read_operator_file(file) if file is not None else ()
    if whole_suite and (named or file is not None):
        raise UsageError("--all is the whole suite: name no operators and no --ops file beside it.")
    return (*named, *listed)


def choose_switch(text: str, backend: DeviceBackend, segment: str | None) -> Switch:
    """The switch, with the vendor's segment in its name where it asks for one."""
    return parse_switch(text, segment if segment is not None else backend.segment)


def choose_interpreter(python: str | None) -> Path:
    """The Python of the measured processes; this one unless another is named."""
    if python is None:
        return Path(sys.executable)
    path = Path(python).absolute()
    if not is_interpreter(str(path)):
        raise UsageError(f"--python {python}: there is no interpreter that can be executed.")
    return path
