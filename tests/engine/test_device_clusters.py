"""Clusters whose workers have a device each, simulated: what workloads give there, and where their results lie."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
from fault_helpers import eventually
from glassloom import Client
from glassloom.backends.simulated_ import SimulatedArray, SimulatedMemory, set_memory, xp
from glassloom.devices.device import current_device
from glassloom.errors import DeviceOutOfMemory, NoDevice
from glassloom.store.device_account import DeviceAccount
from glassloom_metrics.protocol import DEVICE_LANE, Action, TaskEvents, column
from glassloom_metrics.registry import find_record
from glassloom_metrics.subscriber import subscribe
from simulated_clusters import SimulatedCluster

MIB = 2**20


@pytest.fixture(scope="module")
def gpus(nothing_is_left_behind: Any) -> Iterator[Client]:
    """Return a client of two workers with two threads and a device of 4 MiB each, of which results may take 1 MiB."""
    with (
        SimulatedCluster(
            "4MiB", devices=2, device_memory_limit=0.25, n_workers=2, threads_per_worker=2, memory_limit="1GB"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def memory() -> Iterator[SimulatedMemory]:
    """Let this process, the client's, have a simulated device too."""
    made = SimulatedMemory(64 * MIB)
    set_memory(made)
    yield made
    set_memory(None)


def copies() -> tuple[int, int]:
    """Return how many bytes a worker has copied to the host and back."""
    memory = current_device().memory  # type: ignore[union-attr]
    return memory.to_host[1], memory.to_device[1]


def test_each_worker_has_one_device_of_its_own(gpus: Client) -> None:
    found = gpus.run(lambda: (current_device().identity.uuid, current_device().limit_bytes))  # type: ignore[union-attr]
    assert sorted(index[-1] for index, _ in found.values()) == ["0", "1"]
    assert {limit for _, limit in found.values()} == {MIB}


def test_w1_gives_what_numpy_gives_and_copies_no_blocks_to_the_host(gpus: Client, memory: SimulatedMemory) -> None:
    def w1(kind: Any) -> Any:
        x = ga.random.RandomState(12, RandomState=kind).normal(10, 1, size=(600, 600), chunks=(100, 100))
        y = (x + 1)[::2, ::2]
        return [y.sum(), y.mean(), y.std()]

    assert eventually(lambda: not any(each.held_bytes + each.moved_bytes for each in gpus.run(account).values()))
    before = sum(to_host for to_host, _ in gpus.run(copies).values())
    found = gpus.compute(w1(xp.random.RandomState), sync=True)
    moved = sum(to_host for to_host, _ in gpus.run(copies).values()) - before
    expected = gl.compute(*w1(np.random.RandomState), scheduler="synchronous")
    assert all(isinstance(value, SimulatedArray) for value in found)
    assert [float(value) for value in found] == pytest.approx(list(map(float, expected)))
    assert moved < 20_000, "the small sums that the other worker reads, and none of the 36 blocks"


def test_w2_spills_and_gives_the_right_answer(gpus: Client, memory: SimulatedMemory) -> None:
    plain = np.random.RandomState(12).random((8000, 64))
    x = gpus.persist(ga.from_array(plain, chunks=(500, 64)).map_blocks(xp.asarray, meta=xp.ones((0, 0))))
    u, s, v = gpus.persist(list(ga.linalg.svd(x)))
    assert u[:5, :5].compute(scheduler=gpus).shape == (5, 5)
    whole = (u * s @ v).compute(scheduler=gpus)
    assert isinstance(whole, SimulatedArray)
    np.testing.assert_allclose(whole.get(), plain, atol=1e-9)
    accounts = gpus.run(account).values()
    assert sum(to_host for to_host, _ in gpus.run(copies).values()) >= 4 * MIB, (
        "8 MiB of results, of which devices hold 2"
    )
    assert all(each.held_bytes <= MIB for each in accounts)


def test_copies_to_the_host_and_back_are_task_events_with_the_bytes_on_the_device(gpus: Client) -> None:
    held = gpus.map(lambda n: xp.full(MIB // 16, float(n)), range(8), pure=False, key=[f"held-{n}" for n in range(8)])
    assert gpus.gather(gpus.map(lambda x: float(x[0]), held)) == list(map(float, range(8)))
    rows = asyncio.run(rows_of(gpus, Action.HOST_TO_DEVICE, MIB // 2))
    copied = [row for row in rows if row["action"] in (Action.DEVICE_TO_HOST, Action.HOST_TO_DEVICE)]
    assert {row["lane"] for row in copied} == {DEVICE_LANE}
    assert MIB // 2 in {row["nbytes"] for row in copied if row["action"] == Action.DEVICE_TO_HOST}
    assert all(row["duration_s"] >= 0 for row in copied)


async def rows_of(client: Client, action: Action, nbytes: int) -> list[dict[str, Any]]:
    """Return the task events from the cluster's beginning until there is one of a kind and size."""
    names = ("action", "lane", "nbytes", "duration_s")
    rows: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        async for message in subscribe(find_record(client.id)):
            if isinstance(message, TaskEvents):
                rows += [
                    dict(zip(names, row, strict=True))
                    for row in zip(*(column(message, name) for name in names), strict=True)
                ]
                if any((row["action"], row["nbytes"]) == (action, nbytes) for row in rows):
                    break
    return rows


def test_workers_on_one_device_copy_from_each_other_without_the_host(nothing_is_left_behind: Any) -> None:
    with (
        SimulatedCluster("8MiB", devices=1, n_workers=2, threads_per_worker=1) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        made = client.submit(lambda: xp.ones(2**16), workers=[0])
        assert client.submit(lambda x: float(x.sum()), made, workers=[1]).result() == 2**16
        assert sum(to_device for _, to_device in client.run(copies).values()) == 0
        rows = asyncio.run(rows_of(client, Action.TRANSFER, 2**19))
        assert Action.HOST_TO_DEVICE not in {row["action"] for row in rows}
        assert client.submit(lambda x: x.get(), made).result().sum() == 2**16


def test_a_task_that_runs_out_of_device_memory_is_tried_again_alone_when_results_have_moved(gpus: Client) -> None:
    held = gpus.map(lambda n: xp.full(MIB // 16, float(n)), range(4), pure=False)  # 512 KiB each
    gl.wait(held)
    large = gpus.submit(lambda: float(xp.zeros(int(3.9 * MIB) // 8).sum()), pure=False, workers=[0])
    assert large.result() == 0.0
    with pytest.raises(
        DeviceOutOfMemory, match=r"Simulated device \(4.00 MiB\) twice.*allocating 5242880 bytes"
    ) as caught:
        gpus.submit(lambda: xp.zeros(5 * MIB // 8), pure=False, key="too-large").result()
    assert any("too-large" in note for note in caught.value.__notes__)
    assert gpus.gather(gpus.map(lambda x: float(x[0]), held)) == [0.0, 1.0, 2.0, 3.0]


def test_tasks_beside_one_that_runs_out_of_memory_end_before_it_is_tried_again(gpus: Client) -> None:
    def large(n: int) -> float:
        return float(xp.full(5 * MIB // 16, float(n))[0])  # 2.5 MiB: no two of them at once

    assert gpus.gather(gpus.map(large, range(12), pure=False)) == list(map(float, range(12)))


def test_a_process_without_a_device_is_told_what_to_do(gpus: Client) -> None:
    future = gpus.submit(lambda: xp.ones(3), pure=False, key="on-device")
    with pytest.raises(
        NoDevice, match="of kind 'simulated' and takes 256 bytes there; this process can't hold it"
    ) as caught:
        future.result()
    assert any("on-device" in note for note in caught.value.__notes__)
    assert gpus.submit(lambda x: x.get(), future).result().tolist() == [1.0, 1.0, 1.0]


def test_a_client_sends_and_gets_arrays_of_its_device(gpus: Client, memory: SimulatedMemory) -> None:
    sent = gpus.scatter(xp.arange(100_000))
    assert float(gpus.submit(lambda x: x.sum(), sent).result()) == 4999950000.0
    back = gpus.submit(lambda x: {"twice": x * 2}, sent).result()["twice"]
    assert isinstance(back, SimulatedArray)
    assert back.get()[-1] == 199998


def test_tasks_without_arrays_run_on_workers_with_a_device(gpus: Client) -> None:
    assert gpus.gather(gpus.map(lambda n: n + 1, range(500))) == list(range(1, 501))
    x = ga.ones((100, 100), chunks=10)
    assert (x + 1).sum().compute(scheduler=gpus) == 20_000


def account() -> DeviceAccount:
    """Return a worker's."""
    import gc

    worker = next(each for each in gc.get_objects() if type(each).__name__ == "DeviceStore")
    found: DeviceAccount = worker.account()
    return found
