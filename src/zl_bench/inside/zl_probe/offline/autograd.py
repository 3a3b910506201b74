"""Runs autograd graphs of accelerator tensors in Python.

Torch's own engine asks for the accelerator's streams, which a build without one refuses. The walk here follows
torch/csrc/autograd/engine.cpp: nodes in reverse topological order, gradients summed in place where torch would, shapes and
dtypes of gradients brought to those of the forward's outputs.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

Edge = tuple[Any, int]


def install(torch: Any, is_accelerated: Callable[[Any], bool]) -> None:
    """Take over `backward` and `autograd.grad` for graphs whose outputs lie on the accelerator."""
    graph = torch.autograd.graph
    original = getattr(graph, "_engine_run_backward", None)
    if original is None:
        return

    def run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not any(is_accelerated(output) for output in outputs):
            return original(outputs, *args, **kwargs)
        names = ("grad_tensors", "keep_graph", "create_graph", "inputs", "allow_unreachable", "accumulate_grad")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        walk = _Walk(torch, create_graph=bool(given.get("create_graph")))
        return walk.run(
            outputs,
            given["grad_tensors"],
            given.get("inputs") or (),
            bool(given.get("accumulate_grad")),
            bool(given.get("allow_unreachable")),
        )

    graph._engine_run_backward = run_backward
    torch.autograd._engine_run_backward = run_backward


class _Walk:
    """One backward pass."""

    def __init__(self, torch: Any, create_graph: bool) -> None:
        self._torch = torch
        self._create_graph = create_graph
        self._gradients: dict[Any, dict[int, Any]] = {}

    def run(
        self, outputs: Any, gradients: Any, inputs: Any, accumulate: bool, allow_unreachable: bool
    ) -> tuple[Any, ...]:
        """Gradients of the inputs, in order; of no inputs, accumulated into the leaves."""
        edges = [self._edge(tensor) for tensor in inputs]
        captured: dict[Edge, Any] = {}
        roots = [self._edge(output) for output in outputs]
        order, needed = self._plan([node for node, _ in roots], {node for node, _ in edges})
        for (node, position), gradient in zip(roots, gradients, strict=True):
            self._add(node, position, gradient)
        with self._torch.set_grad_enabled(self._create_graph):
            self._visit(order, needed, edges, captured, accumulate)
        if inputs and not accumulate:
            missing = [edge for edge in edges if edge not in captured]
            if missing and not allow_unreachable:
                raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph.")
            return tuple(captured.get(edge) for edge in edges)
        return ()

    def _visit(
        self, order: list[Any], needed: set[Any], edges: list[Edge], captured: dict[Edge, Any], accumulate: bool
    ) -> None:
        wanted: dict[Any, set[int]] = {}
        for node, position in edges:
            wanted.setdefault(node, set()).add(position)
        for node in order:
            received = self._gradients.pop(node, {})
            if not received:
                continue
            gradients = self._fitted(node, received)
            for position in wanted.get(node, ()):
                if not accumulate and position < len(gradients) and gradients[position] is not None:
                    captured[(node, position)] = gradients[position]
            is_leaf = _is_accumulator(node)
            if (is_leaf and edges and not (accumulate and node in wanted)) or node not in needed:
                continue
            self._pass_on(node, gradients)

    def _pass_on(self, node: Any, gradients: list[Any]) -> None:
        if _is_accumulator(node):
            node(*gradients)
            return
        results = _call(self._torch, node, gradients)
        following = node.next_functions
        for (next_node, position), gradient in zip(following, _aligned(node, results, following), strict=False):
            if next_node is not None and gradient is not None:
                self._add(next_node, position, gradient)

    def _add(self, node: Any, position: int, gradient: Any) -> None:
        slot = self._gradients.setdefault(node, {})
        earlier = slot.get(position)
        if earlier is None or gradient is None:
            slot[position] = gradient if earlier is None else earlier
        elif not self._create_graph and _summed_in_place(earlier):
            slot[position] = earlier.add_(gradient)
        else:
            slot[position] = earlier + gradient

    def _fitted(self, node: Any, received: dict[int, Any]) -> list[Any]:
        """Gradients by output of the node, reduced to its shape and cast to its dtype, None where there is none."""
        metadata = list(getattr(node, "_input_metadata", ()))
        count = max(len(metadata), max(received) + 1)
        fitted: list[Any] = []
        for position in range(count):
            gradient = received.get(position)
            if gradient is not None and position < len(metadata):
                shape = tuple(metadata[position].shape)
                if tuple(gradient.shape) != shape:
                    gradient = gradient.sum_to_size(shape)
                if gradient.dtype != metadata[position].dtype:
                    gradient = gradient.to(metadata[position].dtype)
            fitted.append(gradient)
        return fitted

    def _edge(self, tensor: Any) -> Edge:
        edge = self._torch.autograd.graph.get_gradient_edge(tensor)
        return edge.node, edge.output_nr

    def _plan(self, roots: list[Any], targets: set[Any]) -> tuple[list[Any], set[Any]]:
        """Nodes in the engine's order, and those that lie on a way to a target (all, when there is none)."""
        dependencies: dict[Any, int] = {}
        parents: dict[Any, list[Any]] = {}
        seen, pending = set(roots), list(dict.fromkeys(roots))
        while pending:
            node = pending.pop()
            for following, _ in node.next_functions:
                if following is None:
                    continue
                dependencies[following] = dependencies.get(following, 0) + 1
                parents.setdefault(following, []).append(node)
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
        ready = [
            (_priority(node), number, node)
            for number, node in enumerate(dict.fromkeys(roots))
            if not dependencies.get(node)
        ]
        heapq.heapify(ready)
        order, number = [], len(ready)
        while ready:
            node = heapq.heappop(ready)[2]
            order.append(node)
            for following, _ in node.next_functions:
                if following is not None:
                    dependencies[following] -= 1
                    if dependencies[following] == 0:
                        heapq.heappush(ready, (_priority(following), number, following))
                        number += 1
        needed = set(seen)
        if targets:
            needed, pending = set(), list(targets)
            while pending:
                for parent in parents.get(pending.pop(), ()):
                    if parent not in needed:
                        needed.add(parent)
                        pending.append(parent)
        return order, needed


def _priority(node: Any) -> tuple[int, int]:
    """The engine takes the node that was made last first; leaves come before everything."""
    if _is_accumulator(node):
        return (0, 0)
    sequence = getattr(node, "_sequence_nr", None)
    return (1, -sequence() if callable(sequence) else 0)


def _is_accumulator(node: Any) -> bool:
    return bool(node.name().endswith("AccumulateGrad"))


def _call(torch: Any, node: Any, gradients: list[Any]) -> Any:
    """Apply a node. Functions written in Python get zeros for gradients that are not there, as torch gives them."""
    if not isinstance(node, torch.autograd.function.BackwardCFunction):
        return node(*gradients)
    if getattr(node, "materialize_grads", True):
        metadata = list(getattr(node, "_input_metadata", ()))
        gradients = [
            torch.zeros(tuple(meta.shape), dtype=meta.dtype, device=meta.device) if gradient is None else gradient
            for gradient, meta in zip(gradients, metadata, strict=False)
        ] or gradients
    return node.apply(*gradients)


def _aligned(node: Any, results: Any, following: Any) -> list[Any]:
    """One gradient for each edge; a Python function also returns one for each argument that is no tensor."""
    found = list(results) if isinstance(results, (tuple, list)) else [results]
    if len(found) == len(following):
        return found
    needs = getattr(node, "needs_input_grad", None)
    if needs is None:
        return found
    kept = iter([gradient for gradient, need in zip(found, needs, strict=False) if need])
    return [next(kept, None) if next_node is not None else None for next_node, _ in following]


def _summed_in_place(tensor: Any) -> bool:
    return bool(tensor.is_contiguous() and not tensor._is_view() and not tensor.requires_grad)
