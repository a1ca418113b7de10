"""What workers are set up with: environment variables, uploaded code, functions that each calls first; and their going."""

from __future__ import annotations

import os
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import tasks
from fault_helpers import fork_server_of, kill, start_over
from glassloom import Client, LocalCluster, get_worker, wait
from glassloom.errors import OptionError, WorkerLost
from test_client import eventually


@pytest.fixture(scope="module")
def cluster_to_change(nothing_is_left_behind: Any) -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=1, memory_limit="1GB", set_as_default=False) as client:
        yield client


@pytest.fixture
def small(cluster_to_change: Client) -> Client:
    """Return a client of a cluster of one worker that the test may change."""
    start_over(cluster_to_change, 1)
    return cluster_to_change


def names(client: Client) -> list[str]:
    return list(client.scheduler_info()["workers"])


# Environment variables


def test_a_cluster_has_environment_variables_of_its_own() -> None:
    env = {"LOOM": "glass", "OMP_NUM_THREADS": "3"}
    with Client(n_workers=1, threads_per_worker=1, env=env, set_as_default=False) as client:
        found = client.submit(lambda: (os.environ["LOOM"], os.environ["OMP_NUM_THREADS"])).result()
    assert found == ("glass", "3")
    assert "LOOM" not in os.environ


def test_a_search_path_in_the_environment_comes_first(tmp_path: Path) -> None:
    (tmp_path / "only_here.py").write_text("value = 12")
    env = {"PYTHONPATH": str(tmp_path)}
    with LocalCluster(n_workers=1, threads_per_worker=1, env=env) as cluster, Client(cluster) as client:
        assert client.submit(lambda: __import__("only_here").value).result() == 12


@pytest.mark.parametrize("env", [{"A": 1}, {"A=B": "x"}, {"A": "\0"}])
def test_an_environment_that_is_none_is_refused(env: Any) -> None:
    with pytest.raises(OptionError, match=r"env\['A.*: names and values should be text"):
        LocalCluster(n_workers=1, threads_per_worker=1, env=env)


# Uploaded files


def test_an_uploaded_module_is_imported_by_tasks_and_newer_versions_take_its_place(
    small: Client, tmp_path: Path
) -> None:
    module = tmp_path / "uploaded_one.py"
    for version in (1, 2):
        module.write_text(f"def version():\n    return {version}\n")
        assert small.upload_file(module) == ["uploaded_one"]
        assert small.submit(lambda: __import__("uploaded_one").version(), pure=False).result() == version


def test_code_that_tasks_used_before_is_looked_up_again(small: Client, tmp_path: Path) -> None:
    def call() -> int:
        from uploaded_two import version

        return version()

    for version in (1, 2):
        (tmp_path / "uploaded_two.py").write_text(f"def version():\n    return {version}\n")
        small.upload_file(str(tmp_path / "uploaded_two.py"))
        assert small.submit(call, pure=False).result() == version


def test_workers_that_come_later_have_the_newest_version(small: Client, tmp_path: Path) -> None:
    for version in (1, 2):
        (tmp_path / "uploaded_three.py").write_text(f"version = {version}")
        small.upload_file(tmp_path / "uploaded_three.py")
    small.restart()
    assert small.submit(lambda: __import__("uploaded_three").version).result() == 2
    assert small.cluster is not None
    small.cluster.scale(2)
    assert list(small.run(lambda: __import__("uploaded_three").version).values()) == [2, 2]


def test_a_zip_of_modules_and_packages_is_uploaded(small: Client, tmp_path: Path) -> None:
    for version in (1, 2):
        with zipfile.ZipFile(tmp_path / "uploaded.zip", "w") as archive:
            archive.writestr("loom_package/__init__.py", "from loom_package.inner import version")
            archive.writestr("loom_package/inner.py", f"version = {version}")
            archive.writestr("loom_module.py", "import loom_package")
            archive.writestr("loom_data/notes.txt", "no module")
        assert small.upload_file(tmp_path / "uploaded.zip") == ["loom_module", "loom_package"]
        assert small.submit(lambda: __import__("loom_module").loom_package.version, pure=False).result() == version


def test_an_upload_raises_what_importing_it_raises(small: Client, tmp_path: Path) -> None:
    (tmp_path / "broken_module.py").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        small.upload_file(tmp_path / "broken_module.py")
    assert small.submit(tasks.inc, 1).result() == 2


@pytest.mark.parametrize(("name", "reason"), [("notes.txt", r"should be a \.py, \.zip or \.egg"), ("no.py", "no such")])
def test_what_is_no_file_of_code_is_refused(small: Client, tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(OptionError, match=reason):
        small.upload_file(tmp_path / name)


# Functions


def test_workers_call_what_was_registered_before_their_first_task(small: Client) -> None:
    def prepare() -> str:
        get_worker().prepared = True
        return "prepared"

    assert list(small.register_worker_callbacks(prepare).values()) == ["prepared"]
    assert small.cluster is not None
    small.cluster.scale(2)
    assert list(small.run(lambda: get_worker().prepared).values()) == [True, True]


def test_a_later_worker_that_cannot_be_set_up_works_all_the_same_and_the_log_says_so(
    small: Client, tmp_path: Path
) -> None:
    path = tmp_path / "there"
    path.touch()
    small.register_worker_callbacks(lambda: os.stat(path).st_size)
    path.unlink()
    small.restart()
    assert small.submit(tasks.inc, 1).result() == 2
    log = Path(small._record.directory, "cluster.log")
    eventually(lambda: "couldn't be set up:" in log.read_text())
    assert "FileNotFoundError" in log.read_text()


# Coming


def test_workers_are_waited_for(small: Client) -> None:
    assert small.cluster is not None
    growing = threading.Thread(target=small.cluster.scale, args=(2,))
    growing.start()
    small.wait_for_workers(2, timeout="60s")
    growing.join(60)
    assert len(names(small)) == 2
    with pytest.raises(TimeoutError, match=r"there are 2 of 3 workers after 0\.02 s"):
        small.wait_for_workers(3, timeout=0.02)


# Retiring


def test_retired_workers_leave_their_results_and_do_not_come_back(client: Client) -> None:
    results = client.map(tasks.big, [1, 1, 1, 1], range(4), pure=False)
    wait(results)
    gone = names(client)[0]
    try:
        assert client.retire_workers([gone]) == [gone]
        assert len(names(client)) == 1
        assert gone not in names(client)
        assert [float(np.mean(array)) for array in client.gather(results)] == [0.0, 1.0, 2.0, 3.0]
    finally:
        assert client.cluster is not None
        client.cluster.scale(2)


def test_some_are_retired_by_number_or_whichever_holds_least(client: Client) -> None:
    number = client.scheduler_info()["workers"][names(client)[0]]["number"]
    try:
        assert client.retire_workers(workers=[number, number]) == [f"{client.name}-{number}"]
        assert len(client.retire_workers(n=1)) == 1
        assert names(client) == []
    finally:
        assert client.cluster is not None
        client.cluster.scale(2)


def test_a_worker_that_is_not_there_cannot_be_retired(client: Client) -> None:
    with pytest.raises(OptionError, match=r"there is no worker 'nobody'; there are: '.*-\d+', '.*-\d+'"):
        client.retire_workers(["nobody"])
    with pytest.raises(OptionError, match="say which workers to retire"):
        client.retire_workers()


# Functions that are called on workers that end


@pytest.fixture
def pair(client: Client) -> Client:
    """Return a client of a cluster of two workers, of which the test may end one."""
    start_over(client, 2)
    return client


@pytest.mark.fault("a worker is killed a moment before a function is called on all workers")
def test_a_worker_that_is_gone_is_not_asked(pair: Client) -> None:
    pids = pair.run(os.getpid)
    (_, gone), (other, _) = pids.items()
    fork_server = fork_server_of(pair)
    fork_server.suspend()  # nothing tells the head how the worker has ended: it knows it for a while longer
    try:
        kill(gone)
        eventually(lambda: psutil.Process(gone).status() == psutil.STATUS_ZOMBIE)
        assert pair.run(os.getpid) == {other: pids[other]}
    finally:
        fork_server.resume()


def leave_if(pid: int) -> None:
    if os.getpid() == pid:
        os._exit(3)


def test_a_worker_that_dies_while_it_runs_a_function_is_an_error(pair: Client) -> None:
    pid = next(iter(pair.run(os.getpid).values()))
    with pytest.raises(WorkerLost, match=r"^worker .* is gone: "):
        pair.run(leave_if, pid)
