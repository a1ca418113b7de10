"""`futures_of_results`: futures of what collections compute to, each assembled from its blocks by a task."""

from __future__ import annotations

from typing import Any

from glassloom.collection import Collection, persist, with_each


def futures_of_results(client: Any, args: tuple[Any, ...], optimize_graph: bool) -> tuple[Any, ...]:
    """Return `args` with futures of concrete results in the places of collections, which are started together."""

    def assembled(persisted: Collection) -> Any:
        expr: Any = persisted.expr  # one whose results are held
        return client.submit(expr.assemble, list(expr.source.held.values()), pure=False)

    return tuple(with_each(persist(*args, scheduler=client, optimize_graph=optimize_graph), assembled))
