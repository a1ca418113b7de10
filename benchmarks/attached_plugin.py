"""CPU of the plugin by which a cluster of dask.distributed is read, a task: its methods are called as a scheduler does, without one.

python benchmarks/attached_plugin.py
"""

from __future__ import annotations

import time
import uuid
from types import SimpleNamespace

from glassloom.distributed.metrics_plugin import MetricsPlugin

N_TASKS = 20_000
STEPS = ("released", "waiting", "queued", "processing", "memory", "released", "forgotten")


def measure() -> float:
    """Return microseconds of CPU a task, with its packing, without answering."""
    group = SimpleNamespace(name="inc", dependencies=set())
    keys = [f"inc-{uuid.uuid4().hex}" for _ in range(N_TASKS)]
    common = {"group": group, "run_spec": 1, "state": "released", "nbytes": 28, "dependencies": (), "who_has": ()}
    scheduler = SimpleNamespace(workers={}, task_groups={}, tasks={key: SimpleNamespace(**common) for key in keys})
    plugin = MetricsPlugin("measured")
    plugin._scheduler = scheduler
    plugin._readers["reader"] = time.time()
    plugin._begin()
    plugin._workers["w"], plugin._sampled_s = 0, time.time() + 1000  # no samples: they are no tasks'
    parts = [[{"action": "compute", "start": time.time(), "stop": time.time()}] for _ in keys]
    began_s = time.process_time()
    plugin.update_graph(scheduler, client="c", keys=set(keys), tasks=keys)
    for start, finish in zip(STEPS, STEPS[1:], strict=False):
        for key, startstops in zip(keys, parts, strict=True):
            told = {"worker": "w", "nbytes": 28, "thread": 1, "startstops": startstops} if finish == "memory" else {}
            plugin.transition(key, start, finish, stimulus_id="s", **told)
    plugin._seal()
    return (time.process_time() - began_s) / N_TASKS * 1e6


if __name__ == "__main__":
    print(", ".join(f"{measure():.1f}" for _ in range(5)), "us a task")
