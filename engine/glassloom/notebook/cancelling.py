"""Gives up what a cell has started, as a person asks below the cell. It waits for nothing."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable

from glassloom.client.open_clients import clients_of
from glassloom.errors import ClusterClosed
from glassloom.protocol import messages


def cancel_runs(runs: Iterable[tuple[str, int]]) -> None:
    """Give up the unfinished tasks of runs, given as cluster's id and run's number, that this process's clients want."""
    by_cluster: defaultdict[str, list[int]] = defaultdict(list)
    for cluster, run in runs:
        by_cluster[cluster].append(run)
    for cluster, numbers in by_cluster.items():
        for client in clients_of(cluster):
            with contextlib.suppress(ClusterClosed):  # then there is nothing to give up
                client._connection.send(messages.CancelAll(_NO_ANSWER, runs=numbers), waits=False)


_NO_ANSWER = -1
"""The number of a request whose answer is waited for by nobody."""
