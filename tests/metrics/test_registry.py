"""The registry finds running clusters, sweeps dead ones, and lets nobody else look."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest
from glassloom_metrics import registry
from glassloom_metrics.errors import ClusterAmbiguous, ClusterNotFound
from glassloom_metrics.registry import (
    ClusterRecord,
    find_record,
    is_alive,
    jupyter_runtime_dir,
    process_started_s,
    read_records,
    remove_files,
    remove_record,
    runtime_dir,
    write_record,
)

jupyter_paths = pytest.importorskip("jupyter_core.paths")


@pytest.fixture(autouse=True)
def private_registry(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    shared = tmp_path / "shm"
    shared.mkdir()
    monkeypatch.setattr(registry, "SHARED_MEMORY_DIR", shared)


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


def test_a_record_whose_process_is_gone_is_swept_with_all_that_the_cluster_left(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    started_s = process_started_s(child.pid)
    directory = tmp_path / "glassloom-c9"
    directory.mkdir()
    (directory / "spilled").write_text("x")
    left = [registry.SHARED_MEMORY_DIR / name for name in ("glassloom-c9-1", "glassloom-c9-2")]
    others = [registry.SHARED_MEMORY_DIR / name for name in ("glassloom-c1-1", "psm_other")]
    for path in (*left, *others):
        path.write_text("x")
    dead = record("c9", pid=child.pid, pid_started_s=started_s, directory=str(directory), shm_prefix="glassloom-c9-")
    write_record(dead)
    alive = record("c1")
    write_record(alive)
    assert {found.id for found in read_records()} == {"c9", "c1"}

    child.kill()
    child.wait()
    assert read_records() == [alive]
    assert not directory.exists()
    assert [path.exists() for path in (*left, *others)] == [False, False, True, True]
    assert read_records() == [alive]


def test_a_zombie_is_not_alive():
    child = subprocess.Popen([sys.executable, "-c", ""])
    started_s = process_started_s(child.pid)
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        pass
    assert not is_alive(record(pid=child.pid, pid_started_s=started_s))
    child.wait()


def test_a_pid_that_another_process_got_is_not_the_cluster():
    assert not is_alive(record(pid_started_s=process_started_s(os.getpid()) - 60))


@pytest.mark.parametrize("content", [b"", b"{", b'{"id": 1}', b"\xff\xfe", b'{"id": "\xff"}'])
def test_a_file_that_is_no_record_of_this_version_is_left_alone(content):
    path = runtime_dir() / "cluster-strange.json"
    path.write_bytes(content)
    write_record(record())
    assert [found.id for found in read_records()] == ["c1"]
    assert path.exists()


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
    with pytest.raises(ClusterNotFound, match="no cluster 'c1'; running: none"):
        find_record("c1")


@pytest.mark.parametrize("prefix", ["", "glassloom-", "psm_", "../glassloom-x", "*"])
def test_nothing_is_removed_for_names_that_are_not_a_clusters(tmp_path, prefix):
    mine = tmp_path / "my-work"
    mine.mkdir()
    kept = [registry.SHARED_MEMORY_DIR / name for name in ("glassloom-c1-1", "psm_other")]
    for path in kept:
        path.write_text("x")
    remove_files(str(mine), prefix)
    assert mine.exists() and all(path.exists() for path in kept)


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
