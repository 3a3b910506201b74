"""The leaves of an operator's arguments, which are asked for several times at each of its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PLAIN = (bool, int, float, complex, str, type(None))


def make_leaves(torch: Any, *tensors: type) -> Callable[[Any, Any], list[Any]]:
    """A function of (args, kwargs) that gives what torch's `tree_leaves((args, kwargs))` gives, sooner.

    `tensors` are the subclasses of tensors that come often.
    """
    from torch.utils._pytree import tree_leaves

    single = frozenset([*PLAIN, *tensors, torch.Tensor, torch.dtype, torch.device, torch.layout, torch.memory_format])

    def leaves(args: Any, kwargs: Any) -> list[Any]:
        found: list[Any] = []
        for values in (args, kwargs.values()) if kwargs else (args,):
            for value in values:
                if type(value) in single:
                    found.append(value)
                else:
                    found.extend(tree_leaves(value))
        return found

    return leaves
