"""A notebook cell that makes a client and is run again: its new cluster replaces the one of its last run.

A notebook keeps what a cell displays (``Out[1]``), so a client that is shown is never garbage collected. Without this,
each run of ``client = Client(); client`` would leave one more cluster.
"""

from __future__ import annotations

import weakref

from glassloom.client.base import ClientBase
from glassloom.graph import user_origin
from glassloom.graph.origin import notebook_execution

_made: dict[tuple[str, int], tuple[int, weakref.ref[ClientBase]]] = {}
"""By file (a cell of the same text has the same one) and line: the cell's execution, and the client that it made there."""


def replaced_client(client: ClientBase) -> ClientBase | None:
    """Note that a notebook's cell has made a client with a cluster; return the one that its last run made, to be closed.

    Only lines at a cell's top level count, and a client that still holds results isn't replaced. Several clients made by
    one run of a cell all stay.
    """
    origin, execution = user_origin(), notebook_execution()
    if not execution or origin is None or not origin.function.startswith("<"):
        return None
    place = (origin.filename, origin.line)
    before_execution, reference = _made.get(place, (execution, None))
    _made[place] = execution, weakref.ref(client)
    before = reference() if reference is not None and before_execution != execution else None
    if before is None or before.status != "running" or before._connection.holds_results:
        return None
    return before
