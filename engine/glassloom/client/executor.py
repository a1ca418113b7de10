"""`ClientExecutor`: a client as a `concurrent.futures.Executor`, for code that takes one."""

from __future__ import annotations

import concurrent.futures as cf
import operator
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any, Protocol

from glassloom.client.function_calls import FunctionCalls
from glassloom.client.future import Future
from glassloom.errors import CancelledError
from glassloom.protocol.annotations import Annotations
from glassloom.worker.task_context import waiting_meanwhile


class Submits(Protocol):
    """What an executor needs of a client."""

    def _submit(self, calls: FunctionCalls, handling: Annotations, kind: str) -> list[Future]: ...


class ExecutorFuture(cf.Future[Any]):
    """A future of the standard library's that stands for one of ours. A running task can be cancelled: its result is discarded."""

    def __init__(self, task: Future) -> None:
        super().__init__()
        self._task = task

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the call and return its result. A task that waits leaves its place to others meanwhile."""
        with self._waiting():
            return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the call and return what it raised, or None. A task that waits leaves its place to others meanwhile."""
        with self._waiting():
            return super().exception(timeout)

    def _waiting(self) -> AbstractContextManager[None]:
        return nullcontext() if self.done() else waiting_meanwhile()

    def cancel(self) -> bool:
        """Give the task up; return whether that was in time."""
        if not super().cancel():
            return False
        if not self._task.done():
            self._task.cancel()
        return True


class ClientExecutor(cf.Executor):
    """Calls functions on a cluster. Made by `Client.get_executor`. Thread-safe.

    Its futures are those of the standard library: its `concurrent.futures.wait` and `as_completed` take them. A call isn't
    pure: equal calls are made each. A task that waits for its own calls leaves its place to them in ``result``, ``exception``,
    ``map`` and ``shutdown``, not in those functions of the standard library.
    """

    def __init__(self, client: Submits, handling: Annotations) -> None:
        self._client = client
        self._handling = handling
        self._lock = threading.Lock()
        self._open: set[ExecutorFuture] = set()
        self._is_shut_down = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> cf.Future[Any]:
        """Call a function on the cluster; return a future.

        Raises
        ------
        RuntimeError
            After `shutdown`.
        """
        return self._started(FunctionCalls.make(fn, [args], kwargs, None, pure=False), "submit")[0]

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
    ) -> Iterator[Any]:
        """Call a function on elements; return an iterator of the results, in order.

        Parameters
        ----------
        timeout
            Seconds from now until all results have to be there; else the iterator raises TimeoutError.
        chunksize
            Accepted for compatibility, 1 or more: all calls are sent in one message.
        buffersize
            How many calls may be under way, or have results that haven't been taken, 1 or more. The next elements are read, and
            their calls sent, as results are taken, so there may be infinitely many. None: all are read and sent at once.

        Raises
        ------
        TypeError, ValueError
            If `chunksize` or `buffersize` can't be what it is.
        """
        _check_positive("chunksize", chunksize)
        if buffersize is not None:
            _check_positive("buffersize", buffersize)
        deadline_s = None if timeout is None else monotonic() + timeout
        calls = zip(*iterables, strict=False)
        futures = deque(self._started_calls(fn, islice(calls, buffersize)))
        more = None if buffersize is None else partial(self._started_calls, fn, calls)
        return _results(futures, deadline_s, more)

    def _started_calls(
        self, fn: Callable[..., Any], calls: Iterable[tuple[Any, ...]], most: int | None = None
    ) -> list[ExecutorFuture]:
        """Start the next calls, at most so many; return their futures."""
        arguments = list(islice(calls, most))
        return self._started(FunctionCalls.make(fn, arguments, {}, None, pure=False), "map") if arguments else []

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls. The client and its cluster stay.

        Parameters
        ----------
        wait
            Whether to wait for the calls.
        cancel_futures
            Whether to give up those that aren't finished.
        """
        with self._lock:
            self._is_shut_down = True
            still_open = list(self._open)
        if cancel_futures:
            for future in still_open:
                future.cancel()
        if wait and still_open:
            with waiting_meanwhile():
                cf.wait(still_open)

    def _started(self, calls: FunctionCalls, kind: str) -> list[ExecutorFuture]:
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            futures = [ExecutorFuture(task) for task in self._client._submit(calls, self._handling, kind)]
            self._open.update(futures)
        for future in futures:
            future.add_done_callback(self._forget)
            future._task.add_done_callback(partial(_copy_outcome, future))
        return futures

    def _forget(self, future: cf.Future[Any]) -> None:
        with self._lock:
            self._open.discard(future)


def _copy_outcome(future: ExecutorFuture, task: Future) -> None:
    """A task is done: its future of the standard library is too. Called in a thread of the client's."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = task.client.gather(task, asynchronous=False)
    except CancelledError:
        future.set_exception(cf.CancelledError(f"task {task.key!r} was cancelled"))
    except Exception as error:  # what the user's code has raised
        future.set_exception(error)
    else:
        future.set_result(result)


def _results(
    futures: deque[ExecutorFuture],
    deadline_s: float | None,
    more: Callable[[int], Sequence[ExecutorFuture]] | None,
) -> Iterator[Any]:
    """Yield results in order, starting one more call for each that is taken; when that ends early, give up the rest."""
    try:
        while futures:
            left_s = None if deadline_s is None else max(0.0, deadline_s - monotonic())
            result = futures[0].result(left_s)
            futures.popleft()  # so that nothing keeps it
            if more is not None:
                futures.extend(more(1))
            yield result
            del result
    finally:
        for future in futures:
            future.cancel()


def _check_positive(name: str, value: Any) -> None:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} should be a whole number") from None
    if number < 1:
        raise ValueError(f"{name}={value!r} should be 1 or more")
