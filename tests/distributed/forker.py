"""A process that has imported dask.distributed, and forks schedulers and workers: importing it took each of them a second of CPU.

Run as a script, it reads orders as lines of JSON: what to start, which is answered with its process' number, or which process' end to
wait for. It ends with its input, and kills what still runs. What it starts is as if by ``python -m``, but for the search path, which is
the script's own.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from typing import Any

PRELOADED = ("distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "numpy", "pandas", "pyarrow")


def main() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    running: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        if "ended" in order:
            pid = order["ended"]
            os.waitpid(pid, 0)
            running.discard(pid)
        else:
            pid = os.fork()
            if not pid:
                _run(**order)
            running.add(pid)
        print(pid, flush=True)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _run(program: str, arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Be a program of Dask's: in a folder, with an environment. Doesn't return."""
    import dask

    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    dask.config.refresh()
    status = 1
    try:
        main: Any = importlib.import_module(program).main
        main(arguments, standalone_mode=False)
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
