"""CPU of a scheduler of dask.distributed a task: alone, attached to Glassloom, and with its own /status page open. One run, in turns.

python -m benchmarks.attached [--tasks 20000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import distributed
import psutil

from benchmarks.attached_cluster import cpu_s, dask_cluster

KINDS = ("alone", "attached", "twice attached", "their /status page")


def inc(value: int) -> int:
    return value + 1


@contextmanager
def attached(address: str) -> Iterator[None]:
    """Let a process be attached meanwhile."""
    with tempfile.TemporaryDirectory(prefix="gl-") as base:
        command = [sys.executable, "-m", "glassloom", "attach", address, "--json"]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "JUPYTER_RUNTIME_DIR": base},
        )
        assert process.stdout is not None
        json.loads(process.stdout.readline())
        try:
            yield
        finally:
            process.terminate()
            process.wait()


@contextmanager
def status_page(dashboard: str) -> Iterator[None]:
    """Keep a session of their page open, as a browser does."""
    from bokeh.client import pull_session

    session = pull_session(url=dashboard)
    try:
        yield
    finally:
        session.close()


def measure(client: distributed.Client, scheduler: psutil.Process, n_tasks: int) -> float:
    """Return microseconds of the scheduler's CPU a task."""
    before_s = cpu_s(scheduler)
    futures = client.map(inc, range(n_tasks), pure=False, batch_size=n_tasks)
    with client.as_current():
        distributed.wait(futures)
    del futures
    time.sleep(1.0)
    return (cpu_s(scheduler) - before_s) / n_tasks * 1e6


def watch_plugin(dask_scheduler: Any) -> None:
    """Add up the CPU time of the plugin's own methods; sampling and packing are part of `_seal`.

    What a call takes that does nothing is taken off: it is measured just before, in the same state of the machine's caches.
    """
    plugin = next(each for name, each in dask_scheduler.plugins.items() if name.startswith("glassloom"))
    clock = time.thread_time
    plugin.spent_s = 0.0
    plugin.is_inside = False

    def nothing(*args: Any, **kwargs: Any) -> None:
        pass

    def watched(method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if plugin.is_inside:
                return method(*args, **kwargs)
            plugin.is_inside = True
            before_s = clock()
            nothing(*args, **kwargs)
            began_s = clock()
            try:
                return method(*args, **kwargs)
            finally:
                plugin.spent_s += clock() - began_s - (began_s - before_s)
                plugin.is_inside = False

        return call

    for name in ("transition", "update_graph", "_seal"):
        setattr(plugin, name, watched(getattr(plugin, name)))


def spent_in_plugin(dask_scheduler: Any) -> float:
    """Return the seconds of CPU that `watch_plugin` has added up."""
    plugin = next(each for name, each in dask_scheduler.plugins.items() if name.startswith("glassloom"))
    spent_s: float = plugin.spent_s
    return spent_s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3, help="0: only the plugin's own methods")
    parser.add_argument("--inside", type=int, default=3, help="how often these are measured")
    options = parser.parse_args()
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with ExitStack() as stack:
        cluster = stack.enter_context(dask_cluster(1, 2))
        client, process, address = cluster.client, cluster.scheduler, cluster.address
        page = client.dashboard_link
        measure(client, process, options.tasks)
        for _ in range(options.rounds):
            for kind in KINDS:
                with ExitStack() as during:
                    if "attached" in kind:
                        during.enter_context(attached(address))
                    if kind == "twice attached":
                        during.enter_context(attached(address))
                    if "page" in kind:
                        during.enter_context(status_page(page))
                    found[kind].append(measure(client, process, options.tasks))
                    print(f"  {kind}: {found[kind][-1]:.1f}", flush=True)
        inside = []
        for _ in range(options.inside):
            with attached(address):
                client.run_on_scheduler(watch_plugin)
                measure(client, process, options.tasks)
                inside.append(client.run_on_scheduler(spent_in_plugin) / options.tasks * 1e6)
    load = os.getloadavg()[0]
    alone = statistics.median(found["alone"] or [0.0])
    for kind, values in found.items() if options.rounds else ():
        middle = statistics.median(values)
        print(
            f"{kind:20} {middle:7.1f} us a task, {middle - alone:+6.1f}   ({', '.join(f'{value:.1f}' for value in values)})"
        )
    each = ", ".join(f"{value:.1f}" for value in inside)
    print(f"in the plugin, without answering: {statistics.median(inside):.1f} us a task ({each})")
    print(f"{options.tasks} tasks, {options.rounds} rounds, load {load:.0f}, distributed {distributed.__version__}")


if __name__ == "__main__":
    main()
