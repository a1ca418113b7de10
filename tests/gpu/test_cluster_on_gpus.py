"""A cluster on GPUs: pinning, allocators, memory, and nothing of CUDA outside the workers."""

from __future__ import annotations

import sys

import psutil
import pytest
from device_processes import processes_on_devices
from glassloom import LocalCUDACluster

pytestmark = pytest.mark.gpu


def test_there_is_a_device_and_its_name_is_printed(devices, capsys):
    with capsys.disabled():
        print("\nFound:", *map(str, devices), sep="\n  ")
    assert devices


def test_each_worker_sees_its_own_device_alone(client, devices):
    def look():
        import cupy

        properties = cupy.cuda.runtime.getDeviceProperties(0)
        return cupy.cuda.runtime.getDeviceCount(), bytes(properties["uuid"]).hex()

    found = list(client.run(look).values())
    assert {count for count, _ in found} == {1}
    whole = sorted(
        one.uuid.removeprefix("GPU-").replace("-", "") for one in devices if one.part is None and not one.is_divided
    )
    if whole and len(whole) == len(found):
        assert sorted(uuid for _, uuid in found) == whole


def test_workers_run_on_the_cpus_that_nvml_says_are_near(client, devices):
    import os

    near = [set(one.cpus) & os.sched_getaffinity(0) or os.sched_getaffinity(0) for one in devices if not one.is_divided]
    found = [set(cpus) for cpus in client.run(lambda: __import__("os").sched_getaffinity(0)).values()]
    assert sorted(map(sorted, found)) == sorted(map(sorted, near))


def test_only_workers_hold_the_device(client, cluster):
    workers = set(client.run(lambda: __import__("os").getpid()).values())
    head = psutil.Process(cluster.record.pid)
    others = [one for one in [head, *head.children(recursive=True), psutil.Process()] if one.pid not in workers]
    # NVML (of driver 580) maps libcuda.so too, and opens /dev/nvidia-uvm: so it is asked who has a context.
    holding = processes_on_devices()
    assert not [process for process in others if process.pid in holding]
    assert workers <= holding
    assert "cupy" not in sys.modules


def test_cupy_and_cudf_take_their_memory_from_rmms_pool(client):
    def look():
        import cupy
        from glassloom.devices.device import current_device

        device = current_device()
        before = device.used()
        array = cupy.ones(2**20)
        taken, pool = device.used() - before, cupy.get_default_memory_pool().total_bytes()
        del array
        return taken, pool, device.used() - before, device.pool() > 0

    assert set(client.run(look).values()) == {(8 * 2**20, 0, 0, True)}


def test_the_allocator_can_be_set_from_the_client(client):
    def set_it():
        import cupy
        import rmm
        from rmm.allocators.cupy import rmm_cupy_allocator

        cupy.cuda.set_allocator(rmm_cupy_allocator)
        return int(cupy.arange(10).sum()), rmm.is_initialized()

    assert set(client.run(set_it).values()) == {(45, True)}


def test_the_asynchronous_allocator_works(devices):
    from glassloom import Client

    with LocalCUDACluster(n_workers=1, rmm_async=True) as cluster, Client(cluster, set_as_default=False) as client:
        assert client.submit(lambda: int(__import__("cupy").arange(10).sum())).result(60) == 45


def test_a_task_longer_than_the_devices_memory_is_an_error_that_names_it(client):
    def take_too_much():
        import cupy

        return cupy.empty(2**50, dtype="u1")

    with pytest.raises(MemoryError):
        client.submit(take_too_much, key="take-too-much").result(120)
    assert client.submit(sum, [1, 2]).result(60) == 3
