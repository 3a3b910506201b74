"""Makes the commonest views of fake tensors directly.

Torch's fake mode looks every call up by all of its arguments, which costs more than a view does, and suites take thousands:
one row or element after another, each at another place.
"""

from __future__ import annotations

from typing import Any

NAMES = [
    "select.int",
    "slice.Tensor",
    "unsqueeze.default",
    "squeeze.dim",
    "transpose.int",
    "permute.default",
    "t.default",
    "view.default",
    "expand.default",
    "detach.default",
    "alias.default",
]
"""Views of one tensor whose shape follows from numbers alone."""


class FastViews:
    """Runs a view's own kernel for tensors without values, as torch's fake mode does in the end."""

    def __init__(self, torch: Any, fake_mode: Any) -> None:
        from torch._subclasses import fake_tensor

        self._fake_mode = fake_mode
        self._strided = torch.strided
        self._fake_tensor = fake_tensor.FakeTensor
        # Torch's own innards: where they are missing, every view takes the long way.
        self._in_kernel: Any = getattr(fake_tensor, "in_kernel_invocation_manager", None)
        self._wrap: Any = getattr(getattr(fake_mode, "fake_tensor_converter", None), "from_meta_and_device", None)
        found = [getattr(getattr(torch.ops.aten, name), kind, None) for name, kind in (n.split(".") for n in NAMES)]
        self._known = frozenset(found if self._in_kernel is not None and self._wrap is not None else ())

    def make(self, func: Any, args: Any, kwargs: Any) -> Any | None:
        """The view; None where the fake mode must be asked, for an error's own words too."""
        if func not in self._known or kwargs or type(args[0]) is not self._fake_tensor:
            return None
        base = args[0]
        if base.layout != self._strided or base.constant is not None:
            return None
        try:
            with self._in_kernel(self._fake_mode):
                view = func(*args)
        except (RuntimeError, IndexError, TypeError, ValueError):
            return None
        return self._wrap(self._fake_mode, view, base.fake_device)
