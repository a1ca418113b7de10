"""The time of tasks on devices, which is known after they have ended: from the worker to the metrics and what is made of them."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import glassloom as gl
import pyarrow.parquet as pq
import pytest
from glassloom import Client
from glassloom.backends.simulated_ import xp
from glassloom.devices.device import current_device
from glassloom.devices.simulated import BYTES_A_SECOND
from glassloom.head.device_rows import MAX_ROWS, DeviceRows
from glassloom.protocol import messages
from glassloom.recordings.export import export
from glassloom.worker.device_times import DeviceTimes
from glassloom_metrics import protocol
from glassloom_metrics.registry import find_record
from glassloom_metrics.subscriber import subscribe
from simulated_clusters import SimulatedCluster

KIB = 2**10


class Span:
    def __init__(self, seconds: float | None):
        self.value = seconds

    def seconds(self) -> float | None:
        return self.value


def test_times_are_taken_in_order_when_the_device_has_ended_them() -> None:
    times, second = DeviceTimes(), Span(None)
    assert not times and times.take() is None
    for number, span in enumerate((Span(0.5), second, Span(2.0))):
        times.add(number, 10.0 + number, span)
    assert times.take() == messages.DeviceTimes([0], [10.0], [0.5])
    assert times.take() is None and times
    second.value = math.nan  # the device couldn't measure it
    assert times.take() == messages.DeviceTimes([2], [12.0], [2.0])
    assert not times


def test_rows_of_attempts_are_told_apart_and_are_few() -> None:
    rows = DeviceRows()
    rows.note_row(3, 1, 5.0, row=0, layer=0)  # a worker without a device
    assert 3 not in rows
    rows.add_worker(3)
    rows.note_row(3, 7, 1.0, row=10, layer=2)
    rows.note_row(3, 7, 2.0, row=11, layer=2)
    rows.note_times(3, messages.DeviceTimes([7, 7], [1.0, 2.0], [0.5, 0.25]))
    rows.note_times(3, messages.DeviceTimes([7], [1.0], [0.5]))  # told twice
    assert rows.take(9.0) == protocol.DeviceTimes(9.0, 0.75, [10, 11], [2, 2], [0.5, 0.25])
    for number in range(MAX_ROWS + 1):
        rows.note_row(3, number, 1.0, row=number, layer=0)
    rows.note_times(3, messages.DeviceTimes([0, 1], [1.0, 1.0], [1.0, 1.0]))
    assert rows.take(9.0) == protocol.DeviceTimes(9.0, 1.75, [1], [0], [1.0])
    rows.remove_worker(3)
    rows.note_times(3, messages.DeviceTimes([2], [1.0], [1.0]))
    assert rows.take(9.0) is None


@pytest.fixture(scope="module")
def client(nothing_is_left_behind: Any) -> Any:
    with (
        SimulatedCluster("64MiB", n_workers=1, threads_per_worker=1) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


async def told(client: Client, count: int) -> tuple[dict[int, tuple[str, bool]], protocol.DeviceTimes]:
    """Return index and success of the rows from the cluster's beginning, and what was told of times until there are so many."""
    rows: dict[int, tuple[str, bool]] = {}
    found: list[protocol.DeviceTimes] = []
    async with asyncio.timeout(60):
        async for message in subscribe(find_record(client.id)):
            if isinstance(message, protocol.TaskEvents):
                oks = protocol.column(message, "ok")
                rows.update((message.first + n, (text, bool(oks[n]))) for n, text in enumerate(message.index))
            if isinstance(message, protocol.DeviceTimes):
                assert rows.keys() >= set(message.rows), "told after the rows"
                found.append(message)
                if sum(len(one.rows) for one in found) == count:
                    break
    joined = [[value for one in found for value in getattr(one, name)] for name in ("rows", "layers", "seconds")]
    return rows, protocol.DeviceTimes(found[-1].at_s, found[-1].total_s, *joined)


def make(n: int) -> Any:
    """Allocate n KiB, and fail if that is odd."""
    made = xp.ones(n * KIB // 8)
    if n % 2:
        raise ValueError(f"{n} is odd")
    return made


def test_each_task_s_time_is_told_when_the_device_has_ended_it_and_exported_with_it(
    client: Client, tmp_path: Path
) -> None:
    sizes = [*range(2, 24, 2), 25]

    def let(done: bool) -> None:
        device: Any = current_device()
        (device.is_done.set if done else device.is_done.clear)()

    with client.record(tmp_path / "run.glr"):
        client.run(let, False)
        futures = client.map(make, sizes, pure=False, key="make")
        gl.wait(futures)  # tasks don't wait for the device
        client.run(let, True)
        rows, times = asyncio.run(told(client, len(sizes)))
    seconds = dict(zip([rows[row] for row in times.rows], times.seconds, strict=True))
    expected = sorted(n * KIB / BYTES_A_SECOND for n in sizes)
    assert sorted(seconds.values()) == expected
    assert [ok for (_, ok), value in seconds.items() if value == 25 * KIB / BYTES_A_SECOND] == [False]
    assert times.total_s == pytest.approx(sum(expected)) and len(set(times.layers)) == 1

    target, _ = export(tmp_path / "run.glr", "parquet", tmp_path / "out")
    tasks = pq.read_table(target / "tasks.parquet").to_pandas()
    assert sorted(tasks.device_s.dropna()) == expected and tasks.ok[tasks.device_s.idxmax()] == False  # noqa: E712
    trace, _ = export(tmp_path / "run.glr", "perfetto", tmp_path / "trace.json")
    events = json.loads(trace.read_text())["traceEvents"]
    assert sorted(found for one in events if (found := one.get("args", {}).get("device_s")) is not None) == expected


def test_tasks_are_marked_by_their_keys(client: Client) -> None:
    def keys() -> list[str]:
        return list(current_device().keys)  # type: ignore[union-attr]

    gl.wait([client.submit(make, 2, key="one"), *client.map(make, [2] * 20, key="many", pure=False)])
    found = next(iter(client.run(keys).values()))
    assert "'one'" in found and len([key for key in found if "many" in key]) == 20
