"""`ClusterLink`: a client's link to a cluster of Glassloom's: its connection, and how values get into shared memory and out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from glassloom_metrics.registry import ClusterRecord

from glassloom.client.blocking import Operation
from glassloom.client.connection import Connection
from glassloom.client.deadline import Deadline
from glassloom.client.key_table import ERROR, FINISHED, KeyState
from glassloom.client.results import read_result, read_small_results
from glassloom.errors import CancelledError, DataLost
from glassloom.graph import Key, key_text
from glassloom.protocol import failure, messages
from glassloom.protocol.calls import CallEncoder
from glassloom.protocol.failure import Failure
from glassloom.store.segment import SegmentWriter


class ClusterLink(Connection):
    """The connection of a client."""

    dashboard = ""

    def __init__(self, record: ClusterRecord) -> None:
        super().__init__(record)
        self._segments: SegmentWriter

    def open(self, timeout_s: float | None = None) -> None:
        """Connect: see `Connection.open`."""
        super().open(timeout_s)
        self._segments = SegmentWriter(self.welcome.shm_prefix, self.welcome.directory, f"c{self.welcome.client}")

    def attached_record(self, timeout_s: float = 0.0) -> ClusterRecord | None:
        """Return the cluster's record: it is its own."""
        return self.record

    def encoder(self, place_large: Callable[[Any], Key], function_tokens: Mapping[int, str]) -> CallEncoder:
        """Return what turns tasks into a message."""
        return CallEncoder(place_large, function_tokens, self.record.id)

    def placer(self, workers: Any, *, broadcast: bool) -> SegmentWriter:
        """Return what puts values into shared memory, where every worker reaches them."""
        return self._segments

    def fetch(self, keys: Sequence[Key], states: Sequence[KeyState], deadline: Deadline) -> Operation[list[Any]]:
        """Return the results of keys that are finished."""
        inline: list[Any] = [state.inline for state in states]
        if None not in inline and {state.status for state in states} <= {FINISHED}:
            return read_small_results(keys, inline)
        results: dict[Key, Any] = {}
        remote: dict[Key, KeyState] = {}
        for key, state in zip(keys, states, strict=True):
            if state.status == ERROR and state.failure is not None:
                raise failure.harmless(failure.restore(state.failure))
            if key in results or key in remote:
                continue
            if state.inline is not None:
                results[key] = read_result(key, state.inline)
            else:
                remote[key] = state
        while remote:  # the head sees to it that this ends
            locations = yield from self.locate(list(remote), deadline)
            for (key, state), location in list(zip(remote.items(), locations, strict=True)):
                if isinstance(location, Failure):
                    if state.is_cancelling:  # it had finished before; the result went with the cancellation
                        raise CancelledError(f"task {key_text(key)} was cancelled by this client")
                    raise failure.harmless(failure.restore(location))
                try:
                    results[key] = read_result(key, location)
                except DataLost as error:
                    self.send(messages.ReportLost(key, location, str(error)))
                else:
                    del remote[key]
        return [results[key] for key in keys]
