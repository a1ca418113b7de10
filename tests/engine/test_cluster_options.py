"""The options of a cluster: the same for `Client` and `LocalCluster`, from the configuration, and by names typed by habit."""

from __future__ import annotations

import inspect
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from glassloom import Client, LocalCluster, LocalCUDACluster, config
from glassloom.cluster import head_process
from glassloom.cluster.cuda import CUDA_OPTION_NAMES
from glassloom.cluster.cuda_options import CudaClusterOptions
from glassloom.cluster.options import OPTION_NAMES, ClusterOptions
from glassloom.cluster.other_names import WITHOUT_GPUS
from glassloom.errors import ClusterStartError, OptionError
from glassloom.protocol.options import SPILL_CODECS, MemoryLimits

MIB = 2**20


@pytest.fixture(autouse=True)
def nothing_stays_set() -> Iterator[None]:
    yield
    config.refresh()


def parameters(function: Any, without: set[str]) -> dict[str, tuple[Any, str]]:
    """Return the parameters of a function with their defaults and types, but for some."""
    found = inspect.signature(function).parameters.values()
    return {each.name: (each.default, str(each.annotation)) for each in found if each.name not in without}


def test_client_and_cluster_have_the_same_options_with_the_same_defaults() -> None:
    own = parameters(ClusterOptions, set())
    assert tuple(own) == OPTION_NAMES
    assert parameters(LocalCluster, {"others"}) == own
    of_client = parameters(Client, {"address", "gpu", "asynchronous", "set_as_default", "dask", "security", "others"})
    assert of_client == {name: kind for name, kind in own.items() if name not in ("detached", "started_by")}


def test_a_cluster_of_gpus_takes_the_options_of_its_devices_with_the_same_defaults() -> None:
    own = parameters(CudaClusterOptions, set())
    taken = parameters(LocalCUDACluster, {"others", "n_workers", "threads_per_worker", "memory_limit"})
    assert taken.pop("CUDA_VISIBLE_DEVICES") and taken == own
    assert set(own) | {"CUDA_VISIBLE_DEVICES"} == set(CUDA_OPTION_NAMES) <= set(WITHOUT_GPUS)


def test_the_signature_names_the_option_that_is_the_default() -> None:
    assert "memory_limit: 'int | float | str | None | Configured' = config.get('cluster.memory-limit')" in str(
        inspect.signature(LocalCluster)
    )


def test_defaults_are_the_same_wherever_they_are_written() -> None:
    names = ("memory-target", "memory-spill", "memory-pause", "memory-terminate", "shared-memory")
    assert MemoryLimits() == MemoryLimits(None, *[config.OPTIONS[f"cluster.{name}-fraction"].default for name in names])
    assert set(config.OPTIONS["cluster.spill-compression"].kind.name.split(" or ")) == set(SPILL_CODECS)


# From the configuration


@pytest.mark.parametrize(
    ("name", "value", "read", "expected"),
    [
        ("cluster.n-workers", 3, lambda head: head.n_workers, 3),
        ("cluster.n-workers", 0, lambda head: head.n_workers, 0),
        ("cluster.threads-per-worker", 5, lambda head: head.threads_per_worker, 5),
        ("cluster.memory-limit", "1 GiB", lambda head: head.memory.limit_bytes, 1024 * MIB),
        ("cluster.memory-limit", None, lambda head: head.memory.limit_bytes, None),
        ("cluster.memory-target-fraction", 0.1, lambda head: head.memory.target, 0.1),
        ("cluster.memory-spill-fraction", None, lambda head: head.memory.spill, None),
        ("cluster.memory-pause-fraction", 0.75, lambda head: head.memory.pause, 0.75),
        ("cluster.memory-terminate-fraction", 0.9, lambda head: head.memory.terminate, 0.9),
        ("cluster.shared-memory-fraction", 0.2, lambda head: head.memory.shared, 0.2),
        ("cluster.spill-compression", "zstd", lambda head: head.spill_compression, "zstd"),
        ("cluster.local-directory", "/scratch", lambda head: head.local_directory, "/scratch"),
        ("metrics.log-memory", "1 MiB", lambda head: head.log_memory_bytes, MIB),
        ("metrics.nvml-session", "/records/gpus.jsonl", lambda head: head.nvml_session, "/records/gpus.jsonl"),
        ("metrics.profile-interval", "20 ms", lambda head: head.profile_interval_s, 0.02),
        ("metrics.profile-interval", None, lambda head: head.profile_interval_s, None),
    ],
)
def test_what_is_not_given_is_taken_from_the_configuration(name: str, value: Any, read: Any, expected: Any) -> None:
    with config.set({name: value}):
        assert read(ClusterOptions().resolved().for_head("any")) == expected


def test_what_is_given_wins() -> None:
    with config.set(cluster__n_workers=3, cluster__memory_limit="1 GiB"):
        head = ClusterOptions(n_workers=1, memory_limit=None).resolved().for_head("any")
    assert (head.n_workers, head.memory.limit_bytes) == (1, None)


def test_a_wrong_combination_is_refused_wherever_it_comes_from() -> None:
    with (
        config.set(cluster__memory_pause_fraction=0.5),
        pytest.raises(OptionError, match=r"memory_pause_fraction=0\.5 should be at least memory_spill_fraction=0\.7"),
    ):
        ClusterOptions().resolved()


def test_a_client_starts_the_cluster_that_is_configured() -> None:
    with (
        config.set(cluster__n_workers=1, cluster__threads_per_worker=3, cluster__memory_limit="300 MiB"),
        Client() as client,
    ):
        (worker,) = client.scheduler_info()["workers"].values()
    assert (worker["nthreads"], worker["memory_limit"]) == (3, 300 * MIB)


def test_a_clusters_processes_have_its_clients_configuration() -> None:
    with config.set(array__chunk_size="3 MiB", cluster__blas_threads=2, cluster__n_workers=1), Client() as client:
        found = client.submit(lambda: (config.get("array.chunk-size"), os.environ["OMP_NUM_THREADS"])).result()
    assert found == (3 * MIB, "2")


@pytest.mark.parametrize(("share", "n_in_shared_memory"), [(None, 3), (1e-5, 1)])
def test_the_shared_fraction_bounds_the_results_in_shared_memory(share: float | None, n_in_shared_memory: int) -> None:
    with config.set(cluster__shared_memory_fraction=share), Client(n_workers=1, memory_limit="1 GB") as client:
        results = [client.submit(bytes, MIB + number) for number in range(3)]
        assert [len(result.result()) for result in results] == [MIB, MIB + 1, MIB + 2]
        segments = list(Path("/dev/shm").glob(f"glassloom-{client.id}-*"))
    assert len(segments) == n_in_shared_memory


def test_the_log_of_events_goes_to_disk_when_it_is_larger_than_configured() -> None:
    with config.set(metrics__log_memory="1 kB"), Client(n_workers=1, threads_per_worker=1) as client:
        spool = Path(client._record.directory, "journal-000000.glr")
        while not spool.exists():  # until the bound on every test
            client.gather(client.map(abs, range(10), pure=False))
    with Client(n_workers=1, threads_per_worker=1) as client:
        client.gather(client.map(abs, range(10), pure=False))
        assert not Path(client._record.directory, "journal-000000.glr").exists()


def test_the_start_timeout_is_how_long_a_start_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.Popen

    def never_ready(_command: list[str], **options: Any) -> Any:
        return real(["sleep", "100"], **options)

    monkeypatch.setattr(head_process.subprocess, "Popen", never_ready)
    with (
        config.set(cluster__start_timeout="100ms"),
        pytest.raises(ClusterStartError, match="didn't start within 0.1 s"),
    ):
        LocalCluster(n_workers=1)
    with pytest.raises(ClusterStartError, match="didn't start within 0.2 s"):
        LocalCluster(n_workers=1, timeout="200ms")


def test_adapt_waits_as_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []
    with LocalCluster(n_workers=0) as cluster:
        connection = cluster._connect()
        send = connection.send
        monkeypatch.setattr(connection, "send", lambda message: (sent.append(message), send(message))[1])
        with config.set(cluster__adapt_wait="7 s"):
            cluster.adapt(0, 1)
        cluster.adapt(0, 1, wait_s=2)
    assert [message.wait_s for message in sent] == [7.0, 2.0]


# Names that are typed by habit


def test_a_cluster_may_start_without_workers() -> None:
    with Client(n_workers=0) as client:
        assert client.scheduler_info()["workers"] == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"processes": False},
            r"processes=False: workers are processes; .* no cluster: x.compute\(scheduler='threads'\)",
        ),
        (
            {"dashboard_address": ":8787"},
            "dashboard_address=':8787': dashboards are no part .* `glassloom dashboard --port",
        ),
        ({"diagnostics_port": 8787}, "diagnostics_port=8787: dashboards are no part"),
        ({"silence_logs": 30}, r"silence_logs=30: set the level yourself: logging.getLogger\('glassloom'\).setLevel"),
        ({"ip": "0.0.0.0"}, "ip='0.0.0.0': a cluster has no network address"),
        ({"host": "localhost"}, "host='localhost': a cluster has no network address"),
        ({"port": 8786}, "port=8786: a cluster has no network address"),
        ({"protocol": "tcp"}, "protocol='tcp': a cluster has no network address"),
        ({"security": True}, "security=True: only processes of this user"),
        ({"death_timeout": 60}, "death_timeout=60: workers end when the head process does; .* is timeout"),
        ({"nthreads": 2}, "nthreads=2: write threads_per_worker"),
        ({"num_cpus": 2}, "num_cpus=2: write n_workers and threads_per_worker"),
        ({"timeout": "soon"}, "timeout='soon' is no time"),
        ({"timeout": 0}, "timeout=0 should be above 0"),
    ],
)
@pytest.mark.parametrize("kind", [Client, LocalCluster])
def test_options_of_other_libraries_are_told_what_there_is(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        kind(**options)


def test_options_of_other_libraries_that_change_nothing_are_taken() -> None:
    unchanged = {
        "processes": True,
        "dashboard_address": None,
        "silence_logs": False,
        "security": None,
        "timeout": "50 s",
    }
    with Client(n_workers=1, threads_per_worker=1, **unchanged) as client:
        assert client.submit(abs, -1).result() == 1


def test_options_of_a_new_cluster_are_refused_for_one_that_runs(client: Client) -> None:
    message = f"n_workers=4 is for a new cluster, and Client\\('{client.name}'\\) connects to one that runs already"
    with pytest.raises(OptionError, match=message):
        Client(client.name, n_workers=4)
