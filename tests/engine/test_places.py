"""Where a cluster's files lie, and that they go: with the worker, with the cluster, or after its death."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import leaks
import msgspec
import numpy as np
import pytest
import tasks
from fault_helpers import eventually, head_of, kill, worker_pids
from glassloom import Client, wait
from glassloom.errors import ClusterStartError
from glassloom.protocol import places
from glassloom.protocol.identity import new_cluster_id
from glassloom.protocol.places import Owner, make_places, remove_what_the_dead_left
from glassloom_metrics.host import HostIdentity, process_started_s, this_host
from glassloom_metrics.registry import read_records
from leaks import shared_files

# The dead


@pytest.mark.fault("kill -9 of all processes of a cluster at once")
def test_what_a_cluster_that_was_killed_has_left_goes_when_the_next_one_starts_although_nobody_knows_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(n_workers=1, threads_per_worker=1, set_as_default=False)
    future = client.submit(tasks.big, 4)
    future.result()
    head = head_of(client)
    processes = [head, *head.children(recursive=True)]
    for process in processes:
        process.suspend()  # so that none notices that the others end
    directory = Path(client._record.directory)
    # Looked at while it lives: once it is dead, whichever engine starts next removes it, also one of another test run.
    assert directory.exists() and len(shared_files(client.id)) == 2  # the result, and whose it is
    for process in processes:
        process.kill()
    assert client.cluster is not None
    client.cluster.wait()
    client.cluster._finalizer.detach()  # as if its starter had been killed too

    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "another"))
    with Client(n_workers=0, set_as_default=False):
        eventually(lambda: not directory.exists() and not shared_files(client.id))
    client.close()
    del future
    monkeypatch.undo()
    assert client.id not in [record.id for record in read_records()]


@pytest.fixture
def own_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a folder stand for shared memory: engines that other test runs start meanwhile remove what the dead left, too."""
    folder = tmp_path / "shm"
    folder.mkdir()
    monkeypatch.setattr(places, "SHARED_MEMORY_DIR", folder)
    monkeypatch.setattr(leaks, "SHARED_MEMORY", folder)
    return folder


@pytest.fixture
def child(own_shared_memory: Path) -> subprocess.Popen[bytes]:
    """A process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done


def owned_by(pid: int, started_s: float, host: HostIdentity, cluster_id: str = "") -> places.ClusterPlaces:
    """Make places of a cluster whose owner is that process."""
    made = make_places(cluster_id or new_cluster_id())
    owner = Owner(made.cluster_id, pid, started_s, host, [made.directory, made.socket_directory])
    for path in (Path(made.directory, "owner"), *shared_files(made.cluster_id)):
        path.write_bytes(msgspec.json.encode(owner))
    (places.SHARED_MEMORY_DIR / f"{made.shm_prefix}w0-1").write_text("a result")
    return made


def test_the_files_of_an_owner_that_has_ended_are_removed(child: subprocess.Popen[bytes]) -> None:
    made = owned_by(child.pid, 1.0, this_host())
    assert made.cluster_id in remove_what_the_dead_left()
    assert (os.path.exists(made.directory), shared_files(made.cluster_id)) == (False, [])


@pytest.mark.parametrize("change", ["nothing", "boot_id", "pid_namespace"])
def test_nothing_is_removed_of_an_owner_that_lives_or_can_not_be_seen_from_here(
    change: str, child: subprocess.Popen[bytes]
) -> None:
    if change == "nothing":
        made = owned_by(os.getpid(), process_started_s(os.getpid()), this_host())
    else:
        made = owned_by(child.pid, 1.0, msgspec.structs.replace(this_host(), **{change: "another", "name": "other"}))
    try:
        assert made.cluster_id not in remove_what_the_dead_left()
        assert (os.path.exists(made.directory), len(shared_files(made.cluster_id))) == (True, 2)
    finally:
        made.remove()


def test_shared_memory_alone_tells_whose_it_is(child: subprocess.Popen[bytes]) -> None:
    made = owned_by(child.pid, 1.0, this_host())
    for path in Path(made.directory).iterdir():
        path.unlink()
    os.rmdir(made.directory)  # as a cleaner of /tmp does
    remove_what_the_dead_left()
    assert shared_files(made.cluster_id) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make files of others")
def test_an_owner_file_of_another_user_is_not_believed(child: subprocess.Popen[bytes], tmp_path: Path) -> None:
    made = owned_by(child.pid, 1.0, this_host())
    try:
        for path in (Path(made.directory, "owner"), *shared_files(made.cluster_id)):
            os.chown(path, 65534, 65534)
        assert made.cluster_id not in remove_what_the_dead_left()
    finally:
        made.remove()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"cluster_id": "../../home"}'])
def test_an_owner_file_that_is_none_is_left_alone(content: bytes) -> None:
    made = make_places(new_cluster_id())
    for path in (Path(made.directory, "owner"), *shared_files(made.cluster_id)):
        path.write_bytes(content)
    try:
        assert made.cluster_id not in remove_what_the_dead_left()
    finally:
        made.remove()


def test_only_directories_with_the_clusters_name_are_ever_removed(
    child: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    made = make_places(new_cluster_id())
    mine = tmp_path / "my-work"
    mine.mkdir()
    owner = Owner(made.cluster_id, child.pid, 1.0, this_host(), [made.directory, str(mine), "/", ""])
    for path in (Path(made.directory, "owner"), *shared_files(made.cluster_id)):
        path.write_bytes(msgspec.json.encode(owner))
    remove_what_the_dead_left()
    assert (mine.exists(), os.path.exists(made.directory)) == (True, False)
    for name in ("", "*", "../x", "c1/.."):
        places.remove_files(name, [str(mine), f"{tmp_path}/glassloom-{name}"])
    assert mine.exists()


# Spilled results


@pytest.fixture
def spilling() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1, memory_limit="300MB", set_as_default=False) as client:
        futures = [  # half of them on each, also if one is quicker
            future
            for worker in client.scheduler_info()["workers"]
            for future in client.map(lambda number: np.full(2**20, number), range(30), workers=[worker], pure=False)
        ]
        wait(futures)
        assert all(_spilled(client).values())
        yield client
        del futures


def _spilled(client: Client) -> dict[str, int]:
    """Return how many files each worker's directory has. Those of workers that have ended may go meanwhile."""
    counts: dict[str, int] = {}
    for folder in Path(client._record.directory).glob("spill-w*"):
        with suppress(FileNotFoundError):
            counts[folder.name] = len(list(folder.iterdir()))
    return counts


def test_what_a_worker_has_spilled_goes_with_it_when_workers_are_restarted(spilling: Client) -> None:
    assert sorted(_spilled(spilling)) == ["spill-w0", "spill-w1"]
    spilling.restart()
    eventually(lambda: _spilled(spilling) == {"spill-w2": 0, "spill-w3": 0})


@pytest.mark.fault("kill -9 of a worker that has spilled results")
def test_what_a_worker_has_spilled_goes_with_it_when_it_is_killed(spilling: Client) -> None:
    kill(worker_pids(spilling)[0])
    eventually(lambda: "spill-w0" not in _spilled(spilling))
    eventually(lambda: len(worker_pids(spilling)) == 2)


# Long paths, and folders that can't be written to


def test_a_long_local_directory_is_used_for_everything_but_the_socket(tmp_path: Path) -> None:
    scratch = tmp_path / ("long-" * 20)
    scratch.mkdir()
    with Client(
        n_workers=1, threads_per_worker=1, memory_limit="300MB", local_directory=str(scratch), set_as_default=False
    ) as client:
        futures = client.map(lambda number: np.full(2**20, number), range(40))
        wait(futures)
        assert Path(client._record.directory).parent == scratch
        assert _spilled(client)["spill-w0"] > 0
        assert Path(client._record.directory, "cluster.log").exists()
        short = Path(client._record.socket).parent
        assert short.parent != scratch and sorted(path.name for path in short.iterdir()) == ["head.sock", "owner"]
        assert client.submit(tasks.inc, 1).result() == 2
    assert (list(scratch.iterdir()), short.exists()) == ([], False)


def test_a_killed_cluster_with_two_directories_is_removed_from_both(
    child: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    scratch = tmp_path / ("long-" * 20)
    scratch.mkdir()
    made = make_places(new_cluster_id(), str(scratch))
    assert made.directory != made.socket_directory
    owner = Owner(made.cluster_id, child.pid, 1.0, this_host(), [made.directory, made.socket_directory])
    for path in (Path(made.socket_directory, "owner"), *shared_files(made.cluster_id)):
        path.write_bytes(msgspec.json.encode(owner))
    remove_what_the_dead_left()
    assert (list(scratch.iterdir()), os.path.exists(made.socket_directory)) == ([], False)


@pytest.mark.fault("a home that can't be written to")
def test_a_cluster_whose_record_cannot_be_written_works_and_says_what_is_lacking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/proc/nowhere")  # where not even root can make a folder
    message = "can be found neither by its name nor by the panel: its record can't be written to '/proc/nowhere'"
    with (
        pytest.warns(RuntimeWarning, match=message),
        Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client,
    ):
        assert client.submit(tasks.inc, 1).result() == 2
        assert read_records() == []
        assert message in Path(client._record.directory, "cluster.log").read_text()


def test_a_base_that_is_no_directory_is_a_clear_error_and_leaves_nothing(nothing_is_left_behind: leaks.Watch) -> None:
    with pytest.raises(
        ClusterStartError, match="can't make the cluster's directory '/proc/nowhere/glassloom-.*No such"
    ):
        Client(n_workers=1, local_directory="/proc/nowhere", set_as_default=False)
    assert nothing_is_left_behind.wait_for_the_outside_to_be_clean() == []
