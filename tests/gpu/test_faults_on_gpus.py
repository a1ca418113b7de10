"""What goes wrong on a real device: processes killed and stopped, kernels that write where they may not, memory that is full, several clusters at once."""

from __future__ import annotations

import os
import signal

import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import psutil
import pytest
from device_processes import processes_on_devices
from eventual import eventually
from glassloom import Client, LocalCUDACluster

pytestmark = pytest.mark.gpu


def pid_of_worker(client):
    """Return the id of the only worker's process; None while there is none."""
    return next(iter(client.run(os.getpid).values()), None)


@pytest.fixture
def one_worker(devices):
    with LocalCUDACluster(n_workers=1) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def sums(client, x):
    return client.compute(x.sum(axis=1)).result(120).get()


def test_results_on_the_device_of_a_worker_that_is_killed_are_made_again(one_worker):
    x = ga.random.default_rng(1, backend="cupy").random((2000, 2000), chunks=(500, 2000))
    held = one_worker.persist(x)
    expected, pid = sums(one_worker, held), pid_of_worker(one_worker)
    assert pid in processes_on_devices()
    os.kill(pid, signal.SIGKILL)
    np.testing.assert_array_equal(sums(one_worker, held), expected)
    assert pid_of_worker(one_worker) != pid
    eventually(lambda: pid not in processes_on_devices())


def test_a_worker_that_is_stopped_for_a_while_goes_on(one_worker):
    x = ga.random.default_rng(1, backend="cupy").random((2000, 2000), chunks=(500, 2000))
    held = one_worker.persist(x)
    expected, pid = sums(one_worker, held), pid_of_worker(one_worker)
    os.kill(pid, signal.SIGSTOP)
    later = one_worker.compute(held.sum(axis=1))
    eventually(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    assert not later.done()
    os.kill(pid, signal.SIGCONT)
    np.testing.assert_array_equal(later.result(60).get(), expected)
    assert pid_of_worker(one_worker) == pid


def write_where_nothing_is():
    import cupy

    kernel = cupy.RawKernel('extern "C" __global__ void write(long long where) { *(int*)where = 1; }', "write")
    kernel((1,), (1,), (16,))
    cupy.cuda.runtime.deviceSynchronize()


def test_after_a_kernel_that_breaks_the_device_for_its_process_the_worker_is_another_one(one_worker):
    """After such an error CUDA answers nothing in the process any more, whoever asks."""
    pid = pid_of_worker(one_worker)
    with pytest.raises(Exception, match=r"(?i)illegal|cuda|worker"):
        one_worker.submit(write_where_nothing_is, retries=0).result(120)
    eventually(lambda: pid_of_worker(one_worker) not in (pid, None))
    assert one_worker.submit(lambda: int(__import__("cupy").arange(10).sum())).result(60) == 45


def test_more_than_the_device_may_hold_moves_to_the_host_and_back_unchanged(devices):
    limit = 256 * 2**20
    with (
        LocalCUDACluster(n_workers=1, device_memory_limit=limit) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        x = ga.random.default_rng(3, backend="cupy").random((8, 16 * 2**20), chunks=(1, 16 * 2**20))  # 1 GiB
        held = client.persist(x)
        first, second = (client.compute(held[:, ::1001].sum(axis=1)).result(120).get() for _ in range(2))
        np.testing.assert_array_equal(first, second)
        again = client.compute(x[:, ::1001].sum(axis=1)).result(120).get()  # summed in the kernels that draw
        np.testing.assert_allclose(first, again, rtol=1e-14)
        (used,) = client.run(
            lambda: __import__("glassloom.devices.device", fromlist="_").current_device().used()
        ).values()
        assert used <= limit + 2 * 2**27  # and a block that a task works on, and its result


def test_a_pool_that_is_full_makes_room_or_names_the_task(devices):
    with (
        LocalCUDACluster(n_workers=1, rmm_pool_size="1GiB", rmm_maximum_pool_size="1GiB") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        x = ga.random.default_rng(3, backend="cupy").random(
            (12, 2**24), chunks=(1, 2**24)
        )  # 1.5 GiB, in blocks of 128 MiB
        held = client.persist(x)
        assert abs(float(client.compute(held.mean()).result(120)) - 0.5) < 1e-3
        with pytest.raises(MemoryError):
            client.submit(lambda: __import__("cupy").empty(2**31, "u1"), key="two-gigabytes").result(120)
        assert abs(float(client.compute(held.mean()).result(120)) - 0.5) < 1e-3


def test_two_clusters_share_a_device(devices):
    with (
        LocalCUDACluster(n_workers=1) as one, LocalCUDACluster(n_workers=1) as other,
        Client(one, set_as_default=False) as client, Client(other, set_as_default=False) as second,
    ):  # fmt: skip
        x = ga.random.default_rng(3, backend="cupy").random((4000, 4000), chunks=1000)
        futures = [each.compute((x @ x.T).sum()) for each in (client, second)]
        found = [float(future.result(120)) for future in futures]
        assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_threads_of_a_worker_share_its_device(devices):
    with (
        LocalCUDACluster(n_workers=1, threads_per_worker=4) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        host = np.random.default_rng(2).random((600, 500))
        x = ga.from_array(host, chunks=(50, 500)).to_backend("cupy")
        found = client.compute((ga.exp(-x) + x.mean(axis=0)).sum(axis=0)).result(120).get()
        np.testing.assert_allclose(found, (np.exp(-host) + host.mean(axis=0)).sum(axis=0), rtol=1e-10)


def test_frames_on_the_device_of_a_worker_that_is_killed_are_made_again(one_worker):
    pytest.importorskip("cudf")
    host = pd.DataFrame({"k": ["a", "b", None, "c"] * 5000, "x": np.arange(20_000.0)})
    held = one_worker.persist(gd.from_pandas(host, npartitions=4).to_backend("cudf"))
    expected = host.groupby("k").x.sum()
    pd.testing.assert_series_equal(one_worker.compute(held.groupby("k").x.sum()).result(120), expected)
    os.kill(pid_of_worker(one_worker), signal.SIGKILL)
    pd.testing.assert_series_equal(one_worker.compute(held.groupby("k").x.sum()).result(120), expected)


def test_what_cudf_lacks_is_computed_on_the_host_by_workers_too(one_worker):
    cudf = pytest.importorskip("cudf")
    host = pd.DataFrame({"n": [0, 1, 2, 3] * 5, "x": np.arange(20.0)})
    lazy = gd.from_pandas(host, npartitions=2).to_backend("cudf").rename_axis("label")
    found, rest = one_worker.gather(one_worker.compute([lazy, lazy.n % (lazy.n - 1)]))
    assert isinstance(found, cudf.DataFrame) and isinstance(rest, cudf.Series)
    expected = host.rename_axis("label")
    pd.testing.assert_frame_equal(found.to_pandas(), expected)
    pd.testing.assert_series_equal(rest.to_pandas(), expected.n % (expected.n - 1))
