"""The doctor: walks the hops between a cluster and a person's browser, names those that are broken, and what to do.

It starts and changes nothing. Every hop has a deadline, so that a stopped process or a hanging disk is found, and not waited
for. ``glassloom doctor`` and Jupyter's server use it; each adds what only it can see as `Probes`.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from glassloom_metrics.errors import ClusterNotFound, CommandRefused, MetricsError, OtherVersion, RecordingError
from glassloom_metrics.host import is_stopped
from glassloom_metrics.open_recordings import find_recording
from glassloom_metrics.protocol import NOW, Hello
from glassloom_metrics.recording import hello_of
from glassloom_metrics.registry import ClusterRecord, read_foreign_records, read_records, registry_path
from glassloom_metrics.subscriber import send_command, subscribe
from glassloom_metrics.time_limit import time_limit

HOP_TIMEOUT_S = 3.0
"""How long each hop may take."""
SILENT_S = 5.0
"""After how long without a word a cluster is silent; it gives a sign of life each second."""
GOOD, BAD, UNKNOWN, SKIPPED = STATES = ("good", "bad", "unknown", "skipped")

TITLES = {
    "registry": "Registry of clusters",
    "record": "The cluster's record",
    "kernel": "Its notebook's kernel",
    "control": "Control socket",
    "metrics": "Metrics socket",
    "heard": "Last heard",
    "dashboards": "Dashboards process",
    "proxy": "Proxy to the dashboards",
}
"""The hops in their order, from the cluster to the browser. Its WebSocket only the browser itself can look at."""
_OF_A_CLUSTER = ("kernel", "control", "metrics", "heard")


class Finding(msgspec.Struct, frozen=True):
    """How a hop is: ``state`` is one of `STATES`; ``detail`` and ``mend`` are sentences for people, or empty."""

    state: str
    detail: str = ""
    mend: str = ""


class Hop(msgspec.Struct, frozen=True):
    """A hop and how it is: see `Finding`."""

    id: str
    title: str
    state: str
    detail: str = ""
    mend: str = ""


Probe = Callable[[ClusterRecord], Awaitable[Finding]]
"""Looks at a hop of a cluster."""


async def _not_seen_from_here(record: ClusterRecord | None = None) -> Finding:
    return Finding(SKIPPED, "Only JupyterLab's server can look at it: run the doctor from the panel.")


@dataclass(frozen=True)
class Probes:
    """Hops that only some can look at; by default nobody can."""

    kernel: Probe = _not_seen_from_here
    heard: Probe | None = None
    """When the cluster was heard last. None: if it is heard now."""
    dashboards: Callable[[], Awaitable[Finding]] = _not_seen_from_here
    proxy: Callable[[], Awaitable[Finding]] = _not_seen_from_here


async def examine(
    cluster: str | None = None, *, probes: Probes | None = None, timeout_s: float = HOP_TIMEOUT_S
) -> list[Hop]:
    """Walk all hops; return how each is, in the order of `TITLES`. Raises nothing that is wrong with a hop.

    Parameters
    ----------
    cluster
        The cluster's id or name; None: the newest that runs.
    timeout_s
        How long each hop may take.
    """
    probes = probes or Probes()
    found = {"registry": await _look(_look_at_registry(), timeout_s)}
    record, found["record"] = await _find(cluster, timeout_s)
    if record is None:
        found |= {hop: Finding(SKIPPED, "There is no cluster to look at.") for hop in _OF_A_CLUSTER}
    else:
        heard = probes.heard or _listen
        steps = (probes.kernel(record), _look_at_control(record, timeout_s), _look_at_metrics(record), heard(record))
        looks = await asyncio.gather(*(_look(step, timeout_s, record) for step in steps))
        found |= dict(zip(_OF_A_CLUSTER, looks, strict=True))
    found["dashboards"] = await _look(probes.dashboards(), timeout_s)
    found["proxy"] = await _look(probes.proxy(), timeout_s)
    return [Hop(hop, title, found[hop].state, found[hop].detail, found[hop].mend) for hop, title in TITLES.items()]


async def examine_recording(
    recording_id: str, *, probes: Probes | None = None, timeout_s: float = HOP_TIMEOUT_S
) -> list[Hop]:
    """Walk the hops to an open recording, as `examine`: there is no cluster behind it."""
    probes = probes or Probes()
    found = {"registry": await _look(_look_at_registry(), timeout_s)}
    found["record"] = await _look(asyncio.to_thread(_recording, recording_id), timeout_s)
    found |= {hop: Finding(SKIPPED, "A recording: no cluster is behind it.") for hop in _OF_A_CLUSTER}
    found["dashboards"] = await _look(probes.dashboards(), timeout_s)
    found["proxy"] = await _look(probes.proxy(), timeout_s)
    titles = TITLES | {"record": "The recording"}
    return [Hop(hop, title, found[hop].state, found[hop].detail, found[hop].mend) for hop, title in titles.items()]


def _recording(recording_id: str) -> Finding:
    mend = "Open the recording again."
    try:
        record = find_recording(recording_id)
        n_bytes = os.stat(record.path).st_size
        hello_of(record.path)
    except ClusterNotFound:
        return Finding(BAD, f"No recording {recording_id!r} is open.", mend)
    except FileNotFoundError:
        return Finding(
            BAD, f"The file {record.path!r} isn't there any more.", "Put it back, or open it where it is now."
        )
    except (RecordingError, OSError) as error:
        return Finding(BAD, f"The file can't be read: {error}.", mend)
    return Finding(GOOD, f"{record.path!r}: {n_bytes:,} bytes, opened by process {record.pid}.")


async def _look(step: Awaitable[Finding], timeout_s: float, record: ClusterRecord | None = None) -> Finding:
    """Return what a step finds; what raises, or takes too long, is bad."""
    try:
        async with time_limit(timeout_s):
            return await step
    except TimeoutError:
        detail = f"It didn't answer within {timeout_s:g} s."
        if record is None:
            return Finding(BAD, detail, "Try again; if it stays so, restart JupyterLab's server.")
        if is_stopped(record.pid):
            return Finding(BAD, f"{detail} The head (process {record.pid}) is stopped by a signal.", _go_on(record))
        return Finding(BAD, f"{detail} The head (process {record.pid}) runs, but is busy or stuck.", _kill(record))
    except OtherVersion as error:
        return Finding(BAD, f"{error}.", "Upgrade the older one, restart its kernel, and start the cluster anew.")
    except (MetricsError, OSError, msgspec.MsgspecError) as error:
        mend = "" if record is None else _kill(record)
        return Finding(BAD, f"{type(error).__name__}: {error}.", mend)


def _go_on(record: ClusterRecord) -> str:
    return f"Let it go on: kill -CONT {record.pid}. Or kill the cluster: glassloom cluster stop --force {record.id}"


def _kill(record: ClusterRecord) -> str:
    return f"Look at the cluster's log. If it doesn't recover, kill it: glassloom cluster stop --force {record.id}"


async def _look_at_registry() -> Finding:
    return await asyncio.to_thread(_registry)


def _registry() -> Finding:
    path = registry_path()
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return Finding(GOOD, f"{str(path)!r} isn't there yet: no cluster has run.")
    if found.st_uid != os.getuid():
        return Finding(
            BAD, f"{str(path)!r} belongs to user {found.st_uid}.", "Set JUPYTER_RUNTIME_DIR to a folder of your own."
        )
    if not stat.S_ISDIR(found.st_mode) or not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Finding(
            BAD, f"{str(path)!r} can't be read or written.", f"Make it a folder that you can write to: chmod 700 {path}"
        )
    n_here, n_elsewhere = len(read_records()), len(read_foreign_records())
    elsewhere = f", {n_elsewhere} on other hosts or in other containers" if n_elsewhere else ""
    return Finding(GOOD, f"{str(path)!r}: {n_here} running here{elsewhere}.")


async def _find(cluster: str | None, timeout_s: float) -> tuple[ClusterRecord | None, Finding]:
    try:
        async with time_limit(timeout_s):
            return await asyncio.to_thread(_record, cluster)
    except (TimeoutError, OSError) as error:
        return None, Finding(BAD, f"It can't be read: {error or 'the disk does not answer'}.")


def _record(cluster: str | None) -> tuple[ClusterRecord | None, Finding]:
    records = read_records()
    if cluster is None:
        if not records:
            return None, Finding(SKIPPED, "No cluster runs.")
        return records[-1], _found(records[-1])
    for record in records:
        if cluster in (record.id, record.name):
            return record, _found(record)
    for record in read_foreign_records():
        if cluster in (record.id, record.name):
            where = f"The cluster is, or was, on host {record.host.name!r}, or in another container."
            return None, Finding(BAD, where, "It can be reached only there: run JupyterLab there.")
    running = ", ".join(f"{record.name!r} ({record.id})" for record in records) or "none"
    return None, Finding(BAD, f"No cluster {cluster!r} runs; running: {running}.", "It has ended: start a new one.")


def _found(record: ClusterRecord) -> Finding:
    version = f", Glassloom {record.version}" if record.version else ""
    return Finding(GOOD, f"{record.name!r} ({record.id}): process {record.pid}{version}, {record.python}.")


async def _look_at_control(record: ClusterRecord, timeout_s: float) -> Finding:
    began_s = time.monotonic()
    try:
        await send_command(record, "ping", timeout_s=2 * timeout_s)
    except CommandRefused:  # an older one: it has answered all the same
        return Finding(GOOD, "The head answers; it is of an older Glassloom, and can only be shut down.")
    return Finding(GOOD, f"The head answered within {time.monotonic() - began_s:.3f} s.")


async def _look_at_metrics(record: ClusterRecord) -> Finding:
    messages = subscribe(record, [], since=NOW)
    async with aclosing(messages):  # type: ignore[type-var]
        async for message in messages:
            if isinstance(message, Hello):
                return Finding(GOOD, f"It speaks version {message.version} of the protocol.")
    return Finding(BAD, "The connection was closed without a word.", _kill(record))


async def _listen(record: ClusterRecord) -> Finding:
    """Wait for a sign of life."""
    heard = asyncio.Event()
    following = asyncio.ensure_future(_follow(record, heard))
    waiting = asyncio.ensure_future(heard.wait())
    try:
        await asyncio.wait([following, waiting], return_when=asyncio.FIRST_COMPLETED)
        if not heard.is_set():
            following.result()  # raises why there is none
            return Finding(BAD, "The connection was closed without a word.", _kill(record))
        return Finding(GOOD, "It was heard just now.")
    finally:
        following.cancel()
        waiting.cancel()
        await asyncio.gather(following, waiting, return_exceptions=True)


async def _follow(record: ClusterRecord, heard: asyncio.Event) -> None:
    async for _ in subscribe(record, [], since=NOW, heard=heard.set):
        pass


def heard_finding(record: ClusterRecord, heard_at_s: float | None, now_s: float) -> Finding:
    """Return what it means that a cluster was heard last at a time, both since the epoch.

    >>> record = ClusterRecord("c1", "loom", "processes", 1, 1.0, "", "", 1.0, "", "")
    >>> heard_finding(record, 10.0, 10.5)
    Finding(state='good', detail='It was heard 0.5 s ago.', mend='')
    """
    if heard_at_s is None:
        return Finding(BAD, "It hasn't been heard yet.", _kill(record))
    ago_s = max(0.0, now_s - heard_at_s)
    if ago_s <= SILENT_S:
        return Finding(GOOD, f"It was heard {ago_s:.1f} s ago.")
    stopped = is_stopped(record.pid)
    why = f" The head (process {record.pid}) is stopped by a signal." if stopped else ""
    return Finding(BAD, f"It was heard {ago_s:.0f} s ago.{why}", _go_on(record) if stopped else _kill(record))
