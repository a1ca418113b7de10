"""A scheduler by itself, with a few words for what its tests say often; each test runs with three sizes of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import invariants
import pytest
from glassloom.scheduler import Actions, Scheduler, State
from glassloom.scheduler.task_block import TaskSlice

SHORT_S, LONG_S = 1e-5, 1.0


class Bench:
    """A scheduler with a few words for what its tests say often; the invariants are checked after each."""

    min_block = 8
    """Set by the fixture `blocks`."""

    def __init__(self, *nthreads: int) -> None:
        self.scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=self.min_block)
        self.running: dict[int, list[str]] = {}
        """Keys of what each worker was sent and hasn't finished."""
        for number, count in enumerate(nthreads):
            self.scheduler.worker_joined(number, f"w{number}", count)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.scheduler, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            invariants.check(self.scheduler)
            return result

        return call

    def submit(
        self, graph: dict[str, Sequence[str]], wanted: Sequence[str], *, client: Any = "me", **kwargs: Any
    ) -> None:
        """Hand in tasks by key with their dependencies; those that aren't in the graph are known already."""
        external = sorted({dep for deps in graph.values() for dep in deps} - graph.keys())
        position = {key: number for number, key in enumerate([*graph, *external])}
        deps = [[position[dep] for dep in below] for below in graph.values()]
        self.scheduler.submit(
            client, list(graph), [f"spec {key}" for key in graph], deps, external=external, wanted=wanted, **kwargs
        )
        invariants.check(self.scheduler)

    def act(self) -> dict[str, Any]:
        """Take the actions; return those that there are, with keys for tasks and numbers for workers."""
        actions: Actions = self.scheduler.take_actions()
        invariants.check(self.scheduler)
        invariants.check_settled(self.scheduler)
        found: dict[str, Any] = {}
        for name in ("run", "publish", "recall"):
            found[name] = {worker.number: keys_of(tasks) for worker, tasks in getattr(actions, name).items()}
        for worker, keys in found["run"].items():
            self.running.setdefault(worker, []).extend(keys)
        found["drop"] = {worker.number: list(numbers) for worker, numbers in actions.drop.items()}
        for name in ("finished", "erred"):
            found[name] = {client: keys_of(tasks) for client, tasks in getattr(actions, name).items()}
        found["cancelled"] = {client: list(keys) for client, keys in actions.cancelled.items()}
        found["free"] = [location for _, location in invariants.freed(actions)]
        found["located"] = [task.key for task in actions.located]
        found["stop"] = [worker.number for worker in actions.stop]
        return {name: value for name, value in found.items() if value}

    def number(self, key: str) -> int:
        return self.scheduler.numbers_of([key])[0]

    def finish(
        self, worker: int, *keys: str, nbytes: int = 100, duration_s: float = LONG_S, location: Any = None
    ) -> None:
        """A worker has run tasks."""
        n = len(keys)
        self.running[worker] = [key for key in self.running.get(worker, ()) if key not in keys]
        self.finished(worker, [self.number(key) for key in keys], [nbytes] * n, [duration_s] * n, [location] * n)

    def fail(self, worker: int, key: str, error: Any = "error") -> bool:
        return self.failed(worker, self.number(key), error)

    def state(self, key: str) -> State:
        return self.scheduler.tasks[key].state


def keys_of(tasks: Sequence[Any]) -> list[str]:
    """Return the keys of tasks and of slices of blocks."""
    return [key for item in tasks for key in (item.keys if isinstance(item, TaskSlice) else [item.key])]


@pytest.fixture(autouse=True, params=[2, 8, 10**9], ids=["blocks", "some blocks", "no blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each decision is the same for tasks in blocks and for others."""
    monkeypatch.setattr(Bench, "min_block", request.param)


def learn_duration(bench: Bench, *layers: str, duration_s: float = SHORT_S) -> None:
    """Let worker 0 run one task of each layer, so that their durations are known."""
    for layer in layers:
        bench.submit({f"{layer}-known": []}, [f"{layer}-known"])
        bench.act()
        bench.finish(0, f"{layer}-known", duration_s=duration_s)
        bench.release("me", [f"{layer}-known"])
        bench.act()
