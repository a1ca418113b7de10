"""Datasets on a cluster of dask.distributed: payloads of ours, published there with the futures that they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassloom.client.call_names import DATASETS
from glassloom.client.key_table import KeyState
from glassloom.protocol import coordination
from glassloom.protocol.coordination import Op, Outcome, Payload

_PREFIX = "glassloom:"
"""What the names of our datasets begin with over there: others have no payload of ours."""


def agree(link: Any, op: Op, refusal: Callable[[], Exception]) -> tuple[Outcome, list[KeyState]]:
    """Return what came of a request, and what holds the results that the answer refers to."""
    dask = link.dask
    if getattr(op, "space", "") != DATASETS:
        raise refusal()
    match op:
        case coordination.VariableSet():
            futures = [link.future_of(key) for key in op.payload.keys]
            if _PREFIX + op.name in dask.list_datasets() and not op.replaces:
                return Outcome("refused"), []
            value = {"data": op.payload.data, "keys": list(op.payload.keys), "futures": futures}
            dask.publish_dataset(value, name=_PREFIX + op.name, override=op.replaces)
            return Outcome(), []
        case coordination.VariableGet():
            found = dask.get_dataset(_PREFIX + op.name, default=None)
            if found is None:
                return Outcome("refused"), []
            keys = [tuple(key) if isinstance(key, list) else key for key in found["keys"]]
            states = [link.hold(key) for key in keys]
            link.adopt(zip(keys, found["futures"], states, strict=True))
            return Outcome(payloads=[Payload(found["data"], keys)]), states
        case coordination.VariableDelete():
            if _PREFIX + op.name not in dask.list_datasets():
                return Outcome("refused"), []
            dask.unpublish_dataset(_PREFIX + op.name)
            return Outcome(), []
        case coordination.ListVariables():
            names = [name.removeprefix(_PREFIX) for name in dask.list_datasets() if str(name).startswith(_PREFIX)]
            return Outcome(names=names), []
    raise refusal()
