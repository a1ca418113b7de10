"""Running a user's function on a snapshot of the head: in a fork of it, so that the head itself runs no user code.

The fork has a copy of the head's memory and none of its sockets, can change nothing, and is ended when its time is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import inspect
import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from glassloom_metrics.time_limit import time_limit

from glassloom.head.connections import ClientConnection
from glassloom.protocol import failure, messages
from glassloom.protocol.failure import Failure
from glassloom.protocol.messages import WorkerInfo
from glassloom.scheduler import Scheduler
from glassloom.store.pickling import dumps

MAX_BYTES = 16 * 2**20
_READ_BYTES = 2**20
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class HeadSnapshot:
    """A copy of the head's state, for looking at.

    Attributes
    ----------
    scheduler
        With ``tasks`` by key, ``workers`` by number and ``layers`` by name.
    workers
        What clients are told of the workers.
    n_clients
        Number of connections of clients, those of tasks included.
    """

    scheduler: Scheduler
    workers: list[WorkerInfo]
    n_clients: int


class Inspected(msgspec.Struct, array_like=True):
    """What came of it: the pickled result, what the function raised, or why there is neither."""

    result: bytes | None = None
    failure: Failure | None = None
    reason: str = ""
    timed_out: bool = False


async def inspect_for(client: ClientConnection, message: messages.RunOnHead, snapshot: HeadSnapshot) -> None:
    """Run a client's function on a snapshot and tell it what came of it."""
    try:
        found = await run_on_snapshot(message.call, snapshot, message.timeout_s)
    except OSError as error:  # no descriptor for a pipe, or no process
        found = Inspected(reason=f"the head can't fork: {error.strerror or error}")
    client.send(messages.RanOnHead(message.request, found.result, found.failure, found.reason, found.timed_out))


async def run_on_snapshot(call: bytes, snapshot: HeadSnapshot, timeout_s: float) -> Inspected:
    """Fork, call the pickled function in the fork, and return what came of it in time."""
    readable, writable = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # we have threads; the fork touches nothing of theirs
        parent, pid = os.getpid(), os.fork()
    if not pid:
        _be_the_fork(call, snapshot, writable, parent)
    os.close(writable)
    try:
        async with time_limit(timeout_s):
            data = await _read_all(readable)
    except TimeoutError:
        return Inspected(reason=f"the function was ended after {timeout_s:g} s", timed_out=True)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if len(data) > MAX_BYTES:
        return Inspected(reason=f"the function's result is larger than {MAX_BYTES // 2**20} MiB")
    try:
        return msgspec.msgpack.decode(data, type=Inspected)
    except msgspec.DecodeError:
        return Inspected(reason="the function's process ended without a result")


async def _read_all(descriptor: int) -> bytes:
    """Read until the other side is closed, or more has come than is allowed."""
    reader = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    data = b""
    try:
        while len(data) <= MAX_BYTES and (more := await reader.read(_READ_BYTES)):
            data += more
    finally:
        transport.close()
    return data


def _be_the_fork(call: bytes, snapshot: HeadSnapshot, writable: int, parent: int) -> None:
    """Call the function and write what came of it; never returns."""
    try:
        gc.disable()  # a collection would touch, and so copy, all of the head's memory
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                return
        _close_all_but(writable)
        with os.fdopen(writable, "wb") as pipe:
            pipe.write(msgspec.msgpack.encode(_call(call, snapshot)))
    except BaseException:  # the process's last word goes to the log
        traceback.print_exc()
    finally:
        os._exit(0)


def _close_all_but(descriptor: int) -> None:
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))


def _call(call: bytes, snapshot: HeadSnapshot) -> Inspected:
    try:
        function, args, kwargs = pickle.loads(call)
        if _wants_head(function) and "head" not in kwargs:
            kwargs["head"] = snapshot
        return Inspected(result=dumps(function(*args, **kwargs)))
    except BaseException as error:  # the function is the user's
        return Inspected(failure=failure.describe(error))


def _wants_head(function: Callable[..., Any]) -> bool:
    try:
        return "head" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
