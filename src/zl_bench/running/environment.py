"""The environment of each side: one base, byte-identical on both but for the switch, written down in every run."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import zl_bench.inside
from zl_bench.errors import UsageError
from zl_bench.running.switch import OWN_VARIABLES

PROBE_PATH = Path(zl_bench.inside.__file__).parent

UNSET = (
    # Would skip, share, replace or trim what a run compiles.
    "TRITON_CACHE_MANAGER",
    "TRITON_REMOTE_CACHE_BACKEND",
    "TRITON_CACHE_AUTOTUNING",
    "TRITON_KERNEL_OVERRIDE",
    "TRITON_ALWAYS_COMPILE",
    "TRITON_STORE_BINARY_ONLY",
    "TRITON_INTERPRET",
    # Would change or print what Triton compiles, and are not called after it.
    "ALLOW_LHS_TMEM_LAYOUT_CONVERSION",
    "DISABLE_FAST_REDUCTION",
    "DISABLE_LLVM_OPT",
    "DISABLE_MMA_V3",
    "DISABLE_MMA_V5",
    "DISABLE_PTXAS_OPT",
    "LLVM_ENABLE_TIMING",
    "LLVM_EXTRACT_DI_LOCAL_VARIABLES",
    "LLVM_IR_ENABLE_DUMP",
    "LLVM_PASS_PLUGIN_PATH",
    "PTXAS_OPTIONS",
    "TRITON_REPRODUCER_PATH",
    "USE_IR_LOC",
    # Would share tuned choices between runs, or choose by a model that no pin records.
    "FLAGGEMS_DB_URL",
    "USE_FLAGTUNE_COST_MODEL",
    "FLAGTUNE_INCLUDE",
    # Would change what pytest collects.
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
)
KNOB = re.compile(r"(TRITON|FLAGTREE|FLAGGEMS|FLAGTUNE|AMDGCN|NVPTX|MLIR)_")
"""What a compiler or FlagGems may act on: such a variable holds for both sides only where the user says so."""
PLACE = re.compile(r"_(PATH|PATHS|DIR|DIRS|HOME|VENDOR|BACKEND|IN_TREE)\Z")
"""Where an installation has its parts, or which part it uses: without it the installation may not work."""
SET = {
    "PYTHONHASHSEED": "0",  # sets and dicts of a suite must not order its work differently per process
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "USE_FLAGTUNE": "0",
    "USE_C_EXTENSION": "0",
}
SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|PRIVATE|ACCESS_KEY|COOKIE|AUTH", re.IGNORECASE)
LOGIN = re.compile(r"://[^/\s@]+@")
"""The user and password of a URL, as a proxy or a package index has them, in a variable of any name."""
ASSIGNMENT = re.compile(r"(?P<option>--[a-z-]+=)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
"""An argument that sets a variable."""


def parse_assignments(texts: Iterable[str]) -> dict[str, str]:
    """`K=V` pairs of --env. Raises UsageError for anything else, and for what the tool sets itself."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text!r} is not of the form NAME=VALUE.")
        if name in OWN_VARIABLES:
            raise UsageError(f"{name} is set by zl-bench for every run and can not be given with --env.")
        pairs[name] = value
    return pairs


def not_inherited(inherited: Iterable[str]) -> tuple[str, ...]:
    """Those of the variables that no side gets unless they are given: they may change what is compiled or collected."""
    return tuple(name for name in inherited if name in UNSET or (KNOB.match(name) and not PLACE.search(name)))


def side_environment(
    inherited: Mapping[str, str],
    switch_variables: Mapping[str, str | None],
    given: Mapping[str, str],
    hidden_cards: Iterable[str] = (),
    import_paths: Iterable[Path] = (),
) -> dict[str, str]:
    """The environment in which a side's interpreter starts. `hidden_cards` are mask variables to set to nothing.

    `import_paths` go before everything that is installed or inherited, behind the probe's own.

    Order of strength: the switch, what the user gave, what the tool needs, what was inherited.
    """
    left_out = frozenset(not_inherited(inherited))
    environment = {name: value for name, value in inherited.items() if name not in left_out}
    environment |= SET
    environment |= dict.fromkeys(hidden_cards, "")
    environment |= given
    for name, value in switch_variables.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    inherited_path = environment.get("PYTHONPATH")
    folders = [str(PROBE_PATH), *map(str, import_paths), *([inherited_path] if inherited_path else [])]
    environment["PYTHONPATH"] = ":".join(folders)
    return environment


def recordable(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment as it is written to a file that may be shared: a secret is replaced by a hash of it."""
    return {
        name: _hashed(value) if SECRET.search(name) or LOGIN.search(value) else value
        for name, value in sorted(environment.items())
    }


def recordable_command(arguments: Sequence[str]) -> str:
    """A command line as it is written to a file that may be shared, for a shell; secrets in NAME=VALUE are hashed."""
    return shlex.join(map(_recordable_argument, arguments))


def _recordable_argument(argument: str) -> str:
    found = ASSIGNMENT.fullmatch(argument)
    if found is None:
        return _hashed(argument) if LOGIN.search(argument) else argument
    return f"{found['option'] or ''}{found['name']}={recordable({found['name']: found['value']})[found['name']]}"


def _hashed(value: str) -> str:
    raw = value.encode("utf-8", "surrogatepass")  # a variable may hold bytes that are no text
    return f"(secret, sha256 {hashlib.sha256(raw).hexdigest()[:12]})"
