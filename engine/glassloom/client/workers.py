"""`WorkerMethods`: what a client does with the workers of its cluster: run functions, send code, retire and replace them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from glassloom._text import encodable
from glassloom.client.base import ClientBase
from glassloom.client.blocking import Operation, Signal, WaitFor
from glassloom.errors import OptionError
from glassloom.graph import tokenize
from glassloom.protocol import failure, messages
from glassloom.protocol.annotations import check_whole_number
from glassloom.protocol.failure import Failure
from glassloom.store.pickling import dumps, loads
from glassloom.units import parse_seconds
from glassloom.worker import uploads

_LOOK_AGAIN_S = 0.02


class WorkerMethods(ClientBase):
    """The part of a client that looks after workers."""

    def run(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        workers: int | str | Sequence[int | str] | None = None,
        wait: bool = True,
        nanny: bool = False,
        on_error: Literal["raise", "return", "ignore"] = "raise",
        **kwargs: Any,
    ) -> Any:
        """Call a function on every worker, beside the tasks; return its results by worker name.

        It waits for the function as long as the cluster's head gives signs of life; else it raises TimeoutError. Workers that
        have ended before aren't asked, unless `workers` names them; one that ends while it runs the function is an error.

        Parameters
        ----------
        workers
            Numbers or names of the workers; default all.
        wait, nanny
            For users of Dask: it always waits, and workers have no nannies, so anything but the defaults is an error that
            says what there is.
        on_error
            ``"raise"`` what the function raises on any worker, ``"return"`` it in the place of the result, or ``"ignore"``
            such workers.

        Raises
        ------
        OptionError
            If there is no such worker, or an option can't be what it is.
        WorkerLost
            If a worker ended while it ran the function.
        Exception
            What the function raised.
        """
        _check_run_options(wait, nanny, on_error)
        call = dumps((function, args, kwargs))
        chosen = [workers] if isinstance(workers, (int, str)) else workers
        return self._run(self._run_on(call, chosen, on_error))

    def _run_on(self, call: bytes, workers: Sequence[int | str] | None, on_error: str) -> Operation[dict[str, Any]]:
        numbers = None
        if workers is not None:
            numbers = [worker.number for worker in (yield from self._named_workers(workers))]
        return (yield from self._run_on_workers(call, numbers, on_error=on_error))

    def _run_on_workers(
        self,
        call: bytes,
        chosen: list[int] | None,
        setup: str = "",
        forgets: str = "",
        on_error: str = "raise",
    ) -> Operation[dict[str, Any]]:
        answer: messages.RanOnWorkers = yield from self._connection.ask(
            lambda request: messages.RunOnWorkers(request, call, chosen, setup, forgets),
            "what a function returns on the workers",
            waits_for_work=True,
        )
        found = {}
        for worker, result in zip(answer.workers, answer.results, strict=True):
            if not isinstance(result, Failure):
                found[worker] = loads(result)
            elif on_error == "return":
                found[worker] = failure.harmless(failure.restore(result))
            elif on_error == "raise":
                raise failure.harmless(failure.restore(result))
        return found

    def _named_workers(self, workers: Sequence[int | str]) -> Operation[list[messages.WorkerInfo]]:
        """Return the workers of these names or numbers, each once."""
        info: messages.Info = yield from self._connection.ask(messages.GetInfo, "which workers there are")
        by_name = {key: worker for worker in info.workers for key in (worker.number, worker.name)}
        unknown = [worker for worker in workers if worker not in by_name]
        if unknown:
            names = ", ".join(repr(worker.name) for worker in info.workers) or "none"
            raise OptionError(f"workers={workers!r}: there is no worker {unknown[0]!r}; there are: {names}")
        return list({by_name[worker].number: by_name[worker] for worker in workers}.values())

    def register_worker_callbacks(self, setup: Callable[[], Any]) -> Any:
        """Call a function on every worker, and on those that come later before their first task; return the results.

        What it raises on a later worker is written to the cluster's log, and the worker works all the same.
        """
        return self._run(self._set_up(setup, name=f"setup-{tokenize(setup)}"))

    def upload_file(self, filename: str | Path) -> Any:
        """Make a file of code importable on all workers, those that come later included; return the module's names.

        On a cluster of dask.distributed the scheduler gets it too.

        Modules of these names are imported anew: tasks that were submitted already but haven't begun see the new ones too.

        Parameters
        ----------
        filename
            A ``.py`` file, or a ``.zip`` or ``.egg`` of modules and packages.

        Raises
        ------
        OptionError
            If it is no such file.
        Exception
            What importing the modules raised.
        """
        is_own = self._record.kind != "distributed"  # else it is sent, by dask.distributed
        path = (
            uploads.store(filename, self._connection.welcome.directory)
            if is_own
            else uploads.checked(filename).absolute()
        )
        return self._run(self._upload(path))

    def _upload(self, path: Path) -> Operation[list[str]]:
        yield from self._set_up(partial(uploads.install, str(path)), name=f"upload-{encodable(path.name)}")
        return uploads.module_names(str(path))

    def _set_up(self, function: Callable[[], Any], name: str) -> Operation[dict[str, Any]]:
        return (yield from self._run_on_workers(dumps((function, (), {})), None, name))

    def wait_for_workers(self, n_workers: int, timeout: float | str | timedelta | None = None) -> Any:
        """Wait until the cluster has so many workers.

        Raises
        ------
        TimeoutError
            If it has fewer in time.
        """
        check_whole_number("n_workers", n_workers, least=0)
        return self._run(self._wait_for_workers(n_workers, parse_seconds("timeout", timeout)))

    def _wait_for_workers(self, n_workers: int, timeout_s: float | None) -> Operation[None]:
        deadline_s = math.inf if timeout_s is None else monotonic() + timeout_s
        while True:
            info: messages.Info = yield from self._connection.ask(messages.GetInfo, "which workers there are")
            if len(info.workers) >= n_workers:
                return
            if monotonic() > deadline_s:
                raise TimeoutError(f"there are {len(info.workers)} of {n_workers} workers after {timeout_s} s")
            yield WaitFor(Signal(), _LOOK_AGAIN_S)

    def retire_workers(self, workers: int | str | Sequence[int | str] | None = None, n: int | None = None) -> Any:
        """Let workers go, for good; returns their names when they are gone.

        They finish what they run, and their results move to shared memory first. `LocalCluster.scale` starts others.

        Parameters
        ----------
        workers
            Their names or numbers.
        n
            How many, if it doesn't matter which: those that hold least.

        Raises
        ------
        OptionError
            If neither is given, or both; if there is no such worker.
        """
        if isinstance(workers, (str, int)):
            workers = [workers]
        if (workers is None) == (n is None):
            raise OptionError("say which workers to retire, workers=[...], or how many, n=...")
        if n is not None:
            check_whole_number("n", n, least=0)
        return self._run(self._retire_workers(workers, n))

    def _retire_workers(self, workers: Sequence[int | str] | None, n: int | None) -> Operation[list[str]]:
        if workers is None:
            info: messages.Info = yield from self._connection.ask(messages.GetInfo, "which workers there are")
            chosen = sorted(info.workers, key=lambda worker: (worker.managed_bytes, -worker.number))[:n]
        else:
            chosen = yield from self._named_workers(workers)
        numbers = [worker.number for worker in chosen]
        yield from self._connection.ask(
            lambda request: messages.Retire(request, numbers), "retire_workers()", waits_for_work=True
        )
        return [worker.name for worker in chosen]

    def restart(self) -> Any:
        """Cancel all tasks, forget all results, and replace all workers; returns when the new ones are there."""
        return self._run(self._restart())

    def _restart(self) -> Operation[None]:
        yield from self._connection.ask(messages.Restart, "restart()", waits_for_work=True)


def uploaded_file(function: Any) -> str | None:
    """Return the path of the file that a call of `upload_file`'s makes importable, None if it is another call."""
    return str(function.args[0]) if isinstance(function, partial) and function.func is uploads.install else None


def _check_run_options(wait: bool, nanny: bool, on_error: str) -> None:
    if not wait:
        raise OptionError("wait=False: run() always waits; what need not be waited for is a task, submit(...)")
    if nanny:
        raise OptionError(
            "nanny=True: workers have no nannies; client.run_on_head() looks at the process that supervises them"
        )
    if on_error not in ("raise", "return", "ignore"):
        raise OptionError(f"on_error={on_error!r} should be 'raise', 'return' or 'ignore'")
