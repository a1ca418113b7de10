"""A real `LocalCUDACluster` on a machine without GPUs: NVML is a recorded session, and `cuda_stand_ins` has modules in place of CuPy, RMM
and cuDF that note how they are used. What such a test can't show is in `tests/gpu`.
"""

import math
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import glassloom as gl
import numpy as np
import psutil
import pytest
from fault_helpers import eventually
from glassloom import Client, LocalCUDACluster
from glassloom.devices.cuda import _PinnedBudget, open_device
from glassloom.devices.cuda_options import CudaOptions
from glassloom.devices.cuda_process import CUDA_LIBRARIES, prepare_process
from glassloom.errors import ClusterStartError, OptionError
from glassloom.sampling.nvml_session import Answer, Session, open_nvml
from glassloom.sampling.nvml_simulator import scenario

STAND_INS = str(Path(__file__).parent / "cuda_stand_ins")


@pytest.fixture(scope="module")
def uuids(tmp_path_factory):
    """The devices of a machine with two GPUs, of which the first is near to one CPU that this process may use."""
    session = scenario("two", 1.0)
    words = -(-(os.cpu_count() or 1) // 64)
    near = min(os.sched_getaffinity(0))
    mask = [1 << near % 64 if near // 64 == word else 0 for word in range(words)]
    answers = [*session.answers, Answer(0.0, "nvmlDeviceGetCpuAffinity", ({"handle": 0}, words), {"value": mask})]
    path = tmp_path_factory.mktemp("nvml") / "two.jsonl"
    Session(session.header, answers, session.length_s).write(path)
    nvml = open_nvml(str(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSLOOM_METRICS__NVML_SESSION", str(path))
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        patch.syspath_prepend(STAND_INS)
        yield [nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByIndex(index)) for index in (0, 1)]


@pytest.fixture(scope="module")
def client(uuids):
    with gl.config.set(metrics__nvml_session=os.environ["GLASSLOOM_METRICS__NVML_SESSION"]):
        cluster = LocalCUDACluster(
            rmm_pool_size="1GiB", rmm_maximum_pool_size=0.5, enable_cudf_spill=True, cudf_spill_stats=1, pre_import="colorsys", memory_limit="1GB", log_spilling=True,
        )  # fmt: skip
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


def test_each_worker_has_its_device_by_uuid_before_cupy_is_loaded(client, uuids):
    def look():
        import os

        import cupy

        return os.environ["CUDA_VISIBLE_DEVICES"], cupy.VISIBLE_AT_IMPORT

    assert sorted(client.run(look).values()) == sorted((uuid, uuid) for uuid in uuids)


def test_a_worker_runs_on_the_cpus_near_to_its_device(client, uuids):
    def look():
        import os

        return os.environ["CUDA_VISIBLE_DEVICES"], sorted(os.sched_getaffinity(0))

    everywhere = sorted(os.sched_getaffinity(0))
    assert dict(client.run(look).values()) == {uuids[0]: everywhere[:1], uuids[1]: everywhere}
    # Also in the threads that run tasks.
    (near,) = [name for name, (uuid, _) in client.run(look).items() if uuid == uuids[0]]
    assert client.submit(look, workers=[near], pure=False).result(60)[1] == everywhere[:1]


def test_rmm_cupy_and_cudf_are_set_up_before_the_first_task(client):
    def look():
        import sys

        import cupy

        return [call for call in cupy.CALLS if call[0] not in ("push", "pop", "record")], "colorsys" in sys.modules

    half = int(141 * 2**30 * 0.5) // 256 * 256
    expected = [
        ("CudaMemoryResource", ()),
        ("PoolMemoryResource", (("initial_pool_size", 2**30), ("maximum_pool_size", half))),
        ("StatisticsResourceAdaptor", ()),
        ("set_allocator", "rmm_cupy_allocator"),
        ("set_option", "spill", True),
        ("set_option", "spill_stats", 1),
    ]
    assert list(client.run(look).values()) == [(expected, True)] * 2


def test_the_allocator_can_be_set_from_the_client(client):
    def set_it():
        import cupy
        from rmm.allocators.cupy import rmm_cupy_allocator

        cupy.cuda.set_allocator(rmm_cupy_allocator)
        return cupy.CALLS[-1]

    assert set(client.run(set_it).values()) == {("set_allocator", "rmm_cupy_allocator")}


def test_workers_are_told_to_log_what_moves(client):
    def look():
        import gc

        from glassloom.protocol.options import WorkerOptions

        return [one.log_spilling for one in gc.get_objects() if type(one) is WorkerOptions]

    assert {tuple(set(found)) for found in client.run(look).values()} == {(True,)}


@pytest.fixture
def stand_ins(uuids, monkeypatch):
    """Import the stand-ins for CUDA's libraries in this process for one test."""
    for name in ("cupy", "rmm", "cudf", "rmm.allocators", "rmm.allocators.cupy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "before")
    everywhere = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, everywhere)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("cupy", "rmm", "cudf")]:
        sys.modules.pop(name)


def test_what_cudf_takes_of_the_device_counts_also_without_options_of_rmm(stand_ins):
    device = open_device("GPU-a", {"GPU-a": CudaOptions("GPU-a", "H200", 0, None, None)})
    import cupy
    import rmm

    rmm.mr.get_current_device_resource().allocation_counts = {"current_bytes": 1000}
    assert (device.used(), device.pool()) == (1000, 1000)
    assert [call for call in cupy.CALLS if call[0] == "set_allocator"] == [], "CuPy keeps its own pool"


def test_tasks_run_where_cupy_was_built_without_nvtx(stand_ins):
    device = open_device("GPU-a", {"GPU-a": CudaOptions("GPU-a", "H200", 0, None, None)})
    import cupy

    cupy.cuda.nvtx = SimpleNamespace(available=False)
    with device.task_range("key") as span:
        assert span.seconds() is None
    assert span.seconds() == 0.0015, "CuPy tells milliseconds"


def test_tasks_are_marked_by_key_and_their_time_is_known_when_the_device_has_reached_their_end(stand_ins, monkeypatch):
    device = open_device("GPU-a", {"GPU-a": CudaOptions("GPU-a", "H200", 0, None, None)})
    import cupy

    with device.task_range("('x', 1)") as span:
        pass
    marks = [call for call in cupy.CALLS if call[0] in ("push", "record", "pop")]
    assert marks == [("push", "('x', 1)"), ("record",), ("record",), ("pop",)]
    monkeypatch.setattr(cupy.cuda.Event, "done", False)
    assert span.seconds() is None

    def fail(event):
        raise cupy.cuda.runtime.CUDARuntimeError

    monkeypatch.setattr(cupy.cuda.Event, "done", property(fail))
    assert math.isnan(span.seconds())


def test_what_a_task_raises_is_told_also_where_the_device_does_not_answer_any_more(stand_ins, monkeypatch):
    device = open_device("GPU-a", {"GPU-a": CudaOptions("GPU-a", "H200", 0, None, None)})
    import cupy

    def refuse(event):
        raise cupy.cuda.runtime.CUDARuntimeError

    with pytest.raises(ValueError, match="of the task"), device.task_range("key") as span:
        monkeypatch.setattr(cupy.cuda.Event, "record", refuse)
        raise ValueError("of the task")
    assert cupy.CALLS[-1] == ("pop",)
    assert math.isnan(span.seconds())


@pytest.mark.parametrize(
    ("make", "is_of_device"),
    [
        (lambda cupy: cupy.cuda.memory.OutOfMemoryError("Out of memory allocating 512 bytes"), True),
        (lambda cupy: MemoryError("std::bad_alloc: out_of_memory: Maximum pool size exceeded"), True),
        (lambda cupy: cupy.cuda.runtime.CUDARuntimeError(2), True),
        (lambda cupy: cupy.cuda.runtime.CUDARuntimeError(700), False),
        (lambda cupy: MemoryError(), False),
        (lambda cupy: MemoryError("std::bad_alloc"), False),
        (lambda cupy: numpy_memory_error(), False),
    ],
)
def test_only_a_lack_of_the_device_s_memory_is_taken_for_one(stand_ins, make, is_of_device):
    device = open_device("GPU-a", {"GPU-a": CudaOptions("GPU-a", "H200", 0, None, None)})
    import cupy

    assert device.is_out_of_memory(make(cupy)) is is_of_device


def numpy_memory_error():
    with pytest.raises(MemoryError) as caught:
        np.empty(2**62, np.int8)
    return caught.value


def test_the_garbage_collector_may_free_pinned_memory_where_some_is_taken():
    budget = _PinnedBudget(10)

    def take():
        with budget._lock:
            budget.give(1)  # a finaliser, in the middle of `take`

    taking = threading.Thread(target=take, daemon=True)
    taking.start()
    taking.join(60)
    assert not taking.is_alive()


def test_head_fork_server_and_client_load_no_cuda_library(client):
    head = psutil.Process(client.cluster.record.pid)
    others = [one for one in [head, *head.children(recursive=True)] if "worker" not in " ".join(one.cmdline()[:1])]
    workers = set(client.run(os.getpid).values())
    mapped = {one.pid: {row.path for row in one.memory_maps()} for one in others if one.pid not in workers}
    assert len(mapped) >= 2, "the head and the fork server"
    assert not [path for paths in mapped.values() for path in paths if "libcuda" in path or "libnvrtc" in path]

    def look():
        import sys

        return sorted({name.partition(".")[0] for name in sys.modules} & {"cupy", "cudf", "rmm", "numba", "torch"})

    assert client.run_on_head(look) == []
    # Workers are forks of the fork server. What it had loaded they would have loaded before they had a device.
    assert {tuple(found) for found in client.run(look).values()} == {("cudf", "cupy", "rmm")}
    assert [name for name in CUDA_LIBRARIES if name in sys.modules] == []


@pytest.mark.parametrize(
    "module",
    [
        *(pytest.param(module, marks=pytest.mark.long) for module in ("glassloom.client", "glassloom.array")),
        "glassloom.dataframe",  # which imports those two
        "glassloom_server.extension",
    ],
)
def test_nothing_that_is_imported_outside_workers_loads_a_cuda_library(module, uuids):
    told = ", ".join(map(repr, CUDA_LIBRARIES))
    script = f"import sys; sys.path.insert(0, {STAND_INS!r}); import {module}; print([name for name in ({told}) if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[]"


def test_a_process_that_has_loaded_a_cuda_library_is_given_no_device(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", object())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "before")
    with pytest.raises(OptionError, match="cupy was loaded before the worker was given its device GPU-a"):
        prepare_process(CudaOptions("GPU-a", "H200", 0, None, None))
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "before"


def test_a_cluster_has_no_more_workers_than_devices(client, uuids):
    with pytest.raises(OptionError, match=f"n=3 is more than the cluster has devices, .*{uuids[0]}, {uuids[1]}"):
        client.cluster.scale(3)
    with pytest.raises(OptionError, match="maximum=5 is more"):
        client.cluster.adapt(0, 5)
    assert "LocalCUDACluster(" in repr(client.cluster) and "2 x NVIDIA H200" in client.cluster._repr_html_()


def test_a_worker_that_is_replaced_has_the_device_of_the_one_before(client, uuids):
    def look():
        import os

        return os.getpid(), os.environ["CUDA_VISIBLE_DEVICES"]

    before = dict(client.run(look).values())
    victim = next(pid for pid, uuid in before.items() if uuid == uuids[1])
    psutil.Process(victim).kill()

    def replaced():
        found = dict(client.run(look, on_error="ignore").values())
        return found if len(found) == 2 and victim not in found else None

    after = eventually(replaced)
    assert sorted(after.values()) == sorted(uuids)


def test_a_worker_that_cannot_be_set_up_is_an_error_that_says_why(uuids):
    with (
        gl.config.set(metrics__nvml_session=os.environ["GLASSLOOM_METRICS__NVML_SESSION"]),
        pytest.raises(ClusterStartError, match="No module named 'no_such_module'"),
    ):
        LocalCUDACluster("0", pre_import="no_such_module")
