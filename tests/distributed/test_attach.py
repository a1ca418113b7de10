"""Clusters of dask.distributed in the registry: what is told of them, beside what they say themselves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dask.array as da
import distributed
import pytest
from attached import Told, attached, wait_for
from calls import add, fail, inc
from glassloom import cli
from glassloom.distributed import scheduler_reader
from glassloom.graph.keys import key_index, key_layer
from glassloom_metrics.protocol import (
    Action,
    Errors,
    GpuDevices,
    GpuSamples,
    Log,
    Runs,
    Settings,
    WorkerJoined,
    WorkerSamples,
)
from glassloom_metrics.registry import find_record, read_records

QUIET = {"dashboard_address": ":0", "silence_logs": 50}


@pytest.fixture(scope="module")
def cluster(own_folders: None) -> Iterator[distributed.LocalCluster]:
    """Start two workers whose scheduler, in a process of its own or not, gets the plugin's source alone."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", memory_limit="1GB", **QUIET
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def dask(cluster: distributed.LocalCluster) -> Iterator[distributed.Client]:
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def told(cluster: distributed.LocalCluster, dask: distributed.Client) -> Iterator[Told]:
    with attached(cluster.scheduler_address, name="theirs") as told:
        yield told


def test_the_task_stream_is_theirs(told: Told, dask: distributed.Client) -> None:
    with distributed.get_task_stream(dask) as stream:
        x = da.random.random((400, 400), chunks=(100, 100))
        dask.compute(((x + x.T) @ x).sum(), sync=True)
    theirs = [
        (part["action"], round(part["start"], 4), each["worker"], part.get("source", ""))
        for each in stream.data
        for part in each["startstops"]
    ]
    wait_for(lambda: len(told.rows()) >= len(theirs), "all rows")
    names = {message.worker: message.name.split()[-1] for message in told.of(WorkerJoined)}
    actions = {
        Action.COMPUTE: "compute",
        Action.TRANSFER: "transfer",
        Action.SPILL_READ: "disk-read",
        Action.SPILL_WRITE: "disk-write",
    }
    ours = [
        (actions[row["action"]], round(row["start_s"], 4), names[row["worker"]], names.get(row["producer"], ""))
        for row in told.rows()
    ]
    assert Counter(ours) == Counter(theirs)
    assert any(action == "transfer" for action, *_ in theirs)
    computed = {(row["name"], row["index"]): row for row in told.rows() if row["action"] == Action.COMPUTE}
    for each in stream.data:
        row = computed[key_layer(each["key"]), key_index(each["key"])]
        parts = {part["action"]: part for part in each["startstops"]}
        assert row["nbytes"] == each["nbytes"]
        assert row["duration_s"] == pytest.approx(parts["compute"]["stop"] - parts["compute"]["start"], abs=1e-4)

    def runs() -> dict[int, tuple[str, int, str]]:
        return {run: (kind, done, outcome) for message in told.of(Runs) for run, kind, done, outcome in zip(message.ids, message.kinds, message.done, message.outcomes, strict=True)}  # fmt: skip

    wait_for(lambda: runs() == {0: ("compute", len(computed), "finished")}, "the run's end")


def test_progress_counts_what_the_scheduler_has(told: Told, dask: distributed.Client) -> None:
    futures = dask.map(inc, range(20), key="held")
    failing = dask.submit(fail, futures[0], key="broken-1")
    after = dask.submit(inc, failing, key="after-1")
    distributed.wait([*futures, after])
    wait_for(lambda: told.progress().get("after") == (0, 0, 0, 0, 0, 1), "failed")
    wait_for(lambda: told.progress()["held"] == (0, 0, 0, 20, 0, 0), "all are held")
    del futures[:15]
    wait_for(lambda: told.progress()["held"] == (0, 0, 0, 5, 15, 0), "released")
    errors = wait_for(lambda: told.of(Errors), "errors")[-1]
    assert (errors.exceptions, errors.counts, errors.keys) == (["ValueError"], [1], [["'broken-1'"]])
    assert "no 1" in errors.messages[0] and "in fail" in errors.tracebacks[0]


def test_worker_samples_are_what_workers_tell(told: Told, dask: distributed.Client) -> None:
    data = dask.submit(bytes, 50_000_000, key="large-1")
    distributed.wait(data)
    holder = next(iter(dask.who_has(data).values()))[0]
    names = {message.worker: message.name.split()[-1] for message in told.of(WorkerJoined)}

    def sampled() -> bool:
        samples = told.of(WorkerSamples)
        held = dict(zip(samples[-1].workers, samples[-1].managed_bytes, strict=True)) if samples else {}
        return any(50_000_000 <= nbytes < 60_000_000 and names[worker] == holder for worker, nbytes in held.items())

    wait_for(sampled, "managed memory")
    info = dask.scheduler_info()["workers"][holder]
    sample = told.of(WorkerSamples)[-1]
    place = next(place for place, worker in enumerate(sample.workers) if names[worker] == holder)
    assert sample.rss_bytes[place] == pytest.approx(info["metrics"]["memory"], rel=0.3)
    joined = next(message for message in told.of(WorkerJoined) if message.name.endswith(holder))
    assert (joined.nthreads, joined.memory_limit_bytes) == (1, info["memory_limit"])


def test_gpus_are_shown_where_workers_measure_them(told: Told, dask: distributed.Client) -> None:
    dask.run(measure_gpu)
    with attached(told.record.address) as again:  # who attaches later learns of all at once
        samples = wait_for(lambda: again.of(GpuSamples), "no sample of a GPU")[-1]
        assert samples.utilization_percent == [42.0, 42.0] and samples.memory_used_bytes == [2**30, 2**30]
        assert samples.power_w == [None, None] and set(samples.missing) == {"not reported"}
        assert again.of(GpuDevices)[-1].states == ["ok", "ok"]


def measure_gpu(dask_worker: distributed.Worker) -> None:
    dask_worker.metrics["gpu"] = lambda _: {"utilization": 42, "memory-used": 2**30}


def test_hostile_names_and_prints(told: Told, dask: distributed.Client) -> None:
    name = "<script>\x00'-1"
    assert dask.submit(say, 1, key=name).result() == 2
    wait_for(lambda: any("said <b>" in line.text for line in told.of(Log)), "no line")
    wait_for(lambda: any("<script>" in row["name"] for row in told.rows()), "no row")


def say(value: int) -> int:
    distributed.print("said <b>", value)
    return value + 1


def test_scattered_data_and_odd_keys_harm_nothing(told: Told, dask: distributed.Client) -> None:
    data = dask.scatter([1, 2])
    assert dask.submit(add, *data, key=("odd", 1.5, ("in", 2), "x")).result() == 3
    assert dask.get({"a": (inc, 1), ("b", 0): (inc, "a")}, [("b", 0)], sync=True) == [3]
    wait_for(lambda: {"odd", "a", "b"} <= {row["name"] for row in told.rows()}, "rows")


def test_who_attaches_later_sees_what_is_there_and_goes_on_from_there(told: Told, dask: distributed.Client) -> None:
    held = dask.map(inc, range(7), key="early")
    distributed.wait(held)
    wait_for(lambda: told.progress().get("early") == (0, 0, 0, 7, 0, 0), "known")
    with attached(told.record.address, name="second") as later:
        wait_for(lambda: later.progress().get("early") == (0, 0, 0, 7, 0, 0), "snapshot")
        late = dask.map(inc, held, key="late")
        distributed.wait(late)
        wait_for(lambda: told.progress().get("late") == later.progress().get("late") == (0, 0, 0, 7, 0, 0), "both")
        assert not any(row["name"] == "early" for row in later.rows())
        assert {record.name for record in read_records()} >= {"theirs", "second"}


def test_nothing_is_offered_that_cant_be_done(told: Told) -> None:
    assert told.of(Settings)[-1].commands == ["rename"]
    assert told.record.kind == "dask"


def test_the_command_attaches_until_it_is_interrupted(cluster: distributed.LocalCluster) -> None:
    command = [sys.executable, "-m", "glassloom", "attach", cluster.scheduler_address, "--json", "--name", "by command"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    record = find_record(ready["id"])
    assert (record.name, record.kind, record.pid) == ("by command", "dask", process.pid)
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.communicate(timeout=60)[1] and process.returncode == 0
    assert not Path(record.directory).exists()
    assert all(other.id != record.id for other in read_records())


@pytest.mark.parametrize(
    ("address", "cause"),
    [
        ("tcp://127.0.0.1:1", "ConnectionRefusedError: "),
        ("tcp://nowhere.invalid:8786", "gaierror: "),
        ("nonsense://x", "unknown address scheme 'nonsense'"),
    ],
)
def test_wrong_addresses_are_errors_that_say_why(
    own_folders: None, address: str, cause: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_reader, "TIMEOUT_S", 2.0)
    assert cli.main(["attach", address]) == 1
    told = capsys.readouterr().err
    assert told.startswith("glassloom: ") and address in told and cause in told


def test_nothing_stays_on_the_scheduler(cluster: distributed.LocalCluster, dask: distributed.Client) -> None:
    with attached(cluster.scheduler_address):
        pass
    left = dask.run_on_scheduler(
        lambda dask_scheduler: [name for name in dask_scheduler.handlers if "glassloom" in name]
    )
    assert len(left) <= 2  # the module's own attachment
