"""`futures_of_results`: futures of what collections compute to, each assembled from its blocks by a task."""

from __future__ import annotations

from typing import Any

from glassloom.collection import persist


def futures_of_results(client: Any, value: Any, optimize_graph: bool) -> Any:
    """Return futures of the concrete results of the collections in `value`."""
    if isinstance(value, dict):
        return {name: futures_of_results(client, item, optimize_graph) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(futures_of_results(client, item, optimize_graph) for item in value)
    if not hasattr(value, "expr"):
        return value
    persisted = persist(value, scheduler=client, optimize_graph=optimize_graph)[0]
    held = list(persisted.expr.source.held.values())
    return client.submit(persisted.expr.assemble, held, pure=False)
