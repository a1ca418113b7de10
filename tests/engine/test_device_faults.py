"""Faults of devices: killed workers, full devices, devices that don't answer. Nothing is lost that can be made again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_helpers import eventually
from glassloom import Client
from glassloom.backends.simulated_ import xp
from glassloom.devices.cuda import HostArray
from glassloom.devices.device import current_device
from glassloom.devices.values import HostForm, on_any_device
from glassloom.errors import DeviceOutOfMemory, NoDevice
from glassloom.worker import device_watch
from simulated_clusters import SimulatedCluster

MIB = 2**20
WAIT_S = 60.0


@pytest.fixture(scope="module")
def gpus(nothing_is_left_behind: Any) -> Iterator[Client]:
    """Return a client of two workers with a device of 4 MiB each, of which results may take 1 MiB."""
    with (
        SimulatedCluster(
            "4MiB", devices=2, device_memory_limit=MIB, log_spilling=True, n_workers=2, threads_per_worker=1
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def pids(client: Client) -> list[int]:
    """Return the workers' processes."""
    return [worker["pid"] for worker in client.scheduler_info()["workers"].values()]


def test_results_that_move_are_in_the_log_if_wanted(gpus: Client) -> None:
    held = gpus.map(lambda n: xp.full(MIB // 32, float(n)), range(12), pure=False)
    assert gpus.gather(gpus.map(lambda x: float(x[0]), held, pure=False)) == list(map(float, range(12)))
    log = Path(gpus._record.directory, "cluster.log")
    eventually(lambda: "info: worker " in log.read_text() and "results moved, device to host: " in log.read_text())


@pytest.mark.fault("a worker is killed that has results on its device")
def test_results_on_the_device_of_a_killed_worker_are_made_again(gpus: Client) -> None:
    held = gpus.map(lambda n: xp.full(MIB // 32, float(n)), range(12), pure=False)  # 256 KiB each: some have moved
    assert gpus.gather(gpus.map(lambda x: float(x[0]), held)) == list(map(float, range(12)))
    for pid in pids(gpus):
        os.kill(pid, signal.SIGKILL)
    assert gpus.gather(gpus.map(lambda x: float(x[-1]), held)) == list(map(float, range(12)))


@pytest.mark.fault("a task runs out of its device's memory")
def test_a_task_that_is_too_large_fails_alone(gpus: Client) -> None:
    futures = gpus.map(lambda n: float(xp.full((5 if n == 3 else 1) * MIB // 8, float(n))[0]), range(8), pure=False)
    results = gpus.gather(futures, errors="skip")
    assert results == [0.0, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0]
    with pytest.raises(DeviceOutOfMemory, match="allocating 5242880 bytes"):
        futures[3].result()


@pytest.mark.fault("a device stops answering")
def test_a_worker_whose_device_stops_answering_is_replaced(gpus: Client) -> None:
    before = pids(gpus)
    held = gpus.map(lambda n: xp.full(MIB // 32, float(n)), range(4), pure=False)
    assert gpus.gather(gpus.map(lambda x: float(x[0]), held)) == [0.0, 1.0, 2.0, 3.0]

    def stop_answering() -> None:
        device_watch.SILENT_S = 0.2
        device: Any = current_device()
        device.answers.clear()

    gpus.run(stop_answering)
    assert eventually(lambda: len(pids(gpus)) == 2 and not set(pids(gpus)) & set(before), WAIT_S), (
        "the workers aren't replaced"
    )
    assert gpus.gather(gpus.map(lambda x: float(x[-1]), held)) == [0.0, 1.0, 2.0, 3.0]
    assert any("its device, Simulated device, has not answered" in line for line in log_of(gpus))


@pytest.mark.fault("a device is filled by what can't move to the host")
def test_a_worker_whose_device_is_full_of_other_things_gets_no_tasks_until_there_is_room(gpus: Client) -> None:
    name, _ = sorted(gpus.scheduler_info()["workers"].items())[0]

    def fill() -> None:
        device: Any = current_device()
        device.hog = xp.zeros(int(3.9 * MIB) // 8)

    def let_go() -> None:
        vars(current_device()).pop("hog", None)

    assert eventually(lambda: not any(gpus.run(lambda: current_device().used()).values()), WAIT_S), "results stay"  # type: ignore[union-attr]
    gpus.run(fill, workers=[name])
    assert eventually(lambda: "paused" in pressures(gpus), WAIT_S), "it isn't paused"
    assert any("are taken by what can't move to the host" in line for line in log_of(gpus))
    assert gpus.submit(lambda: 1, pure=False).result() == 1, "the other worker goes on"
    gpus.run(let_go)
    assert eventually(lambda: pressures(gpus) == ["none", "none"], WAIT_S), "it stays paused"


def pressures(client: Client) -> list[str]:
    """Return how short of memory each worker is."""
    return [worker["pressure"] for worker in client.scheduler_info()["workers"].values()]


def log_of(client: Client) -> list[str]:
    """Return the lines of the cluster's log."""
    with open(os.path.join(client._record.directory, "cluster.log")) as log:
        return log.readlines()


def test_a_client_without_the_library_of_a_device_is_told_so() -> None:
    form = HostForm("cuda", 24, [HostArray(np.ones(3))], None)
    with pytest.raises(NoDevice, match="of kind 'cuda' and takes 24 bytes.*cupy"):
        on_any_device(form)
