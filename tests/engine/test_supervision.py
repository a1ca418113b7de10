"""Threads and tasks of the engine's own that raise are noticed; owners know their process."""

from __future__ import annotations

import asyncio
import os
import threading

from glassloom._ownership import OwnerProcess
from glassloom._supervision import Crash, start_task, start_thread
from glassloom.errors import ForkedError


def fail(text: str) -> None:
    raise ValueError(text)


def test_a_thread_that_raises_is_reported_with_its_name_and_error() -> None:
    crashes: list[Crash] = []
    start_thread("flusher", fail, "no room", on_crash=crashes.append).join()
    assert [crash.reason for crash in crashes] == ["flusher crashed: ValueError: no room"]
    assert "raise ValueError(text)" in crashes[0].traceback


def test_a_thread_that_ends_is_no_crash() -> None:
    crashes: list[Crash] = []
    done = threading.Event()
    start_thread("once", done.set, on_crash=crashes.append).join()
    assert (done.is_set(), crashes) == (True, [])


def test_sys_exit_in_a_thread_is_a_crash() -> None:
    crashes: list[Crash] = []
    start_thread("exiting", fail_with_exit, on_crash=crashes.append).join()
    assert [crash.reason for crash in crashes] == ["exiting crashed: SystemExit: 3"]


def fail_with_exit() -> None:
    raise SystemExit(3)


def test_a_task_that_raises_is_reported_and_a_cancelled_one_is_not() -> None:
    async def failing() -> None:
        raise KeyError("tick")

    async def main() -> list[str]:
        crashes: list[Crash] = []
        crashed = start_task("tick", failing(), on_crash=crashes.append)
        cancelled = start_task("idle", asyncio.sleep(60), on_crash=crashes.append)
        await crashed
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        return [crash.reason for crash in crashes]

    assert asyncio.run(main()) == ["tick crashed: KeyError: 'tick'"]


def test_an_owner_is_current_in_its_process_and_refuses_in_a_forked_child() -> None:
    owner = OwnerProcess("client of cluster 'c1'")
    owner.require()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            owner.require()
        except ForkedError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    told = os.read(read, 1000).decode()
    os.close(read)
    assert told.startswith(
        f"the client of cluster 'c1' belongs to process {os.getpid()} and can't be used in its forked child {child}"
    )
