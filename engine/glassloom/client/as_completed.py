"""`as_completed`: futures in the order in which they finish."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from typing import Any

from glassloom.client.blocking import Operation, Signal, run_async, run_sync
from glassloom.client.deadline import Deadline
from glassloom.client.future import Future, futures_of, happens, still_open
from glassloom.client.key_table import KeyState
from glassloom.protocol.tracebacks import hides_engine_frames
from glassloom.units import parse_seconds

_END: Any = object()


class as_completed:  # noqa: N801 - it is used, and known to users of concurrent.futures, as a function
    """Futures in the order in which they finish; for ``for`` and ``async for``. More can be added while it runs.

    Parameters
    ----------
    futures
        Futures, or persisted collections; each is given once.
    with_results
        Give ``(future, result)`` pairs instead; a task's exception is raised when its turn comes.
    raise_errors
        With False and `with_results`, the exception takes the place of the result.
    timeout
        Seconds from now after which `TimeoutError` is raised, or text such as ``"2 min"``.

    Examples
    --------
    >>> from glassloom import Client, as_completed
    >>> with Client(n_workers=1, threads_per_worker=1) as client:
    ...     sorted(result for _, result in as_completed(client.map(abs, [-1, -2]), with_results=True))
    [1, 2]
    """

    def __init__(
        self,
        futures: Any = (),
        *,
        with_results: bool = False,
        raise_errors: bool = True,
        timeout: float | str | timedelta | None = None,
    ) -> None:
        self._with_results = with_results
        self._raises = raise_errors
        self._deadline = Deadline(parse_seconds("timeout", timeout))
        self._lock = threading.Lock()
        self._open: dict[Future, None] = {}
        self._finished: deque[Future] = deque()
        self._news = Signal()
        self._n_given = 0
        self.update(futures)

    def add(self, future: Any) -> None:
        """Wait for one more future, or for those of a persisted collection."""
        self.update([future])

    def update(self, futures: Any) -> None:
        """Wait for more futures."""
        for future in futures_of(list(futures) if isinstance(futures, Iterator) else futures):
            with self._lock:
                if future in self._open:
                    continue
                self._open[future] = None
            future._connection.when_done([future._state], _Note(self, future))

    def count(self) -> int:
        """Return how many futures are still to be given."""
        return len(self._open)

    def is_empty(self) -> bool:
        """Tell whether all futures have been given."""
        return not self._open

    def has_ready(self) -> bool:
        """Tell whether the next future is there already."""
        return bool(self._finished)

    def clear(self) -> None:
        """Forget the futures that haven't been given yet."""
        with self._lock:
            self._open.clear()
            self._finished.clear()

    @hides_engine_frames
    def next_batch(self, block: bool = True) -> list[Any]:
        """Return all that has finished and wasn't given yet.

        Parameters
        ----------
        block
            Whether to wait for the first; else the list may be empty.
        """
        if not block and not self._finished:
            return []
        batch = run_sync(self._next_batch())
        return [] if batch is _END else list(batch)

    def batches(self) -> Batches:
        """Return an iterator over lists of what has finished meanwhile, for ``for`` and ``async for``."""
        return Batches(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    @hides_engine_frames
    def __next__(self) -> Any:
        item = run_sync(self._next())
        if item is _END:
            raise StopIteration
        return item

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        item = await run_async(self._next())
        if item is _END:
            raise StopAsyncIteration
        return item

    def _note(self, future: Future) -> None:
        with self._lock:
            if future not in self._open:
                return  # cleared
            self._finished.append(future)
            news, self._news = self._news, Signal()
        news.set()

    def _next(self) -> Operation[Any]:
        if not (yield from self._something_finished()):
            return _END
        return (yield from self._given())

    def _next_batch(self) -> Operation[Any]:
        if not (yield from self._something_finished()):
            return _END
        batch = []
        while self._finished:
            batch.append((yield from self._given()))
        return batch

    def _something_finished(self) -> Operation[bool]:
        """Wait until a future has finished; return False if there is none to wait for."""
        while True:
            with self._lock:
                if self._finished or not self._open:
                    return bool(self._finished)
                news, client = self._news, next(iter(self._open))._client
            if not (yield from happens(news, self._deadline, client, f"the next of {len(self._open)} futures")):
                raise TimeoutError(
                    f"{self._n_given} of {self._n_given + len(self._open)} futures are done after "
                    f"{self._deadline.timeout_s} s; "
                    f"still open: {still_open(self._open)}"
                )

    def _given(self) -> Operation[Any]:
        """Take the next finished future, with its result if that is wanted."""
        with self._lock:
            future = self._finished.popleft()
            del self._open[future]
            self._n_given += 1
        if not self._with_results:
            return future
        try:
            return future, (yield from future._result(self._deadline.left_s))
        except Exception as error:  # it is the task's: whatever the user's code raised
            if self._raises:
                raise
            return future, error


class Batches:
    """Lists of what has finished meanwhile; see `as_completed.batches`."""

    def __init__(self, completed: as_completed) -> None:
        self._completed = completed

    def __iter__(self) -> Iterator[list[Any]]:
        return self

    def __next__(self) -> list[Any]:
        batch = run_sync(self._completed._next_batch())
        if batch is _END:
            raise StopIteration
        return list(batch)

    def __aiter__(self) -> AsyncIterator[list[Any]]:
        return self

    async def __anext__(self) -> list[Any]:
        batch = await run_async(self._completed._next_batch())
        if batch is _END:
            raise StopAsyncIteration
        return list(batch)


class _Note:
    """Tells an `as_completed` that a future is done."""

    def __init__(self, completed: as_completed, future: Future) -> None:
        self._completed = completed
        self._future = future

    def __call__(self, _: Sequence[KeyState]) -> None:
        self._completed._note(self._future)
