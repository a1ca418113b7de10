"""What `LocalCUDACluster` makes of its options: which devices it finds, and what it refuses. NVML is simulated; no device is needed."""

import os

import glassloom as gl
import pytest
from glassloom import Client, LocalCluster, LocalCUDACluster, config
from glassloom.cluster import cuda, cuda_devices
from glassloom.cluster.cuda_devices import FoundDevice, chosen_devices, found_devices
from glassloom.cluster.cuda_options import CudaClusterOptions
from glassloom.devices.cuda_options import RmmOptions
from glassloom.errors import ClusterStartError, DeviceNotFound, OptionError
from glassloom.sampling.nvml_session import ReplayedNvml
from glassloom.sampling.nvml_simulator import SCENARIOS, SimulatedDevice, SimulatedHost, SimulatedNvml, scenario

GIB = 2**30


def found(name_or_host):
    host = SCENARIOS[name_or_host] if isinstance(name_or_host, str) else name_or_host
    return found_devices(SimulatedNvml(host, lambda: 0.0))


def chosen(devices, names):
    return [device.uuid for device in chosen_devices(devices, names, option="CUDA_VISIBLE_DEVICES")]


def host_of(*uuids, **options):
    return SimulatedHost(tuple(SimulatedDevice(uuid, **options) for uuid in uuids))


DEVICES = [
    FoundDevice("GPU-aa1", "H200", 0, total_bytes=100 * GIB, cpus=(0, 1)),
    FoundDevice("GPU-aa2", "H200", 1, total_bytes=80 * GIB),
]
SHARED = FoundDevice("GPU-soc", "Orin", 0, total_bytes=None)


def options_of(devices=DEVICES, installed=("cupy", "rmm", "cudf", "torch"), **options):
    return CudaClusterOptions(**options).for_devices(devices, lambda package: package in installed)


# Which devices there are


def test_nvml_tells_each_device_with_its_memory_and_the_cpus_near_to_it():
    host = SimulatedHost((SimulatedDevice("GPU-a", cpus=(0, 2, 5)), SimulatedDevice("GPU-b", memory_bytes=80 * GIB)))
    assert found(host) == [
        FoundDevice("GPU-a", "NVIDIA H200", 0, total_bytes=141 * GIB, cpus=(0, 2, 5)),
        FoundDevice("GPU-b", "NVIDIA H200", 1, total_bytes=80 * GIB),
    ]


def test_a_divided_gpu_is_followed_by_its_instances_which_are_used_in_its_place():
    devices = found("mig")
    assert [(one.index, one.part, one.is_divided) for one in devices] == [
        (0, None, True), (0, 0, False), (0, 1, False), (0, 2, False), (1, None, False),
    ]  # fmt: skip
    assert chosen(devices, None) == [one.uuid for one in devices[1:]]
    assert chosen(devices, [devices[2].uuid, 1]) == [devices[2].uuid, devices[4].uuid]
    parts = ", ".join(one.uuid for one in devices[1:4])
    with pytest.raises(OptionError, match=f"is divided into MIG instances, name these: {parts}"):
        chosen(devices, "0")


def test_a_recorded_session_is_read_like_the_machine_itself():
    assert [one.name for one in found_devices(ReplayedNvml(scenario("two", 1.0)))] == ["NVIDIA H200"] * 2


def test_a_lost_device_is_left_out():
    lost = SimulatedDevice("GPU-b", lost_at_s=0.0)
    assert [one.uuid for one in found(SimulatedHost((SimulatedDevice("GPU-a"), lost)))] == ["GPU-a"]
    with pytest.raises(DeviceNotFound, match="lists 1 devices, none of which answers"):
        found(SimulatedHost((lost,)))


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("no-library", r"no NVIDIA GPU to compute on\. The NVML library \(libnvidia-ml\.so\.1\) was not found"),
        ("old-driver", "driver is too old"),
        ("none", "NVML, the library of the NVIDIA driver, lists no device"),
    ],
)
def test_without_a_device_the_error_says_what_was_looked_for_and_what_to_use_instead(scenario, words):
    with pytest.raises(DeviceNotFound, match=rf"{words}.*use glassloom\.LocalCluster\(\)") as caught:
        found(scenario)
    assert isinstance(caught.value, ClusterStartError)


# Which are chosen


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("1,0", ["GPU-aa2", "GPU-aa1"]), (" 0 , GPU-aa2 ", ["GPU-aa1", "GPU-aa2"]), ([1], ["GPU-aa2"]), (1, ["GPU-aa2"]),
        (["1", 0], ["GPU-aa2", "GPU-aa1"]), (("GPU-aa1",), ["GPU-aa1"]), (range(2), ["GPU-aa1", "GPU-aa2"]), (None, ["GPU-aa1", "GPU-aa2"]),
    ],
)  # fmt: skip
def test_devices_are_named_by_indices_and_uuids(names, expected):
    assert chosen(DEVICES, names) == expected


@pytest.mark.parametrize(
    ("names", "error", "words"),
    [
        ("", OptionError, "names no device; there are GPU 0"),
        ([], OptionError, "names no device"),
        ("0,", OptionError, "'' is neither an index nor a UUID"),
        ("gpu0", OptionError, "'gpu0' is neither an index nor a UUID that begins with 'GPU-' or 'MIG-'"),
        ("-1", OptionError, "'-1' is neither"),
        ([True], OptionError, "True is neither"),
        (True, OptionError, "should be indices or UUIDs"),
        (1.5, OptionError, "should be indices or UUIDs"),
        ("0,0", OptionError, r"names GPU 0 \(H200, GPU-aa1\) twice; each device has one worker"),
        ("0,GPU-aa1", OptionError, "twice"),
        ("GPU-aa", OptionError, r"'GPU-aa' fits GPU 0 .* and GPU 1 .*; write more of the UUID"),
        ("2", DeviceNotFound, r"there is no device '2'; there are GPU 0 \(H200, GPU-aa1\), GPU 1 \(H200, GPU-aa2\)"),
        ("MIG-x", DeviceNotFound, "there is no device 'MIG-x'"),
    ],
)  # fmt: skip
def test_names_that_fit_no_device_or_several_are_refused(names, error, words):
    with pytest.raises(error, match=words):
        chosen(DEVICES, names)


def test_a_uuid_that_is_the_beginning_of_another_means_its_own_device():
    assert chosen(found(host_of("GPU-1", "GPU-12")), "GPU-1") == ["GPU-1"]


@pytest.fixture
def two_simulated(tmp_path, monkeypatch):
    """NVML as on a machine with two devices."""
    path = tmp_path / "two.jsonl"
    scenario("two", 1.0).write(path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with config.set(metrics__nvml_session=str(path)):
        yield [one.uuid for one in found_devices(ReplayedNvml(scenario("two", 1.0)))]


def test_each_worker_has_the_next_device_of_the_list(two_simulated):
    first, second = two_simulated
    assert [one.uuid for one in cuda.devices_for(None, None)] == [first, second]
    assert [one.uuid for one in cuda.devices_for("1,0", 1)] == [second]
    with pytest.raises(OptionError, match=r"n_workers=3 is more than there are devices, .*GPU 0.*GPU 1"):
        cuda.devices_for(None, 3)


def test_the_environment_variable_is_heeded_and_named_in_messages(two_simulated, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [one.uuid for one in cuda.devices_for(None, None)] == two_simulated[1:]
    assert [one.uuid for one in cuda.devices_for("0", None)] == two_simulated[:1]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(OptionError, match="the environment variable CUDA_VISIBLE_DEVICES='' names no device"):
        cuda.devices_for(None, None)


def test_a_driver_that_does_not_answer_is_given_up(monkeypatch):
    import threading

    release = threading.Event()
    monkeypatch.setattr(cuda, "_NVML_DEADLINE_S", 0.01)
    monkeypatch.setattr(cuda, "found_devices", lambda nvml: release.wait(60))
    with pytest.raises(DeviceNotFound, match=r"hasn't answered for 0\.01 s"):
        cuda.devices_for(None, None)
    release.set()


def test_masks_of_cpus_of_more_than_one_word_are_read():
    assert cuda_devices.cpus_of_mask([1 << 63 | 1, 2]) == (0, 63, 65)
    host = SimulatedHost((SimulatedDevice("GPU-a", cpus=(1,), unsupported=frozenset(["nvmlDeviceGetCpuAffinity"])),))
    assert found(host)[0].cpus == ()


# Options


def test_the_defaults_are_those_of_dask_cuda():
    first, second = options_of()
    assert (first.limit_bytes, second.limit_bytes) == (80 * GIB, 64 * GIB)
    assert (first.uuid, first.index, first.cpus, first.pre_import) == ("GPU-aa1", 0, (0, 1), ())
    assert first.rmm == RmmOptions() and not first.rmm.is_used and not first.cudf_spill


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("default", 80 * GIB), ("auto", 100 * GIB), (None, None), (0, None), (0.5, 50 * GIB), (1.0, 100 * GIB), ("0.5", 50 * GIB),
        (10**9, 10**9), ("4GiB", 4 * GIB), ("4 GB", 4 * 10**9), (1, 1),
    ],
)  # fmt: skip
def test_device_memory_limits_are_bytes_shares_or_words(limit, expected):
    assert options_of(DEVICES[:1], device_memory_limit=limit)[0].limit_bytes == expected


def test_a_device_without_memory_of_its_own_has_no_limit_and_takes_none():
    assert [options_of([SHARED], device_memory_limit=one)[0].limit_bytes for one in ("default", "auto", None)] == [
        None
    ] * 3
    for limit, words in ((0.5, "is a share, and GPU 0"), ("4GB", "has no memory of its own: write 'default' or None")):
        with pytest.raises(OptionError, match=words):
            options_of([SHARED], device_memory_limit=limit)
    with pytest.raises(OptionError, match="enable_cudf_spill=True: GPU 0 .* has no memory of its own"):
        options_of([SHARED], enable_cudf_spill=True)


def test_pools_are_sized_for_each_device_in_whole_units_of_the_allocator():
    first, second = options_of(rmm_pool_size=0.5, rmm_maximum_pool_size="70GB")
    assert (first.rmm.pool_bytes, second.rmm.pool_bytes) == (50 * GIB, 40 * GIB)
    assert first.rmm.maximum_pool_bytes == 70 * 10**9 // 256 * 256
    assert options_of(rmm_pool_size=1000)[0].rmm.pool_bytes == 768


def test_options_go_to_the_worker_as_they_are():
    (first, _) = options_of(
        rmm_async=True, rmm_release_threshold="1GB", rmm_maximum_pool_size=0.9, rmm_allocator_external_lib_list="torch, cupy",
        enable_cudf_spill=True, cudf_spill_stats=2, pre_import="cudf,rmm", rmm_track_allocations=True,
    )  # fmt: skip
    assert first.rmm == RmmOptions(
        maximum_pool_bytes=int(100 * GIB * 0.9) // 256 * 256, asynchronous=True, release_threshold_bytes=10**9 // 256 * 256,
        libraries=("torch", "cupy"), track_allocations=True,
    )  # fmt: skip
    assert (first.cudf_spill, first.cudf_spill_stats, first.pre_import) == (True, 2, ("cudf", "rmm"))
    assert options_of(rmm_managed_memory=True, rmm_pool_size="200GB")[0].rmm.pool_bytes == 200 * 10**9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rmm_async": True, "rmm_managed_memory": True}, "rmm_async=True and rmm_managed_memory=True: .* leave one of them out"),
        ({"rmm_release_threshold": "1GB"}, "rmm_release_threshold='1GB' is for RMM's asynchronous allocator: write rmm_async=True"),
        ({"rmm_maximum_pool_size": "1GB"}, "rmm_maximum_pool_size='1GB' is the largest size of a pool: write rmm_pool_size too"),
        ({"rmm_pool_size": 0, "rmm_maximum_pool_size": "1GB"}, "rmm_maximum_pool_size='1GB' is the largest size of a pool: write rmm_pool_size too"),
        ({"rmm_pool_size": "2GB", "rmm_maximum_pool_size": "1GB"}, r"rmm_maximum_pool_size='1GB' is less than rmm_pool_size='2GB' on GPU 0"),
        ({"rmm_pool_size": "101GiB"}, r"rmm_pool_size='101GiB' is 101.* GiB; GPU 0 \(H200, GPU-aa1\) has 100"),
        ({"rmm_pool_size": "90GiB"}, r"GPU 1 \(H200, GPU-aa2\) has 80"),
        ({"rmm_pool_size": "much"}, "rmm_pool_size='much' is not a size: write bytes, .* share of the device's memory"),
        ({"rmm_pool_size": -1}, "rmm_pool_size=-1 is not a size"),
        ({"device_memory_limit": "most"}, "device_memory_limit='most' is not a size"),
        ({"device_memory_limit": float("inf")}, "device_memory_limit=inf is not a size"),
        ({"device_memory_limit": "101GiB"}, "device_memory_limit='101GiB' is 101"),
        ({"device_memory_limit": True}, "device_memory_limit=True is not a size"),
        ({"rmm_allocator_external_lib_list": "jax"}, "'jax' can't take its memory from RMM; these can: torch, cupy"),
        ({"rmm_allocator_external_lib_list": {"cupy"}}, "should be names with commas between them, or a list"),
        ({"pre_import": [1]}, r"pre_import=\[1\] should be names"),
        ({"pre_import": "cudf,,rmm"}, "pre_import='cudf,,rmm' should be names"),
        ({"cudf_spill_stats": -1}, "cudf_spill_stats=-1 should be a whole number, 0"),
        ({"rmm_async": "yes"}, "rmm_async='yes' should be True or False"),
        ({"enable_cudf_spill": 1}, "enable_cudf_spill=1 should be True or False"),
        ({"rmm_log_directory": "/nowhere"}, "rmm_log_directory='/nowhere' is no directory"),
        ({"rmm_log_directory": os.curdir}, "RMM writes a log only with rmm_pool_size"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        options_of(**options)


@pytest.mark.parametrize(
    ("installed", "options", "words"),
    [
        ((), {}, "'cupy' isn't installed, and workers on GPUs need it: install the extra .*'glassloom\\[cuda12\\]'"),
        (("cupy",), {"rmm_pool_size": "1GB"}, "'rmm' isn't installed, and rmm_pool_size='1GB' needs it"),
        (("cupy",), {"rmm_async": True}, "'rmm' isn't installed, and rmm_async=True needs it"),
        (("cupy",), {"rmm_managed_memory": True}, "'rmm' isn't installed, and rmm_managed_memory=True needs it"),
        (("cupy", "rmm"), {"enable_cudf_spill": True}, "'cudf' isn't installed, and enable_cudf_spill=True needs it"),
        (("cupy", "rmm"), {"rmm_allocator_external_lib_list": ["torch"]}, "'torch' isn't installed"),
    ],
)  # fmt: skip
def test_packages_that_are_needed_and_missing_are_named(installed, options, words):
    with pytest.raises(OptionError, match=words):
        options_of(installed=installed, **options)


def test_a_pool_beside_the_asynchronous_allocator_is_warned_of_as_dask_cuda_does():
    with pytest.warns(FutureWarning, match="rmm_pool_size isn't needed with rmm_async=True"):
        assert options_of(rmm_async=True, rmm_pool_size="1GB")[0].rmm.asynchronous


# Asking for such a cluster


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"threads_per_worker": 0}, OptionError, "threads_per_worker=0 should be a whole number, 1 or more"),
        ({"n_workers": 0}, OptionError, "n_workers=0 should be a whole number, 1 or more"),
        ({"enable_nvlink": True}, OptionError, "enable_nvlink=True: .*no UCX here"),
        ({"enable_infiniband": True}, OptionError, "enable_infiniband=True"),
        ({"protocol": "ucx"}, OptionError, "protocol='ucx': a cluster has no network address"),
        ({"processes": False}, OptionError, "workers are processes"),
        ({"jit_unspill": True}, OptionError, "jit_unspill=True"),
        ({"rmm_pool": "1GB"}, TypeError, "unexpected keyword argument 'rmm_pool'; did you mean 'rmm_pool_size'"),
        ({"memory_limit": "no"}, OptionError, "memory_limit='no' is not a size"),
        ({"CUDA_VISIBLE_DEVICES": "7"}, DeviceNotFound, "there is no device '7'"),
    ],
)  # fmt: skip
def test_a_cluster_that_cannot_be_is_refused_before_anything_starts(two_simulated, monkeypatch, options, error, words):
    monkeypatch.setattr("glassloom.cluster.cuda_options._can_be_imported", lambda package: True)
    with pytest.raises(error, match=words):
        LocalCUDACluster(**options)


def test_a_cluster_without_gpus_names_the_one_with():
    with pytest.raises(OptionError, match="rmm_pool_size='1GB': .*LocalCUDACluster"):
        LocalCluster(rmm_pool_size="1GB")
    with pytest.raises(
        OptionError, match=r"device_memory_limit=0\.5: .*LocalCUDACluster\(\.\.\.\) or Client\(gpu=True"
    ):
        Client(device_memory_limit=0.5)
    with pytest.raises(OptionError, match="gpu=True is for a new cluster"):
        Client("some-cluster", gpu=True)


def test_on_this_machine_a_client_with_gpus_starts_or_says_why_not(monkeypatch):
    monkeypatch.setattr("glassloom.cluster.cuda.found_devices", lambda nvml: found("none"))
    for ask in (LocalCUDACluster, lambda: Client(gpu=True)):
        with pytest.raises(gl.errors.DeviceNotFound, match="no NVIDIA GPU to compute on"):
            ask()
