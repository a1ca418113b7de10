"""The HTML that shows an array in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from glassloom.array.chunks import longest
from glassloom.array.nodes.base import ArrayExpr
from glassloom.expr import optimize, walk
from glassloom.reprs import render
from glassloom.reprs.block_states import block_states, held_bytes, states_html
from glassloom.reprs.chunk_advice import chunk_advice
from glassloom.reprs.grid import chunk_grid
from glassloom.units import format_bytes


def array_html(node: ArrayExpr) -> str:
    """Return a card with sizes, shapes, tasks, type and a drawing of the blocks."""
    chunk_shape = tuple(map(longest, node.chunks))
    kind = type(node.meta)
    n_blocks = math.prod(node.numblocks)
    n_tasks, n_layers = _plan_size(node)
    states, held = _states(node)
    return render(
        "array.html.j2",
        label=node.label,
        nbytes=_bytes_text(node.shape, node.dtype),
        chunk_nbytes=_bytes_text(chunk_shape, node.dtype),
        shape=_shape_text(node.shape),
        chunk_shape=_shape_text(chunk_shape),
        n_blocks=f"{n_blocks:,} chunk{'s' if n_blocks != 1 else ''}",
        tasks=f"{n_tasks:,} task{'s' if n_tasks != 1 else ''} in {n_layers} layer{'s' if n_layers != 1 else ''}",
        dtype=str(node.dtype),
        kind=f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}",
        grid=chunk_grid(node.chunks, states),
        states=states_html(states, held_bytes(held)),
        advice=chunk_advice(
            n_blocks,
            math.prod(node.shape) * node.dtype.itemsize,
            math.prod(chunk_shape) * node.dtype.itemsize,
            noun="chunks",
            remedy='x.rechunk("auto")',
        ),
    )


def _states(node: ArrayExpr) -> tuple[list[str], list[Any]]:
    """Return how each block of a persisted array stands, in C order, and what holds it; nothing of other arrays."""
    held = getattr(getattr(node, "source", None), "held", None)
    if not isinstance(held, Mapping):
        return [], []
    values = [held.get(key) for key in node.output_keys()]
    is_on_gpu = type(node.meta).__module__.partition(".")[0] == "cupy"
    return block_states(values, is_on_gpu=is_on_gpu), values


def _plan_size(node: ArrayExpr) -> tuple[int, int]:
    """Return the number of tasks and layers after optimising, without making the tasks."""
    counts = [each.n_tasks for each in walk(optimize([node]))]
    return sum(counts), sum(count > 0 for count in counts)


def _bytes_text(shape: tuple[int, ...], dtype: Any) -> str:
    nbytes = math.prod(shape) * dtype.itemsize
    return "unknown" if math.isnan(nbytes) else format_bytes(nbytes)


def _shape_text(shape: tuple[int, ...]) -> str:
    if not shape:
        return "()"
    return " × ".join("?" if math.isnan(length) else f"{length:,}" for length in shape)
