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
from zl_bench.fleet.masks import WITHOUT_A_CARD
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
switch_option = click.option(
    "--switch", "switch_text", help="NAME, NAME=BEFORE..AFTER, pass:NAME[@N[,N…]] or build:PY..PY."
)
axis_option = click.option(
    "--axis", "axis_name", help="A switch by its name in zl-bench.toml; rlc ships with the tool."
)
resume_option = click.option(
    "--resume", is_flag=True, help="Skip the operators that a root has finished; needs --root."
)
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds per run, and for each of its processes where timing takes several.",
)
memory_option = click.option(
    "--memory",
    type=click.FloatRange(0, min_open=True),
    metavar="GIB",
    help="GiB that a run and its processes may take together; unless given, 80 % of what is available shared by the runs "
    "that go on at a time.",
)
dtypes_option = click.option(
    "--dtypes",
    type=click.Choice(["own", "first"]),
    default="own",
    show_default=True,
    help="Of operators asked for without a dtype (flaggems): all their own dtypes, or only the first.",
)
shape_option = click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="[OPERATOR=]N,N,…",
    help="Run this shape instead of the suite's own (flaggems), as in softmax=4096,256; without OPERATOR, in every "
    "operator. Repeatable: shapes of one operator add up.",
)
shape_file_option = click.option(
    "--shape-file",
    type=click.Path(path_type=Path),
    help="Give FlagGems this shape file (YAML) instead of its own; --shape OPERATOR=… overrides it.",
)
force_option = click.option(
    "--force", is_flag=True, help="Go on although the compiler does not seem to know the switch."
)
python_option = click.option(
    "--python", help="Python of the measured processes; the one that runs zl-bench unless given."
)
vendor_option = click.option(
    "--vendor",
    help="Vendor of the cards, whose segment {VENDOR} in the switch stands for; by the target, or by the cards that are "
    "found, unless given.",
)
segment_option = click.option("--vendor-segment", help="The segment itself, for a vendor that is not known.")
operator_file_option = click.option(
    "--ops", "operator_file", type=click.Path(path_type=Path), help="Read operators from this file, one a line."
)
whole_suite_option = click.option(
    "--all", "whole_suite", is_flag=True, help="The whole suite, as without any operator."
)
operators_argument = click.argument("operators", nargs=-1, metavar="[OPERATOR[:DTYPE]]...")


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
        raise EnvironmentUnfit(f"No target is named. {WITHOUT_A_CARD}")
    kind, _, arch = text.partition(":")
    if kind in targets.KNOWN_KINDS:
        try:
            targets.parse_target(text)
        except TargetError as error:
            raise UsageError(f"--target {text}: {error}.") from error
    elif kind and not arch:
        raise UsageError(f"--target {text!r}: write what kind of device and which, as in cuda:90 or hip:gfx942.")
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
