"""Processes that we start, and that lead a session of their own: how they are ended, and what they said when they failed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO

from glassloom_metrics.time_limit import time_limit

from glassloom_server.errors import GlassloomServerError

_END_TIMEOUT_S = 10.0
_STDERR_TAIL_BYTES = 4000
# How `glassloom` begins the one line in which it says what was wrong with the request.
_OWN_WORDS = "glassloom: "


async def run_to_end(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout_s: float,
    failure: type[GlassloomServerError],
) -> None:
    """Run a command until it ends; it is ended itself if it takes too long, or who awaits it is cancelled.

    Raises
    ------
    failure
        If it can't be run, takes longer than `timeout_s`, or ends with another exit code than 0: with what it said.
    """
    with tempfile.TemporaryFile() as stderr:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
                env=dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise failure(f"could not run {command[0]}: {error.strerror or error}") from error
        try:
            async with time_limit(timeout_s):
                code = await process.wait()
        except TimeoutError as error:
            said = failure_text(f"not done after {timeout_s:g} s", stderr)  # without what it says of being interrupted
            await end(process)
            raise failure(said) from error
        except asyncio.CancelledError:
            await end(process)
            raise
        if code:
            raise failure(failure_text(f"{command[0]} ended with exit code {code}", stderr))


async def end(process: asyncio.subprocess.Process) -> None:
    """Interrupt a process; kill it if it doesn't end.

    Its whole group, which it leads: what wraps a kernel's Python may not hand signals on.
    """
    for sent in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sent)
        with contextlib.suppress(TimeoutError):
            async with time_limit(_END_TIMEOUT_S):
                await process.wait()
                return


def content(file: IO[bytes]) -> bytes:
    """Return what is in the file without moving the position that we share with the process that writes it."""
    descriptor = file.fileno()
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def failure_text(reason: str, stderr: IO[bytes]) -> str:
    """Return why a command failed: its own line about it, else `reason` with all that it said."""
    said = content(stderr)[-_STDERR_TAIL_BYTES:].decode(errors="replace").strip()
    last = said.rpartition("\n")[2]
    if last.startswith(_OWN_WORDS):
        return last.removeprefix(_OWN_WORDS)
    return f"{reason}:\n{said}" if said else reason
