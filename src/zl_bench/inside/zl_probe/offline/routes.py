"""Follows what a library registers for aten operators on the accelerator, as the dispatcher would.

On a card, `torch.library.Library("aten", "IMPL").impl("add.Tensor", function, "CUDA")` puts the function into the dispatch
table; here the dispatch mode looks it up instead. Only what the mode could never see is registered for real as well:
operators that autograd would decompose first, and functions for other dispatch keys.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .operations import LIBRARY, Operations

Route = Callable[..., Any]


class Routes:
    """The functions that live libraries registered for the accelerator, by qualified overload (`aten::add.Tensor`).

    Of two registrations for one overload the later wins, and the earlier returns when the later's library is destroyed,
    unless torch refuses the later one: until 2.11 it did, unless asked to allow it.
    `whole` names operators of aten that reach the dispatch mode whole whatever torch says.
    """

    def __init__(self, dispatch_key: str, operations: Operations, whole: Iterable[str] = ()) -> None:
        self._key = dispatch_key
        self._operations = operations
        self._whole = {qualified_name("aten", name) for name in whole}
        self._functions: dict[str, list[tuple[int, Route]]] = {}
        self._noting: dict[tuple[str, int], Route] = {}  # a suite registers the same functions around every row

    def find(self, overload: str) -> Route | None:
        """The function that the accelerator's dispatch table would hold for an overload (`aten::add.Tensor`)."""
        entries = self._functions.get(overload)
        return entries[-1][1] if entries else None

    def add(self, library: Any, overload: str, function: Route) -> None:
        """Route an overload to a function for as long as the library lives."""
        self._functions.setdefault(overload, []).append((id(library), function))

    def remove(self, library: Any) -> None:
        """Forget what a destroyed library had registered."""
        number = id(library)
        for overload, entries in list(self._functions.items()):
            kept = [entry for entry in entries if entry[0] != number]
            if kept:
                self._functions[overload] = kept
            else:
                del self._functions[overload]

    def _noted(self, overload: str, function: Route) -> Route:
        """The function, for the real dispatch table: its calls do not pass through the mode."""
        key = (overload, id(function))  # what is kept keeps the function, so that an id is never reused
        if key not in self._noting:
            self._noting[key] = self._note_calls(overload, function)
        return self._noting[key]

    def _note_calls(self, overload: str, function: Route) -> Route:
        @functools.wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self._operations.note(overload, LIBRARY)
            return function(*args, **kwargs)

        return noted

    def install(self) -> None:
        """Watch `torch.library.Library` in this process."""
        import torch

        library_class: Any = torch.library.Library
        impl, destroy = library_class.impl, library_class._destroy
        override = inspect.signature(impl).parameters.get("allow_override")
        overrides = override is not None and bool(override.default)
        # Asked once for all, before runs are forked: a suite registers a thousand functions anew for each of its rows.
        names = torch._C._dispatch_get_all_op_names()
        known = {name: name in self._whole or _seen_by_mode(torch, name) for name in names}

        @functools.wraps(impl)
        def watched_impl(library: Any, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **kwargs: Any) -> Any:
            key = dispatch_key or library.dispatch_key
            passes_keyset = bool(args or kwargs.get("with_keyset"))
            if key != self._key or passes_keyset or not callable(fn) or fn is torch.library.fallthrough_kernel:
                return impl(library, op_name, fn, dispatch_key, *args, **kwargs)
            overload = qualified_name(library.ns, op_name)
            if self.find(overload) is not None and not kwargs.get("allow_override", overrides):
                raise RuntimeError(f"{overload} has a kernel for {key} that was registered from Python already")
            seen = known.get(overload)
            if seen is None:
                seen = known[overload] = overload in self._whole or _seen_by_mode(torch, overload)
            if not seen:
                impl(library, op_name, self._noted(overload, fn), dispatch_key, *args, **kwargs)
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
