"""The ``glassloom`` command, run as a person runs it."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from glassloom import Client, LocalCluster, LocalCUDACluster
from glassloom.cli import main
from glassloom.cluster.cuda_devices import no_device
from glassloom.errors import ClusterNotFound
from glassloom_metrics.host import HostIdentity, process_started_s
from glassloom_metrics.protocol import NOW, Settings
from glassloom_metrics.registry import ClusterRecord, read_records, remove_record, write_record
from glassloom_metrics.subscriber import subscribe


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "glassloom", *arguments], capture_output=True, text=True, timeout=300)


def test_a_cluster_is_started_listed_used_and_stopped() -> None:
    started = run(
        "cluster", "start", "--json", "--detach", "--name", "mine", "--n-workers", "1", "--memory-limit", "None"
    )
    record = json.loads(started.stdout)
    assert record["name"] == "mine"
    try:
        (described,) = json.loads(run("cluster", "list", "--json").stdout)
        assert (described["id"], described["workers"], described["started_by"]) == (record["id"], 1, "script")
        with Client("mine", set_as_default=False) as client:
            assert client.submit(abs, -3).result() == 3
            assert [worker["memory_limit"] for worker in client.scheduler_info()["workers"].values()] == [None]
    finally:
        stopped = run("cluster", "stop", "mine")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert stopped.stdout == f"Stopped cluster 'mine' (id {record['id']}, 1 worker).\n"
    assert run("cluster", "list").stdout == "No clusters are running.\n"
    assert run("cluster", "list", "--json").stdout == "[]\n"


def test_a_cluster_is_started_that_follows_the_work_and_ends_when_idle() -> None:
    bounds = ("--minimum", "0", "--maximum", "2", "--idle-timeout", "1 h")
    started = run("cluster", "start", "--json", "--detach", "--n-workers", "0", *bounds)
    (record,) = read_records()
    try:
        assert json.loads(started.stdout)["id"] == record.id

        async def read() -> Settings:
            async with asyncio.timeout(60):
                async for message in subscribe(record, ["settings"], since=NOW):
                    if isinstance(message, Settings) and message.adaptive_maximum is not None:
                        return message
            raise AssertionError("the cluster has ended")

        told = asyncio.run(read())
        assert (told.adaptive_minimum, told.adaptive_maximum, told.idle_timeout_s) == (0, 2, 3600.0)
        report = run("doctor", record.id)
        assert report.returncode == 0
        assert [line[:20] for line in report.stdout.splitlines()[3:6]] == [
            "ok   Control socket:",
            "ok   Metrics socket:",
            "ok   Last heard: It ",
        ]
    finally:
        run("cluster", "stop", record.id)


def test_the_doctor_says_what_is_broken_and_returns_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "nothing"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "BAD  The cluster's record: No cluster 'nothing' runs; running: none." in lines
    assert "     It has ended: start a new one." in lines
    assert main(["doctor"]) == 0
    assert "-    The cluster's record: No cluster runs." in capsys.readouterr().out


def test_clusters_are_listed_in_aligned_columns() -> None:
    with LocalCluster(2, 3, name="a-longer-name") as first, LocalCluster(0, 1, name="b") as second:
        header, *rows = run("cluster", "list").stdout.splitlines()
    assert header.split() == ["NAME", "ID", "KIND", "WORKERS", "THREADS", "PID", "STARTED"]
    assert [row.split()[:6] for row in rows] == [
        ["a-longer-name", first.id, "processes", "2", "6", str(first.record.pid)],
        ["b", second.id, "processes", "0", "0", str(second.record.pid)],
    ]
    for column in ("ID", "WORKERS", "PID", "STARTED"):
        start = header.index(column)
        assert all(row[start - 1] == " " and row[start] != " " for row in rows)


@pytest.mark.fault("two hosts, or containers, share one home")
def test_clusters_of_other_hosts_are_named_and_left_alone() -> None:
    here = ClusterRecord("a1", "theirs", "processes", 1, 1.0, "/socket", "s", 1.0, "/directory", "")
    write_record(msgspec.structs.replace(here, host=HostIdentity("node12", "m", "another boot", "pid:[1]")))
    try:
        listed = run("cluster", "list").stdout
    finally:
        remove_record("a1")
    assert listed == (
        "No clusters are running.\n'theirs' (id a1) is, or was, on 'node12': it can't be reached from here.\n"
    )


def test_several_clusters_are_stopped_at_once_and_what_is_unknown_is_said() -> None:
    with LocalCluster(1, 1, name="one") as one, LocalCluster(0, 1, name="two") as two:
        stopped = run("cluster", "stop", "one", "three", two.id)
        assert stopped.stdout == (
            f"Stopped cluster 'one' (id {one.id}, 1 worker).\nStopped cluster 'two' (id {two.id}, 0 workers).\n"
        )
        assert stopped.stderr == "glassloom: no cluster 'three'; running: 'two'\n"
        assert stopped.returncode == 1


def record_of(cluster_id: str, **fields: Any) -> ClusterRecord:
    started_s = process_started_s(os.getpid())
    record = ClusterRecord(cluster_id, "made-up", "processes", os.getpid(), started_s, "/socket", "s", 1.0, "/none", "")
    return msgspec.structs.replace(record, **fields)


@pytest.fixture
def thread_pool() -> Iterator[ClusterRecord]:
    record = record_of("t1", name="threads-7", kind="threads")
    write_record(record)
    yield record
    remove_record("t1")


def test_a_thread_pool_is_not_stopped(thread_pool: ClusterRecord) -> None:
    stopped = run("cluster", "stop", "threads-7")
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert stopped.stderr == (
        f"glassloom: 'threads-7' is the thread pool of process {os.getpid()}: it ends with that process, and can't be "
        "stopped alone\n"
    )


def test_all_clusters_of_this_host_are_stopped(thread_pool: ClusterRecord) -> None:
    write_record(record_of("a1", name="theirs", host=HostIdentity("node12", "m", "another boot", "pid:[1]")))

    def start() -> LocalCluster:
        return LocalCluster(1, 1, name="twice")

    left_alone = (
        f"Left alone: 'threads-7' is the thread pool of process {os.getpid()}: it ends with that process, and can't be "
        "stopped alone.\nLeft alone: 'theirs' (id a1) is, or was, on 'node12': it can't be reached from here.\n"
    )
    try:
        with start() as first, start() as second:
            stopped = run("cluster", "stop", "--all")
            assert stopped.stdout == (
                f"Stopped cluster 'twice' (id {first.id}, 1 worker).\nStopped cluster 'twice' (id {second.id}, 1 worker).\n"
                + left_alone
            )
            assert (stopped.returncode, stopped.stderr) == (0, "")
            assert read_records() == [thread_pool]
        again = run("cluster", "stop", "--all")
        assert (again.returncode, again.stdout) == (0, "No clusters are running.\n" + left_alone)
    finally:
        remove_record("a1")


@pytest.mark.long
def test_one_cluster_that_cannot_be_stopped_keeps_no_other_from_it() -> None:
    record = json.loads(run("cluster", "start", "--json", "--detach", "--name", "stuck", "--n-workers", "0").stdout)
    (running,) = read_records()
    os.kill(running.pid, signal.SIGSTOP)
    try:
        with LocalCluster(0, 1, name="other") as other:
            stopped = run("cluster", "stop", "--all", "--timeout", "12 s")
        assert (stopped.returncode, stopped.stdout) == (1, f"Stopped cluster 'other' (id {other.id}, 0 workers).\n")
        assert f"cluster 'stuck' (id {record['id']}, pid {running.pid}) hasn't ended within 12 s" in stopped.stderr
    finally:
        assert run("cluster", "stop", "--all", "--force").returncode == 0
    assert read_records() == []


@pytest.mark.parametrize("arguments", [[], ["--all", "mine"]])
def test_stop_takes_either_names_or_all(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="^2$"):
        main(["cluster", "stop", *arguments])
    assert "error: say which clusters, by name or id, or --all" in capsys.readouterr().err


@pytest.mark.fault("stop a cluster whose head is stopped (SIGSTOP), then kill it with --force")
def test_a_cluster_that_does_not_end_is_killed_with_force() -> None:
    record = json.loads(run("cluster", "start", "--json", "--detach", "--name", "stuck", "--n-workers", "1").stdout)
    (running,) = read_records()
    os.kill(running.pid, signal.SIGSTOP)
    refused = run("cluster", "stop", "stuck", "--timeout", "200 ms")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        f"glassloom: cluster 'stuck' (id {record['id']}, pid {running.pid}) hasn't ended within 0.2 s; "
        f"to kill it: glassloom cluster stop --force {record['id']}\n"
    )
    assert "stuck  " in run("cluster", "list").stdout
    killed = run("cluster", "stop", "stuck", "--force")
    assert killed.stdout == f"Killed cluster 'stuck' (id {record['id']}, workers unknown: it didn't answer).\n"
    assert (killed.returncode, read_records()) == (0, [])
    assert not os.path.exists(running.directory)


def test_a_person_is_told_how_to_use_the_cluster_and_how_to_end_it() -> None:
    started = run("cluster", "start", "--detach", "--name", "told", "--n-workers", "1", "--threads-per-worker", "2")
    (record,) = read_records()
    run("cluster", "stop", record.id)
    assert started.stdout == (
        f"Cluster 'told' is running, id {record.id}: 1 worker of 2 threads each.\n"
        f"In Python: Client('told')\nTo end it: glassloom cluster stop {record.id}\n"
    )


def test_a_name_that_two_clusters_have_is_refused_with_their_ids() -> None:
    def start() -> LocalCluster:
        return LocalCluster(1, 1, name="twice")

    with start() as first, start() as second:
        ids = rf"'{first.id}' \(pid \d+\), '{second.id}' \(pid \d+\)"
        with pytest.raises(ClusterNotFound, match=f"2 clusters are called 'twice'; say which by its id: {ids}"):
            Client("twice")
        assert "2 clusters are called 'twice'" in run("cluster", "stop", "twice").stderr
        with Client(second.id, set_as_default=False) as client:
            assert client.submit(abs, -3).result() == 3


def test_the_clusters_of_one_process_have_names_of_their_own() -> None:
    with LocalCluster(1, 1) as first, LocalCluster(1, 1) as second:
        assert (first.name, second.name) == (f"local-{os.getpid()}", f"local-{os.getpid()}-2")
        with Client(second.name, set_as_default=False) as client:
            assert client.id == second.id


def test_a_cluster_in_the_foreground_ends_with_ctrl_c() -> None:
    command = [sys.executable, "-m", "glassloom", "cluster", "start", "--json", "--n-workers", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        cluster_id = json.loads(process.stdout.readline())["id"]
        assert cluster_id in [record.id for record in read_records()]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.communicate()
    assert cluster_id not in [record.id for record in read_records()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cluster", "stop", "nobody"], "glassloom: no cluster 'nobody'; running: none\n"),
        (
            ["cluster", "start", "--n-workers", "-2"],
            "glassloom: n_workers=-2 should be a whole number, 0 or more\n",
        ),
        (
            ["cluster", "start", "--memory-limit", "1kB"],
            "glassloom: memory_limit='1kB' is 1000 B; a worker needs at least 50.00 MiB\n",
        ),
    ],
)
def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(arguments) == 1
    assert capsys.readouterr().err == message


def test_the_configuration_is_shown_with_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSLOOM_ARRAY__CHUNK_SIZE", "3 MiB")
    shown = run("config", "array.chunk-size").stdout
    assert shown.startswith("array.chunk-size  3 MiB  environment variable GLASSLOOM_ARRAY__CHUNK_SIZE  How large ")
    monkeypatch.setenv("GLASSLOOM_ARRAY__CHUNK_SIZE", "large")
    failed = run("config")
    assert (failed.returncode, failed.stderr) == (
        1,
        "glassloom: array.chunk-size='large' (environment variable GLASSLOOM_ARRAY__CHUNK_SIZE): "
        "expected a size in bytes, such as 1000000 or '128 MiB'\n",
    )


def test_a_cluster_from_the_shell_has_the_configured_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSLOOM_CLUSTER__N_WORKERS", "0")
    monkeypatch.setenv("GLASSLOOM_CLUSTER__THREADS_PER_WORKER", "3")
    record = json.loads(run("cluster", "start", "--json", "--detach").stdout)
    try:
        with Client(record["id"], set_as_default=False) as client:
            assert client.scheduler_info()["workers"] == {}
    finally:
        assert run("cluster", "stop", record["id"]).returncode == 0


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"glassloom {importlib.metadata.version('glassloom')}\n"


@pytest.mark.parametrize(("arguments", "usage"), [([], "glassloom"), (["cluster"], "glassloom cluster")])
def test_without_a_command_the_help_is_shown(
    capsys: pytest.CaptureFixture[str], arguments: list[str], usage: str
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"usage: {usage} [-h]")
    assert "list, start and stop clusters" in shown or "list this user's clusters" in shown


def test_the_dashboards_end_with_the_command_also_if_it_is_killed() -> None:
    command = [sys.executable, "-m", "glassloom", "dashboard"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("http://127.0.0.1:")
        finally:
            process.terminate()
        assert select.select([process.stdout], [], [], 60)[0], "the server, which has it too, is still there"
        assert process.stdout.read() == ""


def test_an_unknown_option_shows_the_usage_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="^2$"):
        main(["cluster", "start", "--nworkers", "1"])
    shown = capsys.readouterr().err
    assert shown.startswith("usage: glassloom cluster start [-h]")
    assert shown.endswith("glassloom cluster start: error: unrecognized arguments: --nworkers 1\n")


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--memory-limit=lots", "such as 0.5, 'auto', or 'none' for no limit"),
        ("--idle-timeout=0", "idle_timeout='0' should be above 0, or 'none' for no end"),
        ("--gpu", "gpu=true can't be had: There is no NVIDIA GPU"),
    ],
)
def test_errors_say_what_is_to_be_written_in_a_shell(
    option: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalCUDACluster, "__init__", refuse_device)
    assert main(["cluster", "start", option]) == 1
    said = capsys.readouterr().err
    assert told in said
    assert "LocalCluster()" not in said and "None" not in said


def refuse_device(*_: Any, **__: Any) -> None:
    raise no_device("NVML lists no device")
