"""What people have asked for is told as runs: by calls of compute, persist, map, and by cell or line for submit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import glassloom.array as ga
import pytest
import tasks
from fault_helpers import eventually
from glassloom import Client, delayed
from glassloom.local.threads import ThreadsRuntime
from glassloom_metrics.protocol import NOW, Layers, Position, Runs, decode
from glassloom_metrics.registry import find_record
from glassloom_metrics.subscriber import subscribe_frames


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=2, set_as_default=False) as client:
        yield client


def rows_of(message: Runs | Layers, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = zip(*(getattr(message, name) for name in columns), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def told(cluster: str) -> tuple[dict[int, dict[str, Any]], dict[int, dict[str, Any]]]:
    """Return the runs and the layers of a cluster as they stand."""

    async def read() -> tuple[dict[int, dict[str, Any]], dict[int, dict[str, Any]]]:
        runs, layers = {}, {}
        async for payload in subscribe_frames(find_record(cluster), since=NOW):
            message = decode(payload)
            if isinstance(message, Runs):
                runs |= {row["ids"]: row for row in rows_of(message, Runs.__struct_fields__)}
            elif isinstance(message, Layers):
                layers |= {row["ids"]: row for row in rows_of(message, Layers.__struct_fields__)}
            elif isinstance(message, Position):
                break
        return runs, layers

    return asyncio.run(read())


def new_runs(client: Client, work: Callable[[], Any], count: int = 1, n_tasks: int = 0) -> list[dict[str, Any]]:
    """Do something; return the runs that began with it, once so many are known, with so many tasks, and all have ended."""
    before = told(client.id)[0].keys()
    work()

    def ended() -> list[dict[str, Any]]:
        runs = [run for number, run in sorted(told(client.id)[0].items()) if number not in before]
        # A run of which all tasks are done that were submitted so far has ended, and goes on with the next.
        is_whole = len(runs) >= count and sum(run["tasks"] for run in runs) >= n_tasks
        return runs if is_whole and all(run["ended_s"] for run in runs) else []

    return eventually(ended)


def test_each_map_is_a_run_with_its_line(shared: Client) -> None:
    def work() -> None:
        shared.gather(shared.map(tasks.inc, range(10)))
        shared.gather(shared.map(tasks.inc, range(100, 120)))

    first, second = new_runs(shared, work, 2)
    assert (first["kinds"], first["tasks"], first["done"], first["outcomes"]) == ("map", 10, 10, "finished")
    assert (second["kinds"], second["tasks"], second["failed"]) == ("map", 20, 0)
    assert first["started_s"] <= first["ended_s"] <= second["ended_s"]
    assert first["codes"] == "shared.gather(shared.map(tasks.inc, range(10)))"
    assert "test_runs.py:" in first["origins"] and (first["notebooks"], first["cells"]) == ("", "")


def test_layers_of_one_function_are_apart_in_each_run(shared: Client) -> None:
    runs = new_runs(
        shared, lambda: [shared.gather(shared.map(tasks.same, [f"{n}{i}" for i in range(9)])) for n in "ab"], 2
    )
    numbers = [run["ids"] for run in runs]
    layers = [layer for _, layer in sorted(told(shared.id)[1].items()) if layer["runs"] in numbers]
    assert [(layer["names"], layer["totals"]) for layer in layers] == [("same", 9), ("same", 9)]
    assert sorted(layer["runs"] for layer in layers) == numbers


def test_what_a_line_submits_one_by_one_is_one_run_and_what_another_line_does_another(shared: Client) -> None:
    def work() -> None:
        futures = [shared.submit(tasks.inc, 1000 + number) for number in range(20)]
        futures += [shared.submit(tasks.add, future, 0.5) for future in futures[:7]]
        shared.gather(futures)

    first, second = new_runs(shared, work, 2, n_tasks=27)
    assert (first["kinds"], first["tasks"], first["outcomes"]) == ("submit", 20, "finished")
    assert (second["kinds"], second["tasks"], second["outcomes"]) == ("submit", 7, "finished")
    assert first["codes"] == "futures = [shared.submit(tasks.inc, 1000 + number) for number in range(20)]"


def test_layers_tell_which_they_read_from(shared: Client) -> None:
    (run,) = new_runs(
        shared, lambda: (ga.ones(100, chunks=10) + 1).sum().compute(scheduler=shared, optimize_graph=False)
    )
    assert run["kinds"] == "compute"
    layers = {layer["ids"]: layer for layer in told(shared.id)[1].values() if layer["runs"] == run["ids"]}
    assert sum(layer["totals"] for layer in layers.values()) == run["tasks"]
    edges = [(layers[source]["ids"], number) for number, layer in layers.items() for source in layer["inputs"]]
    assert edges and all(source != reader for source, reader in edges)


def test_outcomes(shared: Client) -> None:
    (failed,) = new_runs(shared, lambda: [future.exception() for future in shared.map(tasks.divide, [1, 1], [0, 1])])
    assert (failed["outcomes"], failed["tasks"], failed["done"], failed["failed"]) == ("failed", 2, 1, 1)

    def cancel() -> None:
        futures = shared.map(tasks.nap, [0.3 + number / 1000 for number in range(30)])
        shared.cancel(futures)

    (cancelled,) = new_runs(shared, cancel)
    assert cancelled["outcomes"] == "cancelled"


def test_a_run_whose_tasks_are_known_already_is_over_at_once(shared: Client) -> None:
    kept: list[Any] = []
    new_runs(shared, lambda: kept.extend(shared.map(tasks.inc, range(5000, 5010))))
    (again,) = new_runs(shared, lambda: shared.gather(shared.map(tasks.inc, range(5000, 5010))))
    assert (again["tasks"], again["outcomes"]) == (0, "finished")
    (other,) = new_runs(shared, lambda: shared.gather(shared.map(tasks.inc, range(5005, 5015))))
    assert other["tasks"] == 5


def test_computations_on_threads_are_runs_too() -> None:
    runtime = ThreadsRuntime(2, publish=True)
    runtime.pool()
    try:
        delayed(tasks.total)([delayed(tasks.inc)(n) for n in range(12)]).compute(scheduler=runtime)
        with pytest.raises(ZeroDivisionError):
            delayed(tasks.divide)(1, 0).compute(scheduler=runtime)
        cluster = eventually(lambda: runtime.pool()._metrics).id

        def ended() -> list[dict[str, Any]]:
            runs = [run for _, run in sorted(told(cluster)[0].items())]
            return runs if len(runs) == 2 and all(run["ended_s"] for run in runs) else []

        first, second = eventually(ended)
        assert (first["kinds"], first["tasks"], first["outcomes"]) == ("compute", 13, "finished")
        assert (second["tasks"], second["outcomes"]) == (1, "failed")
        assert "compute(scheduler=runtime)" in first["codes"]
    finally:
        runtime.close()
