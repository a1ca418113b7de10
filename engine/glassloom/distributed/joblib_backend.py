"""`JoblibBackend`: joblib's calls, such as scikit-learn's, as tasks of a client. Imports joblib, so it is imported when asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config, register_parallel_backend
from joblib.parallel import AutoBatchingMixin, ParallelBackendBase

from glassloom.backends.blas import at_most_blas_threads
from glassloom.backends.sizeof import sizeof
from glassloom.client.client import Client
from glassloom.client.future import Future
from glassloom.client.worker_api import get_client
from glassloom.errors import ClusterClosed, OptionError
from glassloom.worker.task_context import waiting_meanwhile

_LARGE_BYTES = 64 * 1024
"""Arguments that are larger are put into shared memory once for all calls that have them."""

_NAME = "glassloom"
_OPTIONS = ("priority", "retries", "resources", "workers", "allow_other_workers")


class JoblibBackend(AutoBatchingMixin, ParallelBackendBase):
    """Runs the batches of calls that joblib makes. Calls inside a call go to the same cluster, and leave their place to others.

    Parameters
    ----------
    client
        Where to run; default the newest open client, or inside a task its cluster's.
    inner_max_num_threads
        How many threads each call may use for BLAS and OpenMP. It needs threadpoolctl on the workers.
    submit_options
        Of `Client.submit`: ``priority``, ``retries``, ``resources``, ``workers``, ``allow_other_workers``.

    Raises
    ------
    TypeError
        If there is no such option.
    """

    supports_inner_max_num_threads = True

    supports_retrieve_callback = True
    default_n_jobs = -1

    def __init__(
        self,
        client: Client | None = None,
        nesting_level: int | None = None,
        inner_max_num_threads: int | None = None,
        **submit_options: Any,
    ) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        for option in submit_options:
            if option not in _OPTIONS:
                raise TypeError(
                    f"the joblib backend {_NAME!r} has no option {option!r}; it has client, {', '.join(_OPTIONS)}"
                )
        self._client = client
        self._options = submit_options
        self._lock = threading.Lock()
        self._running: set[Future] = set()
        self._large: dict[int, tuple[Any, Future]] = {}
        """Large arguments of the call of `Parallel` that runs, by id: the values too, so that their ids stay theirs."""

    def __reduce__(self) -> Any:
        return _in_task, (self.nesting_level, self.inner_max_num_threads, self._options)

    @property
    def client(self) -> Client:
        """Where it runs."""
        if self._client is None:
            self._client = get_client()
        return self._client

    def get_nested_backend(self) -> tuple[JoblibBackend, int]:
        """Return the backend of calls inside a call, and their number of jobs."""
        return JoblibBackend(self._client, *self._inside, **self._options), -1

    @property
    def _inside(self) -> tuple[int, int | None]:
        return (self.nesting_level or 0) + 1, self.inner_max_num_threads

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return how many calls run at a time."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        try:
            return sum(self.client.ncores().values()) or 1
        except ClusterClosed as error:
            raise ClusterClosed(f"the joblib backend {_NAME!r} has no cluster to run on: {error}") from error

    def submit(self, func: Any, callback: Callable[[Future], Any] | None = None) -> Future:
        """Start a batch of calls; `callback` is called when it is done."""
        calls = [
            (function, tuple(map(self._shared, args)), {name: self._shared(value) for name, value in kwargs.items()})
            for function, args, kwargs in func.items
        ]
        name = getattr(calls[0][0], "__name__", type(calls[0][0]).__name__)
        backend = JoblibBackend(None, *self._inside, **self._options)
        future: Future = self.client.submit(_Batch(name), backend, calls, pure=False, **self._options)
        with self._lock:
            self._running.add(future)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future) -> Any:
        """Return the results of a batch, or raise what a call has raised."""
        with self._lock:
            self._running.discard(out)
        return self.client.gather(out, asynchronous=False)

    def stop_call(self) -> None:
        """A call of `Parallel` has ended."""
        self._large.clear()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Give up what runs: nobody wants it."""
        with self._lock:
            running, self._running = list(self._running), set()
        self.client.cancel([future for future in running if not future.done()])

    @contextmanager
    def retrieval_context(self) -> Iterator[None]:
        """Leave this task's place, if it is one, to the calls that it waits for."""
        with waiting_meanwhile():
            yield

    def _shared(self, value: Any) -> Any:
        if isinstance(value, Future) or sizeof(value) <= _LARGE_BYTES:
            return value
        with self._lock:
            if id(value) not in self._large:
                self._large[id(value)] = (value, self.client.scatter([value], hash=False)[0])
            return self._large[id(value)][1]


class _Batch:
    """Makes the calls of a batch. Named as what it calls, so that dashboards show that."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __reduce__(self) -> Any:
        return _Batch, (self.__name__,)

    def __call__(self, backend: JoblibBackend, calls: list[tuple[Callable[..., Any], Any, Any]]) -> list[Any]:
        with _limited_threads(backend.inner_max_num_threads), parallel_config(backend=backend, n_jobs=-1):
            return [function(*args, **kwargs) for function, args, kwargs in calls]


def _in_task(nesting_level: int | None, inner_max_num_threads: int | None, options: dict[str, Any]) -> JoblibBackend:
    return JoblibBackend(None, nesting_level, inner_max_num_threads, **options)


@contextmanager
def _limited_threads(limit: int | None) -> Iterator[None]:
    """Let this call use so many threads: OpenMP's number is a thread's own, that of BLAS the process'."""
    if limit is None:
        yield
        return
    try:
        from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - only those need it who ask for it
    except ModuleNotFoundError as error:
        raise OptionError(
            "inner_max_num_threads needs threadpoolctl on the workers: pip install threadpoolctl"
        ) from error
    openmp = ThreadpoolController().select(user_api="openmp")  # a limit restores all that its controller has selected
    with openmp.limit(limits=limit), at_most_blas_threads(limit):
        yield


def register() -> None:
    """Make the backend known to joblib."""
    register_parallel_backend(_NAME, JoblibBackend)
