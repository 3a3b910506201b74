"""What one compiled kernel is: its identity across sides, and its stages. Works on Triton 3.1 to 3.9."""

import json
from typing import Any

TEXT_STAGES_TO_SKIP = frozenset({"source", "json"})
"""`source` is the unoptimised input of the ttir stage, which only newer Tritons keep."""


def plain(value: Any) -> Any:  # noqa: PLR0911 - one return per kind of value
    """A JSON value that is equal for equal constants whatever process and Triton they come from.

    Never `repr` of an object with an address in it: a callable is known by its name, a type by its text.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in sorted(value.items(), key=lambda pair: str(pair[0]))}
    if type(value).__name__ == "constexpr":
        return plain(value.value)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if callable(value) and name:
        return str(name)
    text = str(value)
    return text if " at 0x" not in text else type(value).__qualname__


def canonical(value: Any) -> str:
    """Compact JSON of `plain(value)` with sorted keys."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"))


def _parameter(path: Any, names: list[str]) -> str:
    """Name of the parameter that a constant or attribute path (`(3,)`, `(3, 0)`, `3` or `"BLOCK"`) points to."""
    if isinstance(path, str):
        return path
    steps = path if isinstance(path, tuple) else (path,)
    first = names[steps[0]] if isinstance(steps[0], int) and steps[0] < len(names) else str(steps[0])
    return ".".join([first, *(str(step) for step in steps[1:])])


def _signature(source: Any, names: list[str]) -> list[list[str]]:
    pairs = [[_parameter(key, names), str(kind)] for key, kind in source.signature.items()]
    return [pair for pair in pairs if pair[1] != "constexpr"]


def _attributes(source: Any, names: list[str]) -> dict[str, Any]:
    attributes = source.attrs
    if attributes is None:
        return {}
    if isinstance(attributes, dict):  # Triton 3.3 and later: {path: [[name, value], …]}
        return {_parameter(path, names): sorted(map(plain, value), key=str) for path, value in attributes.items()}
    if hasattr(attributes, "to_dict"):  # Triton 3.1 and 3.2: sets of parameter positions per property
        found: dict[str, list[Any]] = {}
        for prop, positions in attributes.to_dict().items():
            if isinstance(positions, (list, tuple, set)):
                for position in positions:
                    found.setdefault(_parameter(position, names), []).append([str(prop), True])
        return {name: sorted(value, key=str) for name, value in found.items()}
    return {"": plain(str(attributes))}


def identity(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The identity fields of the wire's `kernel` event for an ASTSource and the options that were asked for.

    The asked-for options, not the compiled metadata: a compiler may raise num_warps while it compiles (warp
    specialisation), and then the switch under test would make the two sides unmatchable.
    """
    names = list(getattr(getattr(source, "fn", None), "arg_names", []))
    ast_source = hasattr(source, "constants")
    return {
        "name": str(source.name),
        "signature": canonical(_signature(source, names)) if ast_source else "[]",
        "constants": canonical({_parameter(key, names): value for key, value in source.constants.items()})
        if ast_source
        else "{}",
        "attributes": canonical(_attributes(source, names)) if ast_source else "{}",
        "num_warps": int(options.get("num_warps") or 0),
        "num_stages": int(options.get("num_stages") or 0),
        "num_ctas": int(options.get("num_ctas") or 0),
    }


def stages(compiled: Any) -> list[tuple[str, Any]]:
    """(stage, text or bytes) of a CompiledKernel in the order in which the compiler made them."""
    return [(name, content) for name, content in compiled.asm.items() if name not in TEXT_STAGES_TO_SKIP]


def shared_bytes(compiled: Any) -> int | None:
    """Static and dynamic shared memory in bytes as the compiler recorded it, None when it did not get that far."""
    value = getattr(compiled.metadata, "shared", None)
    return None if value is None else int(value)
