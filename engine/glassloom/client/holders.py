"""Why results that workers have made can't be reached, in time or at all: sentences for `Connection`. Asks nothing."""

from __future__ import annotations

from collections.abc import Sequence

from glassloom_metrics.registry import ClusterRecord

from glassloom.client.deadline import Deadline
from glassloom.client.head_watch import describe_process
from glassloom.errors import GraphError
from glassloom.graph import Key, key_text
from glassloom.protocol import messages

_MAX_NAMED = 3
"""How many workers a sentence names."""


def of_other_cluster(key: Key, its: ClusterRecord, ours: ClusterRecord) -> GraphError:
    """Return the error of a call that is given a future of another cluster."""
    return GraphError(
        f"{key_text(key)} is a future of cluster {its.name!r}: nothing on cluster {ours.name!r} can read its result; use one "
        "cluster for both, or pass the result itself (future.result())"
    )


def explain_missing_results(
    keys: Sequence[Key], info: messages.Info, holdings: messages.Holdings, deadline: Deadline
) -> str:
    """Return for people which workers have results and didn't share them before the deadline."""
    held = {key: worker for key, worker in zip(holdings.keys, holdings.workers, strict=True) if worker is not None}
    results = f"the result of {key_text(keys[0])}" if len(keys) == 1 else f"{len(held)} of {len(keys)} results"
    names = sorted(set(held.values()))
    if not names:
        of_which = f"the result of {key_text(keys[0])}" if len(keys) == 1 else f"{len(keys)} results"
        return (
            f"{of_which} couldn't be read within {deadline.timeout_s:g} s; client.story({key_text(keys[0])}) tells what has "
            "happened to it"
        )
    pids = {worker.name: worker.pid for worker in info.workers}
    named = [f"{name} ({describe_process(pids[name])})" if name in pids else name for name in names[:_MAX_NAMED]]
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    one = len(names) == 1
    return (
        f"worker{'' if one else 's'} {', '.join(named)}{more} {'has' if one else 'have'} {results}, and didn't share "
        f"{'it' if len(keys) == 1 else 'them'} within {deadline.timeout_s:g} s"
    )
