"""What one compiled kernel is: its identity across sides, and its stages. Works on Triton 3.1 to 3.9."""

import json
from typing import Any

from .offline.targets import KNOWN_KINDS

SOURCE = "source"
"""The unoptimised input of the first stage, which only newer Tritons keep; it is no stage, and is recorded beside them."""
TEXT_STAGES_TO_SKIP = frozenset({SOURCE, "json"})


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


def _constants(source: Any, names: list[str]) -> dict[str, Any]:
    return {_parameter(path, names): value for path, value in source.constants.items()}


def _signature(source: Any, names: list[str], constants: dict[str, Any]) -> list[list[str]]:
    """The parameters that are passed. Triton 3.1 also lists arguments folded into constants, later ones do not."""
    pairs = [[_parameter(path, names), str(kind)] for path, kind in source.signature.items()]
    return [pair for pair in pairs if pair[1] != "constexpr" and pair[0] not in constants]


OLD_PROPERTIES = {
    "divisible_by_16": ["tt.divisibility", 16],
    "tt.divisibility": ["tt.divisibility", 16],
    "pointer_range_32": ["tt.pointer_range", 32],
    "tt.pointer_range": ["tt.pointer_range", 32],
}
"""What Triton 3.1 and 3.2 call a property of a parameter, in the words of later ones. Equal to 1 is a constant there."""


def _attributes(source: Any, names: list[str], constants: dict[str, Any]) -> dict[str, Any]:
    """Attributes by parameter, in the words of Triton 3.3 and later whatever the version.

    Parameters without any are left out, and so are constants: versions differ in whether they list those.
    """
    attributes = source.attrs
    if attributes is None:
        return {}
    found: dict[str, list[Any]] = {}
    if isinstance(attributes, dict):  # {path: [[name, value], …]}
        for path, value in attributes.items():
            found.setdefault(_parameter(path, names), []).extend(map(plain, value))
    elif hasattr(attributes, "to_dict"):  # Triton 3.1 and 3.2: positions per property, in 3.2 one level deeper
        properties = attributes.to_dict()
        for name, positions in properties.get("arg_properties", properties).items():
            if name in OLD_PROPERTIES:
                for position in positions:
                    found.setdefault(_parameter(position, names), []).append(OLD_PROPERTIES[name])
    else:
        return {"": plain(str(attributes))}
    return {name: sorted(value, key=str) for name, value in found.items() if value and name not in constants}


def identity(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The identity fields of the wire's `kernel` event for an ASTSource and the options that were asked for.

    The asked-for options, not the compiled metadata: a compiler may raise num_warps while it compiles (warp
    specialisation), and then the switch under test would make the two sides unmatchable.
    """
    names = list(getattr(getattr(source, "fn", None), "arg_names", []))
    ast_source = hasattr(source, "constants")
    constants = _constants(source, names) if ast_source else {}
    return {
        "name": str(source.name),
        "signature": canonical(_signature(source, names, constants) if ast_source else []),
        "constants": canonical(constants),
        "attributes": canonical(_attributes(source, names, constants) if ast_source else {}),
        "num_warps": int(options.get("num_warps") or 0),
        "num_stages": int(options.get("num_stages") or 0),
        "num_ctas": int(options.get("num_ctas") or 0),
    }


def stages(compiled: Any) -> list[tuple[str, Any]]:
    """(stage, text or bytes) of a CompiledKernel in the order in which the compiler made them."""
    return [(name, content) for name, content in compiled.asm.items() if name not in TEXT_STAGES_TO_SKIP]


def registers(compiled: Any) -> dict[str, int | None]:
    """Registers per thread and how many were spilled, as the driver says on loading it; None where no driver has loaded it."""
    count = getattr(compiled, "n_regs", None) or None  # no kernel has none: the stand-in device says 0
    return {"registers": count, "spills": None if count is None else getattr(compiled, "n_spills", None)}


def target_text(compiled: Any) -> str:
    """What the kernel was compiled for, as `--target` names it; with the warp size where no table of ours knows the kind."""
    target = compiled.metadata.target
    warp_size = "" if target.backend in KNOWN_KINDS else f":{target.warp_size}"
    return f"{target.backend}:{target.arch}{warp_size}"


def compile_options(options: dict[str, Any]) -> dict[str, Any]:
    """Those of the options that JSON can hold and that say something; enough to compile the kernel again."""
    return {str(name): value for name, value in options.items() if value is not None and _is_json(value)}


def _is_json(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    return value is None or isinstance(value, (bool, int, float, str))


def shared_bytes(compiled: Any) -> int | None:
    """Static and dynamic shared memory in bytes as the compiler recorded it, None when it did not get that far."""
    value = getattr(compiled.metadata, "shared", None)
    return None if value is None else int(value)
