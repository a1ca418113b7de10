"""Starting a cluster's head as a process of its own, learning that it is ready, ending it."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec
from glassloom_metrics.registry import ClusterRecord, remove_files, remove_record

from glassloom import config
from glassloom.errors import ClusterStartError
from glassloom.protocol.options import HeadOptions

END_TIMEOUT_S = 10.0
_BLAS_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_NEEDED = ("glassloom", "glassloom_metrics", "cloudpickle", "msgspec", "numpy", "psutil")
"""Packages that a head can't do without."""

BOOTSTRAP = """\
import json, sys
start = json.loads(sys.argv.pop())
sys.path[:] = start["path"]
from glassloom.head.server import main
main(start["options"], start["worker_path"])
"""
"""What the head's interpreter runs. It is started with ``-P``: nothing is imported from the folder that it happens to be in."""


def start_head(options: HeadOptions, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a head; `read_record` tells when it is ready.

    Its search path for modules is this process's, without the current directory: whatever lies there is not run by the
    head. Workers have the whole of it, after the ``PYTHONPATH`` in `env`. Nothing of it is exported to what tasks start.

    Raises
    ------
    ClusterStartError
        If there is no interpreter to start.
    """
    environ = {**os.environ, **config.environment(), **env}
    for variable in _BLAS_VARIABLES:
        environ.setdefault(variable, str(config.get("cluster.blas-threads")))
    start = {"path": _head_path(), "worker_path": _worker_path(env), "options": asdict(options)}
    try:
        return subprocess.Popen(
            [sys.executable, *_interpreter_options(), "-c", BOOTSTRAP, json.dumps(start)],
            stdin=subprocess.DEVNULL if options.detached else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            start_new_session=True,  # Ctrl-C in the terminal is the client's affair
        )
    except OSError as error:
        raise ClusterStartError(f"{sys.executable} can't be started: {error}") from error


def read_record(process: subprocess.Popen[bytes], timeout_s: float) -> ClusterRecord:
    """Wait for the head's line; raise what it says went wrong.

    Raises
    ------
    ClusterStartError
        If the head or its workers don't start, or not in time.
    """
    assert process.stdout is not None and process.stderr is not None
    deadline_s = time.monotonic() + timeout_s
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n") and time.monotonic() < deadline_s:
            if selector.select(max(0.0, deadline_s - time.monotonic())):
                data = os.read(process.stdout.fileno(), 2**16)
                if not data:
                    break
                line += data
    if not line.endswith(b"\n"):
        waited = f" within {timeout_s:g} s" if time.monotonic() >= deadline_s else ""
        process.kill()
        errors = process.communicate()[1].decode(errors="replace")[-2000:]
        raise ClusterStartError(f"the head process didn't start{waited}; its last words:\n{errors or '(none)'}")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        process.wait(END_TIMEOUT_S)
        raise ClusterStartError(f"the cluster didn't start: {answer['error']}")
    return msgspec.convert(answer, ClusterRecord)


def end_head(process: subprocess.Popen[bytes], record: ClusterRecord, detached: bool) -> None:
    """End a head by closing its lifeline; see to it that nothing is left even if it was killed."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    if detached:
        return
    if process.stdin is None:
        process.terminate()
    try:
        process.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    remove_files(record.directory, record.shm_prefix)
    remove_record(record.id)


def _interpreter_options() -> list[str]:
    return [
        "-P",
        *["-E"] * bool(sys.flags.ignore_environment),
        *["-s"] * bool(sys.flags.no_user_site),
    ]


def _worker_path(env: Mapping[str, str]) -> list[str]:
    first = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    return [*first, *_search_path()]


def _head_path() -> list[str]:
    """Return this process's search path without the current directory, but with the folders of what the head needs."""
    here = os.path.realpath(os.getcwd())
    path = [os.path.abspath(entry) for entry in _search_path() if entry and os.path.realpath(entry) != here]
    files = [getattr(sys.modules.get(name), "__file__", None) for name in _NEEDED]
    needed = [os.path.dirname(os.path.dirname(os.path.abspath(file))) for file in files if file]
    return list(dict.fromkeys([*path, *needed]))


def _search_path() -> list[str]:
    return [entry for entry in sys.path if isinstance(entry, str)]
