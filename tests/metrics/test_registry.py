"""The registry finds running clusters, removes the records of dead ones, and lets nobody else look."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest
from glassloom_metrics.errors import ClusterAmbiguous, ClusterNotFound
from glassloom_metrics.host import HostIdentity, this_host
from glassloom_metrics.registry import (
    ClusterRecord,
    find_record,
    is_alive,
    jupyter_runtime_dir,
    process_started_s,
    read_foreign_records,
    read_records,
    remove_record,
    runtime_dir,
    write_record,
)

jupyter_paths = pytest.importorskip("jupyter_core.paths")


@pytest.fixture(autouse=True)
def private_registry(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))


def record(id: str = "c1", name: str = "demo", *, pid: int | None = None, **fields) -> ClusterRecord:
    pid = os.getpid() if pid is None else pid
    started_s = fields.pop("pid_started_s", None) or process_started_s(pid)
    defaults = dict(
        kind="processes", socket="/nowhere", secret="s", started_at_s=1.0, directory="/nowhere", shm_prefix=""
    )  # fmt: skip
    return ClusterRecord(id=id, name=name, pid=pid, pid_started_s=started_s, **(defaults | fields))


def test_a_record_is_read_back_as_it_was_written_and_is_for_its_user_alone():
    written = record(kernel_id="k")
    path = write_record(written)
    assert read_records() == [written]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(runtime_dir().stat().st_mode) == 0o700
    assert [entry.name for entry in runtime_dir().iterdir()] == ["cluster-c1.json"]


def test_a_directory_that_others_could_enter_is_closed_to_them():
    runtime_dir().chmod(0o755)
    assert stat.S_IMODE(runtime_dir().stat().st_mode) == 0o700


def test_a_record_whose_process_is_gone_is_removed_and_nothing_else(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    started_s = process_started_s(child.pid)
    directory = tmp_path / "glassloom-c9"
    directory.mkdir()
    dead = record("c9", pid=child.pid, pid_started_s=started_s, directory=str(directory), shm_prefix="glassloom-c9-")
    path = write_record(dead)
    alive = record("c1")
    write_record(alive)
    assert {found.id for found in read_records()} == {"c9", "c1"}

    child.kill()
    child.wait()
    assert read_records() == [alive]
    assert (path.exists(), directory.exists()) == (False, True)  # what lies there is the engine's to remove


@pytest.mark.fault("two hosts, or containers, share one home")
@pytest.mark.parametrize(
    "change", [{"boot_id": "another"}, {"pid_namespace": "pid:[1]"}, {"boot_id": "", "pid_namespace": ""}]
)
def test_records_of_other_hosts_and_containers_are_listed_apart_and_never_removed(change):
    elsewhere = msgspec.structs.replace(this_host(), name="node12", **change)
    foreign = record("c9", "theirs", pid=2**22 + 1, pid_started_s=1.0, host=elsewhere)
    path = write_record(foreign)
    assert (read_records(), read_foreign_records(), path.exists()) == ([], [foreign], True)
    message = "no cluster 'theirs'; running: none. There is one on 'node12': it can be reached only there"
    with pytest.raises(ClusterNotFound, match=message):
        find_record("theirs")


def test_a_record_from_before_the_machine_was_booted_is_removed(monkeypatch):
    now = HostIdentity("laptop", "machine", "second boot", "pid:[4026531836]")
    monkeypatch.setattr("glassloom_metrics.host.this_host", lambda: now)
    before = msgspec.structs.replace(now, boot_id="first boot")
    in_container = msgspec.structs.replace(before, pid_namespace="pid:[4026532000]")
    of_other_machine = msgspec.structs.replace(before, machine_id="other")
    records = [record(f"c{n}", host=host) for n, host in enumerate((now, before, in_container, of_other_machine))]
    for written in records:
        write_record(written)
    assert (read_records(), read_foreign_records()) == ([records[0]], records[2:])
    assert sorted(path.name for path in runtime_dir().iterdir()) == [
        "cluster-c0.json", "cluster-c2.json", "cluster-c3.json",
    ]  # fmt: skip


def test_a_registry_that_cannot_be_read_is_empty(monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/proc/nowhere")
    assert (read_records(), read_foreign_records()) == ([], [])
    remove_record("c1")


def test_a_records_secret_is_not_shown():
    assert "secret=..." in repr(record()) and "'s'" not in repr(record())
    assert repr(record()).startswith("ClusterRecord(id='c1', name='demo', kind='processes', pid=")


def test_a_zombie_is_not_alive():
    child = subprocess.Popen([sys.executable, "-c", ""])
    started_s = process_started_s(child.pid)
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        pass
    assert not is_alive(record(pid=child.pid, pid_started_s=started_s))
    child.wait()


def test_a_pid_that_another_process_got_is_not_the_cluster():
    assert not is_alive(record(pid_started_s=process_started_s(os.getpid()) - 60))


@pytest.mark.fault("a file in the registry is no record, or of another version")
@pytest.mark.parametrize("content", [b"", b"{", b'{"id": 1}', b"\xff\xfe", b'{"id": "\xff"}'])
def test_a_file_that_is_no_record_of_this_version_is_left_alone(content):
    path = runtime_dir() / "cluster-strange.json"
    path.write_bytes(content)
    write_record(record())
    assert [found.id for found in read_records()] == ["c1"]
    assert path.exists()


def test_a_directory_in_the_place_of_a_record_hides_no_other():
    (runtime_dir() / "cluster-folder.json").mkdir()
    write_record(record())
    assert [found.id for found in read_records()] == ["c1"]


def test_a_pipe_that_nobody_writes_to_and_a_file_without_end_hold_up_no_reader():
    write_record(record("c1"))
    os.mkfifo(runtime_dir() / "cluster-pipe.json")
    with (runtime_dir() / "cluster-large.json").open("wb") as file:
        file.truncate(2**40)  # of which nothing is on disk
    assert [found.id for found in read_records()] == ["c1"]


@pytest.mark.parametrize("pid", [-1, 0, 2**31, 2**40, 2**62])
def test_a_pid_that_no_process_can_have_is_not_alive_and_hides_no_other(pid):
    write_record(record("bad", pid=pid, pid_started_s=1.0))
    write_record(record())
    assert [found.id for found in read_records()] == ["c1"]


def test_records_of_a_later_version_with_more_fields_can_be_read():
    path = write_record(record())
    fields = msgspec.json.decode(path.read_bytes()) | {"from_the_future": 1}
    path.write_bytes(msgspec.json.encode(fields))
    assert read_records() == [record()]


def test_clusters_are_found_by_id_first_then_by_name():
    for found in (
        record("a", "same", started_at_s=3.0),
        record("b", "other", started_at_s=5.0),
        record("same-not", "x"),
    ):
        write_record(found)
    assert find_record("b").id == "b"
    assert find_record("same").id == "a"
    write_record(record("same", "other", started_at_s=1.0))
    assert find_record("same").name == "other"
    with pytest.raises(ClusterNotFound, match="no cluster 'nobody'; running: .*'same'"):
        find_record("nobody")


def test_a_name_that_several_clusters_have_is_refused_with_their_ids():
    for found in (record("a", "same"), record("b", "same"), record("c", "other")):
        write_record(found)
    with pytest.raises(
        ClusterAmbiguous, match=r"2 clusters are called 'same'; say which by its id: 'a' \(pid \d+\), 'b' \(pid \d+\)$"
    ):
        find_record("same")
    assert find_record("b").id == "b"


def test_a_removed_record_is_gone_and_may_be_removed_twice():
    write_record(record())
    remove_record("c1")
    remove_record("c1")
    with pytest.raises(ClusterNotFound, match="A scheduler of dask.distributed is 'tcp://127.0.0.1:8786'"):
        find_record("127.0.0.1:8786")
    with pytest.raises(ClusterNotFound, match="no cluster 'c1'; running: none"):
        find_record("c1")


VARIABLES = ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "JUPYTER_PLATFORM_DIRS")


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"JUPYTER_RUNTIME_DIR": "/a/runtime"},
        {"JUPYTER_RUNTIME_DIR": "", "JUPYTER_DATA_DIR": "/b"},
        {"JUPYTER_DATA_DIR": ""},
        {"XDG_DATA_HOME": "/c"},
        {"XDG_DATA_HOME": "", "XDG_RUNTIME_DIR": "/d"},
        {"JUPYTER_PLATFORM_DIRS": "1", "XDG_DATA_HOME": "/e"},
        {"JUPYTER_PLATFORM_DIRS": "1"},
        {"JUPYTER_PLATFORM_DIRS": "0"},
    ],
    ids=str,
)
def test_the_runtime_directory_is_the_one_that_jupyter_uses(monkeypatch, environment):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert jupyter_runtime_dir() == Path(jupyter_paths.jupyter_runtime_dir())
