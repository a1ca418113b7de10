"""What ``glassloom cluster list`` and ``glassloom cluster stop`` do: look at running clusters, and end them. Parses no arguments."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from time import sleep
from typing import Any

from glassloom_metrics.errors import CommandRefused, MetricsError
from glassloom_metrics.kill_note import note_kill
from glassloom_metrics.registry import ClusterRecord, find_record, is_alive, read_foreign_records, read_records
from glassloom_metrics.subscriber import send_command
from glassloom_metrics.time_limit import time_limit

from glassloom.client.blocking import run_sync
from glassloom.client.connection import Connection
from glassloom.client.deadline import Deadline
from glassloom.errors import ClusterError, GlassloomError
from glassloom.protocol import messages
from glassloom.protocol.places import remove_what_the_dead_left

_ANSWER_TIMEOUT_S = 2.0
"""How long a cluster may take to tell how many workers it has."""
_LOOK_AGAIN_S = 0.02
_HEADER = ("NAME", "ID", "KIND", "WORKERS", "THREADS", "PID", "STARTED")


def list_clusters() -> str:
    """Return the user's running clusters as a table of aligned columns, oldest first, and those of other hosts in words.

    What clusters that were killed have left behind is removed.
    """
    remove_what_the_dead_left()
    rows = [_row(described) for described in map(_described, read_records())]
    elsewhere = "".join(f"\n{_elsewhere(record)}." for record in read_foreign_records())
    if not rows:
        return f"No clusters are running.{elsewhere}"
    table = [_HEADER, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEADER))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return "\n".join(line.rstrip() for line in lines) + elsewhere


def list_clusters_json() -> str:
    """Return the same as JSON: a list of objects. Numbers of workers and threads are null where the cluster doesn't tell."""
    return json.dumps([_described(record) for record in read_records()], indent=2)


def stop_clusters(names: Sequence[str], *, timeout_s: float, force: bool) -> tuple[list[str], list[str]]:
    """End clusters one after the other, each by its name or id; return what was done, and what went wrong.

    Parameters
    ----------
    timeout_s
        How long each may take to end.
    force
        Whether to kill the head's process instead of asking it; its workers end with it.
    """
    return _all_tried([partial(_find_and_stop, name, timeout_s, force) for name in dict.fromkeys(names)])


def stop_all_clusters(*, timeout_s: float, force: bool) -> tuple[list[str], list[str]]:
    """End all of the user's clusters on this host, as `stop_clusters` does.

    Thread pools and clusters of other hosts are named among what was done, and left alone.
    """
    records = read_records()
    clusters = [record for record in records if not _is_thread_pool(record)]
    done, wrong = _all_tried([partial(_stop, record, timeout_s, force, detaches=False) for record in clusters])
    if not clusters:
        done.append("No clusters are running.")
    done += [f"Left alone: {_why_not_stopped(record)}." for record in records if _is_thread_pool(record)]
    return done + [f"Left alone: {_elsewhere(record)}." for record in read_foreign_records()], wrong


def _all_tried(steps: Iterable[Callable[[], str]]) -> tuple[list[str], list[str]]:
    """Return what the steps say they did, and what went wrong in the others."""
    done, wrong = [], []
    for step in steps:
        try:
            done.append(step())
        except (GlassloomError, MetricsError, OSError) as error:
            wrong.append(str(error))
    return done, wrong


def _find_and_stop(name: str, timeout_s: float, force: bool) -> str:
    record = find_record(name)
    if _is_thread_pool(record):
        raise ClusterError(_why_not_stopped(record))
    return _stop(record, timeout_s, force)


def _is_thread_pool(record: ClusterRecord) -> bool:
    return record.kind == "threads"


def _why_not_stopped(record: ClusterRecord) -> str:
    return f"{record.name!r} is the thread pool of process {record.pid}: it ends with that process, and can't be stopped alone"


def _elsewhere(record: ClusterRecord) -> str:
    return f"{record.name!r} (id {record.id}) is, or was, on {record.host.name!r}: it can't be reached from here"


def _stop_of_dask(record: ClusterRecord, timeout_s: float, force: bool, *, detaches: bool) -> str:
    """End a cluster of Dask's that we have started; of another one, at most let nothing watch it any more."""
    if force:
        raise ClusterError(f"{record.name!r} is a cluster of Dask's: Glassloom doesn't kill it")
    deadline = Deadline(timeout_s)
    is_own = _was_asked(record, "shutdown", deadline)
    if not is_own and not (detaches and _was_asked(record, "detach", deadline)):
        return f"Left alone: {record.name!r} (id {record.id}) is a cluster of Dask's that Glassloom hasn't started."
    while os.path.exists(record.directory):
        if deadline.is_over:
            raise ClusterError(_not_ended(record, timeout_s))
        sleep(_LOOK_AGAIN_S)
    return f"{'Stopped' if is_own else 'Detached from'} cluster {record.name!r} (id {record.id})."


def _was_asked(record: ClusterRecord, command: str, deadline: Deadline) -> bool:
    try:
        _ask_to_end(record, deadline, command)
    except CommandRefused:
        return False
    return True


def _stop(record: ClusterRecord, timeout_s: float, force: bool, *, detaches: bool = True) -> str:
    if record.kind == "dask":
        return _stop_of_dask(record, timeout_s, force, detaches=detaches)
    workers = _counted(_n_workers(record)[0])
    deadline = Deadline(timeout_s)
    if force:
        note_kill(record, "by `glassloom cluster stop --force`")
        with suppress(ProcessLookupError):
            os.kill(record.pid, signal.SIGKILL)
    else:
        _ask_to_end(record, deadline)
    while is_alive(record) or os.path.exists(record.directory):  # what is left the fork server removes
        if deadline.is_over:
            raise ClusterError(_not_ended(record, timeout_s))
        sleep(_LOOK_AGAIN_S)
    return f"{'Killed' if force else 'Stopped'} cluster {record.name!r} (id {record.id}, {workers})."


def _ask_to_end(record: ClusterRecord, deadline: Deadline, command: str = "shutdown") -> None:
    async def ask() -> None:
        async with time_limit(deadline.left_s):
            await send_command(record, command)

    with suppress(TimeoutError, ConnectionResetError, FileNotFoundError):  # it doesn't answer, or is ending
        asyncio.run(ask())


def _not_ended(record: ClusterRecord, timeout_s: float) -> str:
    """Return for people what to do about a cluster that hasn't ended."""
    what = f"cluster {record.name!r} (id {record.id}, pid {record.pid}) hasn't ended within {timeout_s:g} s"
    return f"{what}; to kill it: glassloom cluster stop --force {record.id}"


def _described(record: ClusterRecord) -> dict[str, Any]:
    """Return what there is to know of a cluster, as plain values."""
    n_workers, n_threads = _n_workers(record)
    return {
        "name": record.name,
        "id": record.id,
        "kind": record.kind,
        "workers": n_workers,
        "threads": n_threads,
        "pid": record.pid,
        "started": datetime.fromtimestamp(record.started_at_s).astimezone().isoformat(timespec="seconds"),
        "started_by": record.started_by,
    }


def _row(described: dict[str, Any]) -> tuple[str, ...]:
    started = datetime.fromisoformat(described["started"]).strftime("%Y-%m-%d %H:%M:%S")
    numbers = ("?" if described[name] is None else str(described[name]) for name in ("workers", "threads", "pid"))
    return described["name"], described["id"], described["kind"], *numbers, started


def _n_workers(record: ClusterRecord) -> tuple[int | None, int | None]:
    """Return how many workers a cluster has, and how many threads they have; None where it doesn't tell."""
    if _is_thread_pool(record):
        return 0, None
    if record.kind == "dask":
        return None, None
    link = Connection(record, wants_output=False)
    try:
        link.open(timeout_s=_ANSWER_TIMEOUT_S)
        question = link.ask(messages.GetInfo, "which workers there are", deadline=Deadline(_ANSWER_TIMEOUT_S))
        info: messages.Info = run_sync(question)
    except (GlassloomError, TimeoutError):
        return None, None
    finally:
        link.close("it was asked")
    return len(info.workers), sum(worker.nthreads for worker in info.workers)


def _counted(number: int | None) -> str:
    if number is None:
        return "workers unknown: it didn't answer"
    return "1 worker" if number == 1 else f"{number} workers"
