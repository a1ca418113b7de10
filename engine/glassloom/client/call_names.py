"""What users call the requests to a cluster's coordinator: for messages about calls that get no answer."""

from __future__ import annotations

from glassloom.protocol import coordination
from glassloom.protocol.coordination import Op

DATASETS, VARIABLES = "dataset", "variable"
"""The spaces of names in which the coordinator keeps values."""

_METHODS: dict[type, str] = {
    coordination.AcquireLease: "acquire",
    coordination.ReleaseLease: "release",
    coordination.CountLeases: "get_value",
    coordination.SetEvent: "set",
    coordination.WaitEvent: "wait",
    coordination.ReadEvent: "is_set",
    coordination.VariableSet: "set",
    coordination.VariableGet: "get",
    coordination.VariableDelete: "delete",
    coordination.QueuePut: "put",
    coordination.QueueGet: "get",
    coordination.QueueSize: "qsize",
    coordination.QueueClose: "close",
}
_ON_DATASETS: dict[type, str] = {
    coordination.VariableSet: "publish_dataset",
    coordination.VariableGet: "get_dataset",
    coordination.VariableDelete: "unpublish_dataset",
}


def name_of_call(op: Op) -> str:
    """Return the user's call that a request is part of, such as ``Lock('a').acquire()``."""
    if isinstance(op, coordination.ListVariables):
        return "list_datasets()"
    if getattr(op, "space", "") == DATASETS:
        return f"{_ON_DATASETS[type(op)]}({op.name!r})"
    return f"{_class_of(op)}({op.name!r}).{_METHODS[type(op)]}()"


def _class_of(op: Op) -> str:
    match op:
        case coordination.AcquireLease() | coordination.ReleaseLease() | coordination.CountLeases():
            return op.kind.capitalize()
        case coordination.SetEvent() | coordination.WaitEvent() | coordination.ReadEvent():
            return "Event"
        case coordination.VariableSet() | coordination.VariableGet() | coordination.VariableDelete():
            return "Variable"
        case _:
            return "Queue"
