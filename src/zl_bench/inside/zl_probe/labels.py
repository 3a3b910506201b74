"""What a row is called in a plain pytest benchmark suite: by its test function and its parameters."""

import re
from typing import Any

from .rows import Label

DTYPE_PARAMETER = "dtype"
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}", re.IGNORECASE)


def parameters(item: Any) -> dict[str, Any]:
    """The parameters of a collected test, empty when it has none."""
    call_spec = getattr(item, "callspec", None)
    return dict(call_spec.params) if call_spec is not None else {}


def dtype_of(item: Any) -> str | None:
    """The test's dtype by name (`float16`), None when it is not parametrised by dtype."""
    value = parameters(item).get(DTYPE_PARAMETER)
    return None if value is None else _text(item, value).rsplit(".", 1)[-1]


def label_of(item: Any) -> Label:
    """The row label of a collected test: node without parameters, operator, dtype, and the rest as size detail."""
    rest = {name: value for name, value in parameters(item).items() if name != DTYPE_PARAMETER}
    function = getattr(item, "originalname", None) or item.name
    return {
        "node": item.nodeid.split("[", 1)[0],
        "operator": function[len("test_") :] if function.startswith("test_") else function,
        "dtype": dtype_of(item) or "-",
        "detail": " ".join(f"{name}={_text(item, value)}" for name, value in sorted(rest.items())),
    }


def _text(item: Any, value: Any) -> str:
    """The value as text. One that prints its address, another in each process, is known by pytest's id of the test."""
    text = str(value)
    return str(item.callspec.id) if ADDRESS.search(text) else text
