"""Clusters that a factory makes, as Dask's configuration has them: ``factory``, ``args``, ``kwargs``. Their process attaches to them."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from distributed.deploy.cluster import Cluster
from glassloom_metrics.errors import CommandRefused
from glassloom_metrics.registry import ClusterRecord

from glassloom.distributed.attachment import Attachment
from glassloom.distributed.scheduler_reader import SchedulerReader
from glassloom.errors import ClusterStartError, OptionError

_PACKAGES = {
    "asyncssh": "asyncssh",
    "dask_cuda": "dask-cuda",
    "dask_gateway": "dask-gateway",
    "dask_jobqueue": "dask-jobqueue",
    "dask_kubernetes": "dask-kubernetes",
    "dask_mpi": "dask-mpi",
    "dask_yarn": "dask-yarn",
}
"""What is to be installed for a module."""
_MOST_WORKERS = 100_000


def start(
    factory: str,
    args: str | None,
    kwargs: str | None,
    *,
    name: str | None,
    n_workers: int | None,
    minimum: int | None,
    maximum: int | None,
    started_by: str,
    as_json: bool,
    command: Sequence[str] | None,
) -> int:
    """Make a cluster, attach to it and wait until it is to end; return the exit status.

    Parameters
    ----------
    factory
        Such as ``"distributed.LocalCluster"``.
    args, kwargs
        What it is called with, as JSON.
    name
        What it is called in the registry; default its scheduler's address.
    n_workers, minimum, maximum
        What the cluster is asked for then: `scale` and `adapt`.
    command
        Where it shall outlive this process: what another process runs for it.

    Raises
    ------
    OptionError
        If there is no such factory, or its arguments are wrong.
    ClusterStartError
        If it can't make the cluster.
    """
    if command is not None:
        return _run_apart(command)
    make, positional, named = _factory(factory), _parsed("args", args, list), _parsed("kwargs", kwargs, dict)
    try:
        cluster = make(*positional, **named)
    except ImportError as error:
        raise OptionError(_to_install(factory, error)) from error
    except Exception as error:  # whatever its factory raises
        raise ClusterStartError(f"{factory} makes no cluster: {type(error).__name__}: {error}") from error
    if not isinstance(cluster, Cluster):
        raise OptionError(
            f"factory={factory!r} makes {type(cluster).__name__}, which is no cluster of distributed.deploy"
        )
    try:
        if minimum is not None or maximum is not None:
            cluster.adapt(minimum=minimum or 0, maximum=maximum)
        elif n_workers is not None:
            cluster.scale(n_workers)
        asyncio.run(_attach(cluster, name, started_by, as_json))
    finally:
        cluster.close()
    return 0


def _factory(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute, None) if module else None
    except ImportError as error:
        raise OptionError(_to_install(name, error)) from error
    if not callable(found):
        raise OptionError(f"factory={name!r}: there is no such class; give one such as 'distributed.LocalCluster'")
    return found


def _to_install(factory: str, error: ImportError) -> str:
    if error.name and not isinstance(error, ModuleNotFoundError):
        return f"factory={factory!r} can't be imported, as packages that are installed don't fit together: {error}"
    module = (error.name or "").partition(".")[0] or factory.partition(".")[0]
    return f"factory={factory!r} needs {module}, which isn't installed: pip install {_PACKAGES.get(module, module)} ({error})"


def _parsed(what: str, text: str | None, kind: type) -> Any:
    if text is None:
        return kind()
    try:
        value = json.loads(text)
    except ValueError as error:
        raise OptionError(f"{what}={text!r} is no JSON: {error}") from error
    if not isinstance(value, kind):
        raise OptionError(f"{what}={text!r} should be a {'list' if kind is list else 'map of names to values'}")
    return value


def _run_apart(command: Sequence[str]) -> int:
    """Run a command that goes on when this process has ended; return once it has said a line, or failed."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
        assert process.stdout is not None, "it is a pipe"
        line = process.stdout.readline()
        if line:
            print(line, end="", flush=True)
            return 0
        status = process.wait()
        errors.seek(0)
        print(errors.read(), end="", file=sys.stderr)
        return status or 1


async def _attach(cluster: Cluster, name: str | None, started_by: str, as_json: bool) -> None:
    asked = _Commands(cluster)
    reader = SchedulerReader(cluster.scheduler_address, getattr(cluster, "security", None))
    attachment = Attachment(
        reader,
        name=name,
        started_by=started_by,
        commands=asked.handlers(),
        on_ready=lambda record: print(_introduction(record, as_json), flush=True),
    )
    asked.attachment = attachment
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, attachment.end, "interrupted")
    await attachment.run()


class _Commands:
    """What can be asked of a cluster whose object this process has."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.attachment: Attachment

    def handlers(self) -> dict[str, Any]:
        """Return them by name."""
        return {"scale": self._scale, "adapt": self._adapt, "shutdown": self._shut_down}

    async def _scale(self, arguments: Mapping[str, Any]) -> str:
        n = _count(arguments, "n", 0)
        await asyncio.to_thread(self._asked, lambda: self._cluster.scale(n))
        self.attachment.note_adaptive(None, None)
        return f"The cluster is asked for {n} workers."

    async def _adapt(self, arguments: Mapping[str, Any]) -> str:
        if not arguments:
            adaptive = getattr(self._cluster, "_adaptive", None)
            if adaptive is not None:
                adaptive.stop()
            self.attachment.note_adaptive(None, None)
            return "The number of workers stays as it is."
        minimum, maximum = _count(arguments, "minimum", 0), _count(arguments, "maximum", 1)
        if minimum > maximum:
            raise CommandRefused(f"minimum={minimum} is larger than maximum={maximum}")
        await asyncio.to_thread(self._asked, lambda: self._cluster.adapt(minimum=minimum, maximum=maximum))
        self.attachment.note_adaptive(minimum, maximum)
        return f"The number of workers follows the work, between {minimum} and {maximum}."

    async def _shut_down(self, arguments: Mapping[str, Any]) -> str:
        self.attachment.end("shut down")
        return "The cluster ends."

    def _asked(self, ask: Any) -> None:
        try:
            ask()
        except Exception as error:  # whatever its class raises
            raise CommandRefused(f"{type(self._cluster).__name__}: {type(error).__name__}: {error}") from error


def _count(arguments: Mapping[str, Any], name: str, least: int) -> int:
    value = arguments.get(name)
    if type(value) is not int or not least <= value <= _MOST_WORKERS:
        raise CommandRefused(f"{name}={value!r} should be a whole number from {least} to {_MOST_WORKERS}")
    return value


def _introduction(record: ClusterRecord, as_json: bool) -> str:
    if as_json:
        return json.dumps({"id": record.id, "name": record.name})
    return (
        f"Cluster {record.name!r} is running, id {record.id}.\nIn Python: Client({record.address!r})\nTo end it: Ctrl-C"
    )
