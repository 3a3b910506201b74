"""Follows what a library registers for aten operators on the accelerator, as the dispatcher would.

On a card, `torch.library.Library("aten", "IMPL").impl("add.Tensor", function, "CUDA")` puts the function into the dispatch
table; here the dispatch mode looks it up instead. Only what the mode could never see is registered for real as well:
operators that autograd would decompose first, and functions for other dispatch keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Route = Callable[..., Any]


class Routes:
    """The functions that live libraries registered for the accelerator, by qualified overload (`aten::add.Tensor`).

    Of two registrations for one overload the later wins, and the earlier returns when the later's library is destroyed.
    """

    def __init__(self, dispatch_key: str) -> None:
        self._key = dispatch_key
        self._functions: dict[str, list[tuple[int, Route]]] = {}

    def find(self, overload: str) -> Route | None:
        """The function that the accelerator's dispatch table would hold for an overload (`aten::add.Tensor`)."""
        entries = self._functions.get(overload)
        return entries[-1][1] if entries else None

    def add(self, library: Any, overload: str, function: Route) -> None:
        """Route an overload to a function for as long as the library lives."""
        self._functions.setdefault(overload, []).append((id(library), function))

    def remove(self, library: Any) -> None:
        """Forget what a destroyed library had registered."""
        for overload, entries in list(self._functions.items()):
            kept = [entry for entry in entries if entry[0] != id(library)]
            if kept:
                self._functions[overload] = kept
            else:
                del self._functions[overload]

    def install(self) -> None:
        """Watch `torch.library.Library` in this process."""
        import torch

        library_class: Any = torch.library.Library
        impl, destroy = library_class.impl, library_class._destroy
        known: dict[str, bool] = {}

        def watched_impl(library: Any, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **kwargs: Any) -> Any:
            key = dispatch_key or library.dispatch_key
            passes_keyset = bool(args or kwargs.get("with_keyset"))
            if key != self._key or passes_keyset or not callable(fn) or fn is torch.library.fallthrough_kernel:
                return impl(library, op_name, fn, dispatch_key, *args, **kwargs)
            overload = qualified_name(library.ns, op_name)
            if overload not in known:
                known[overload] = _seen_by_mode(torch, overload)
            if not known[overload]:
                impl(library, op_name, fn, dispatch_key, *args, **kwargs)
            self.add(library, overload, fn)
            return None

        def watched_destroy(library: Any) -> Any:
            self.remove(library)
            return destroy(library)

        library_class.impl = watched_impl
        library_class._destroy = watched_destroy


def qualified_name(namespace: str, op_name: Any) -> str:
    """`aten::add.Tensor` for an operator given as `add.Tensor`, `aten::add.Tensor` or as an overload."""
    if not isinstance(op_name, str):
        return str(op_name.name())
    return op_name if "::" in op_name else f"{namespace}::{op_name}"


def _seen_by_mode(torch: Any, overload: str) -> bool:
    """Whether a call of the overload always reaches the dispatch mode whole.

    A composite implicit operator does so only when the accelerator has a kernel of its own for it. A name that torch does
    not know is registered for real, so that the library hears the error which it would hear on a card.
    """
    try:
        exists = torch._C._dispatch_has_kernel(overload)
    except RuntimeError:
        return False
    return bool(exists) and not torch._C._dispatch_has_kernel_for_dispatch_key(overload, "CompositeImplicitAutograd")
