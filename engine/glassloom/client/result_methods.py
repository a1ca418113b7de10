"""`ResultMethods`: how a client's values get into the cluster's memory, and results out of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from glassloom.client.base import ClientBase
from glassloom.client.blocking import Operation, run_async, run_sync
from glassloom.client.deadline import Deadline
from glassloom.client.future import Future, describe_wait, raise_unless_finished, send_for, settled, states_of
from glassloom.client.future_tree import find_futures, is_flat, rebuilt, replace_futures
from glassloom.client.key_table import FINISHED, PENDING, KeyState
from glassloom.client.other_options import refuse_other_options
from glassloom.errors import OptionError
from glassloom.graph import Key, tokenize
from glassloom.protocol import messages
from glassloom.protocol.tracebacks import hides_engine_frames
from glassloom.store.segment import Location, free_location

_NEVER = Deadline(None)
_key_of, _state_of = attrgetter("key"), attrgetter("_state")
_status_of, _inline_of = attrgetter("status"), attrgetter("inline")


class ResultMethods(ClientBase):
    """The part of a client that gathers and scatters."""

    @hides_engine_frames
    def gather(
        self,
        futures: Any,
        errors: str = "raise",
        direct: bool | None = None,
        asynchronous: bool | None = None,
    ) -> Any:
        """Wait for futures and return their results in the same nesting of containers.

        These may be lists, tuples, named tuples (such as what `wait` returns), dicts of all kinds, dataclasses, and sets. A
        set of futures gives a set of results, or a list if these can't be in a set or two of them are equal.

        Parameters
        ----------
        errors
            ``"raise"`` the first task's exception, or ``"skip"`` failed futures in lists.
        direct
            Accepted for compatibility: results are read from shared memory in any case.
        asynchronous
            Whether to return something to await; default as the client is.

        Raises
        ------
        Exception
            As `Future.result`.
        """
        if errors not in ("raise", "skip"):
            raise OptionError(f"errors={errors!r} should be 'raise' or 'skip'")
        found: list[Future] = []
        find_futures(futures, found)
        steps = self._gather(futures, found, errors)
        return run_async(steps) if (self.asynchronous if asynchronous is None else asynchronous) else run_sync(steps)

    def _gather(self, futures: Any, found: list[Future], errors: str) -> Operation[Any]:
        self._connection.owner.require()
        if PENDING in map(_status_of, map(_state_of, found)):
            what, stops = describe_wait(len(found), len(found), found[0].key), errors == "raise"
            yield from settled(states_of(found), found[0]._client, _NEVER, len(found), what, stops_at_failure=stops)
        if set(map(_status_of, map(_state_of, found))) != {FINISHED}:
            if errors == "raise":
                _raise_first(found)
            found = [future for future in found if future.status == FINISHED]
        states = dict(zip(map(_key_of, found), map(_state_of, found), strict=True))
        results = yield from self._fetch(list(states), list(states.values()), _NEVER)
        if is_flat(futures) and len(futures) == len(results):
            return results
        return replace_futures(futures, dict(zip(states, results, strict=True)))

    def _results(self, keys: Sequence[Key], states: list[KeyState]) -> Operation[list[Any]]:
        """Wait for keys and return their results.

        It makes no other list of states, as a traceback may keep that, and what the states hold with it.
        """
        if not keys:
            return []
        connection, what = self._connection, describe_wait(len(keys), len(keys), keys[0])
        yield from settled({connection: states}, self, _NEVER, len(states), what, stops_at_failure=True)
        for key, state in zip(keys, states, strict=True):
            if state.status != FINISHED:
                raise_unless_finished(key, state, connection)
        return (yield from self._fetch(keys, states, _NEVER))

    def scatter(
        self,
        data: Any,
        workers: Any = None,
        broadcast: bool = False,
        direct: bool | None = None,
        hash: bool = True,
        timeout: Any = None,
        **others: Any,
    ) -> Any:
        """Put values into the cluster's shared memory, once, where every worker reads them without a copy.

        It doesn't wait, so that there is nothing to await with an asynchronous client either. The futures are finished when
        it returns.

        Parameters
        ----------
        data
            A value, a list of values, or a dict of them.
        workers, broadcast, direct
            For clusters of dask.distributed. On one machine every worker can reach the value anyway.
        hash
            Whether equal values are stored only once.
        timeout
            Accepted for compatibility: it doesn't wait.
        others
            Options of Dask's client: an error says what there is instead.

        Returns
        -------
        Future, list of Future or dict of Future
        """
        refuse_other_options("scatter", others, ("workers", "broadcast", "direct", "hash", "timeout"))
        if isinstance(data, dict):
            return dict(zip(data, self._scatter([*data.values()], hash, workers, broadcast), strict=True))
        if isinstance(data, (list, tuple, set, frozenset)):
            return rebuilt(data, self._scatter(list(data), hash, workers, broadcast))
        return self._scatter([data], hash, workers, broadcast)[0]

    def _scatter(self, values: list[Any], hash: bool, workers: Any = None, broadcast: bool = False) -> list[Future]:
        self._connection.check_open()
        placer = self._connection.placer(workers, broadcast=broadcast)
        keys: list[Key] = [
            f"{type(value).__name__}-{tokenize(value) if hash else uuid.uuid4().hex}" for value in values
        ]
        placed: list[Location] = []
        futures: list[Future] = []
        try:
            placed.extend(placer.place(value) for value in values)
            sizes = [len(place) if isinstance(place, bytes) else place.nbytes for place in placed]
            futures.extend(Future(key, self) for key in keys)
            small = [place if isinstance(place, bytes) else None for place in placed]
            message, placed = messages.Scatter(keys, placed, sizes), []  # the head's from here on
            send_for(self._connection, message, futures)
            self._connection.note_scattered([future._state for future in futures], sizes, small)
        except BaseException:
            for location in placed:
                free_location(location)
            release_all(futures)
            raise
        return futures

    def _fetch(self, keys: Sequence[Key], states: Sequence[KeyState], deadline: Deadline) -> Operation[list[Any]]:
        return (yield from self._connection.fetch(keys, states, deadline))


def _raise_first(futures: Sequence[Future]) -> None:
    """Raise what kept the first of some futures that has none from having a result."""
    for future in futures:
        if future._state.status != FINISHED:
            raise_unless_finished(future.key, future._state, future._connection)


def release_all(futures: Iterable[Future]) -> None:
    """Let go of results that only these futures hold."""
    for future in futures:
        future.release()
