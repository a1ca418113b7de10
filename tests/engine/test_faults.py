"""Processes that are killed, tasks that take their worker along, memory that runs out: computed again or a clear error
within a bound, the cluster usable afterwards, and nothing left behind (`nothing_is_left_behind` checks that too)."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import leaks
import numpy as np
import psutil
import pytest
import tasks
from fault_helpers import both_workers, eventually, fork_server_of, head_of, kill, kill_a_worker, worker_pids
from glassloom import Client, Future, as_completed, wait
from glassloom.client.results import read_result
from glassloom.errors import ClusterClosed, DataLost, MemoryLimitExceeded, StoreFull, WorkerLost
from glassloom.protocol.places import remove_what_the_dead_left
from glassloom.store.segment import SegmentWriter, read_location
from glassloom.store.shared_memory import SHARED_MEMORY_DIR
from glassloom_metrics.protocol import Errors
from glassloom_metrics.registry import find_record, read_records
from glassloom_metrics.subscriber import subscribe

TESTS = str(Path(__file__).parent)


@pytest.fixture
def own_client() -> Iterator[Client]:
    """A cluster for one test, which may destroy it."""
    with Client(n_workers=2, threads_per_worker=1, memory_limit="1GB", set_as_default=False) as client:
        yield client


# A worker dies


@pytest.mark.fault("kill -9 of a worker in the middle of a task")
def test_a_task_whose_worker_is_killed_runs_again(client: Client, tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    future = client.submit(tasks.begin_and_wait, str(begun), str(go), 5)
    first = int(eventually(lambda: begun.exists() and begun.read_text()))
    begun.unlink()
    kill(first)
    second = int(eventually(lambda: begun.exists() and begun.read_text()))
    go.touch()
    assert (future.result(), second != first) == (5, True)


def test_a_killed_worker_is_replaced(client: Client) -> None:
    before = both_workers(client)
    kill(before[0])
    after = eventually(lambda: (pids := worker_pids(client)) and len(pids) == 2 and before[0] not in pids and pids)
    assert before[1] in after


@pytest.mark.fault("kill -9 of a worker that holds results")
def test_results_lost_with_a_worker_are_computed_again_from_their_inputs(client: Client, tmp_path: Path) -> None:
    log = tmp_path / "runs"
    first = client.submit(lambda: tasks.count_run(str(log), tasks.big(1, 2.0)))
    second = client.submit(tasks.add, first, 1.0)
    wait(second)
    del first
    (owner,) = [w["pid"] for w in client.scheduler_info()["workers"].values() if w["has"]]
    kill(owner)
    assert float(second.result().max()) == 3.0
    assert log.read_text() == "xx"


@pytest.mark.fault("kill -9 of a worker that holds results")
def test_gathering_waits_for_a_result_that_is_being_computed_again(client: Client, tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"

    def slow_the_second_time() -> Any:
        if begun.exists():
            tasks.wait_for(str(go))
        begun.touch()
        return tasks.big(1, 7.0)

    future = client.submit(slow_the_second_time)
    wait(future)
    (owner,) = [w["pid"] for w in client.scheduler_info()["workers"].values() if w["has"]]
    kill(owner)
    eventually(lambda: client.scheduler_info()["tasks"]["memory"] == 0)
    with ThreadPoolExecutor(1) as pool:
        gathered = pool.submit(future.result)
        go.touch()
        assert float(gathered.result(60).max()) == 7.0


@pytest.mark.fault("kill -9 of a worker in the middle of a transfer")
def test_a_worker_killed_in_the_middle_of_a_transfer_costs_only_time(client: Client) -> None:
    future = client.submit(tasks.big, 4, 6.0)
    wait(future)
    (owner,) = [w["pid"] for w in client.scheduler_info()["workers"].values() if w["has"]]
    kill(owner, signal.SIGSTOP)  # it will not answer the request for the result
    with ThreadPoolExecutor(1) as pool:
        gathered = pool.submit(future.result)
        eventually(lambda: client._connection._replies)  # the request is on its way
        client.scheduler_info()  # answered after it: the head has it
        kill(owner)
        assert float(gathered.result(60).max()) == 6.0


@pytest.mark.fault("kill -9 of a worker in the middle of a transfer")
def test_a_worker_killed_while_another_waits_for_its_result_costs_only_time(client: Client, tmp_path: Path) -> None:
    pids = both_workers(client)
    hold = [client.submit(tasks.wait_for, str(tmp_path / "go"), n) for n in range(2)]
    future = client.submit(tasks.big, 4, 6.0)
    wait(future)
    info = client.scheduler_info()["workers"].values()
    (owner,) = [w["pid"] for w in info if w["has"]]
    kill(owner, signal.SIGSTOP)
    means = [client.submit(lambda array, n: float(array.mean()) + n, future, n) for n in range(20)]
    client.scheduler_info()
    kill(owner)
    assert client.gather(means, errors="raise") == [6.0 + n for n in range(20)]
    (tmp_path / "go").touch()
    wait(hold)
    assert owner in pids


SEGMENT_VANISHES = pytest.mark.fault("the file of a shared result is removed")


def shared_files(client: Client) -> list[Path]:
    """Return the files in which results are shared."""
    prefix = client._connection.welcome.shm_prefix
    return [path for path in SHARED_MEMORY_DIR.glob(f"{prefix}*") if path.suffix != ".owner"]


def made_and_shared(client: Client, log: Path, mib: int = 1) -> Future:
    """Return the future of an array that another process has read: one file in shared memory has it."""
    gc.collect()
    eventually(lambda: not shared_files(client))  # those of the tests before are gone
    future = client.submit(lambda: tasks.count_run(str(log), tasks.big(mib, 2.0)), pure=False)
    assert float(future.result().max()) == 2.0
    assert len(shared_files(client)) == 1
    return future


@SEGMENT_VANISHES
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: os.truncate(path, 1000)])
def test_a_client_that_cannot_read_a_result_has_it_made_again(client: Client, tmp_path: Path, damage: Any) -> None:
    future = made_and_shared(client, tmp_path / "runs")
    for n_runs in (2, 3):
        (path,) = shared_files(client)
        damage(path)
        assert float(future.result(timeout=60).max()) == 2.0
        assert (tmp_path / "runs").read_text() == "x" * n_runs


@SEGMENT_VANISHES
def test_a_task_that_cannot_read_an_input_waits_until_it_is_made_again(client: Client, tmp_path: Path) -> None:
    future = made_and_shared(client, tmp_path / "runs")
    (path,) = shared_files(client)
    path.unlink()
    sums = client.map(lambda array, number: float(array.max()) + number, [future] * 20, range(20))
    assert client.gather(sums) == [2.0 + number for number in range(20)]
    assert (tmp_path / "runs").read_text() == "xx"
    assert any("can't be read any more" in event.text for event in client.story(future).events)


@SEGMENT_VANISHES
def test_what_a_lost_result_was_made_of_is_made_again_too(client: Client, tmp_path: Path) -> None:
    log = tmp_path / "runs"
    first = client.submit(lambda: tasks.count_run(str(log), tasks.big(1, 2.0)))
    second = client.submit(tasks.add, first, 1.0)
    assert float(second.result().max()) == 3.0
    del first
    for path in shared_files(client):
        path.unlink()
    assert float(second.result(timeout=60).max()) == 3.0
    assert log.read_text() == "xx"


@SEGMENT_VANISHES
def test_a_result_whose_file_is_removed_time_and_again_is_an_error_that_says_so(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    future = made_and_shared(client, tmp_path / "runs")

    def remove_and_read(key: Any, location: Any) -> Any:
        os.unlink(location.path)
        return read_result(key, location)

    monkeypatch.setattr("glassloom.client.cluster_link.read_result", remove_and_read)
    with pytest.raises(DataLost, match="couldn't be read 3 times, each time after it had been made: something removes"):
        future.result(timeout=60)
    monkeypatch.undo()
    assert (tmp_path / "runs").read_text() == "xxx"
    future.retry()
    assert float(future.result(timeout=60).max()) == 2.0


@SEGMENT_VANISHES
def test_a_scattered_value_whose_file_is_removed_is_an_error_that_says_what_to_do(client: Client) -> None:
    future = client.scatter(tasks.big(1, 4.0))
    reading = client.submit(np.mean, future)
    assert reading.result(timeout=60) == 4.0
    (path,) = shared_files(client)
    path.unlink()
    with pytest.raises(DataLost, match=r"is gone, and it was not computed but handed in: scatter it again"):
        future.result(timeout=60)
    with pytest.raises(DataLost, match=r"is gone, and it was not computed but handed in: scatter it again"):
        client.submit(np.max, future).result(timeout=60)
    again = client.scatter(tasks.big(1, 4.0))
    assert client.submit(np.max, again).result(timeout=60) == 4.0


@pytest.mark.fault("kill -9 of all workers")
def test_all_workers_killed_at_once_cost_only_time(client: Client) -> None:
    inputs = client.map(tasks.big, [1] * 8, [float(n) for n in range(8)])
    wait(inputs)
    for pid in worker_pids(client):
        kill(pid)
    assert client.gather(client.map(tasks.mean, inputs)) == [float(n) for n in range(8)]


@pytest.mark.fault("kill -9 of workers, again and again")
def test_workers_killed_again_and_again_under_a_large_graph_change_no_result(client: Client) -> None:
    inputs = client.map(tasks.inc, range(3000))
    sums = [client.submit(tasks.total, inputs[start : start + 100]) for start in range(0, 3000, 100)]
    total = client.submit(tasks.total, sums)
    for n_done, _ in enumerate(as_completed(sums)):
        if n_done in (3, 12):
            kill_a_worker(client)
    assert total.result() == 4501500


# A task kills its worker


@pytest.mark.fault("a task that calls os._exit, or segfaults")
@pytest.mark.parametrize(("function", "how"), [(tasks.leave, "exited with code"), (tasks.crash, "killed by SIGSEGV")])
def test_a_task_that_has_killed_three_workers_is_blamed(client: Client, function: Any, how: str) -> None:
    future = client.submit(function, pure=False)
    with pytest.raises(
        WorkerLost, match=rf"^task '{future.key}' was running on 3 workers when they died, so it"
    ) as lost:
        future.result(timeout=60)
    assert f"How the last one ended: {how}" in str(lost.value)


@pytest.mark.fault("a task that calls os._exit, or segfaults")
def test_a_task_is_not_blamed_for_what_ran_beside_it(client: Client) -> None:
    wait(client.map(tasks.inc, range(500)))  # so that their queue is deep: they are known to be short
    innocent = client.map(tasks.inc, range(1000, 1400))
    guilty = client.submit(tasks.leave, pure=False)
    more = client.map(tasks.inc, range(2000, 2400))
    assert client.gather(innocent + more) == [*range(1001, 1401), *range(2001, 2401)]
    assert isinstance(guilty.exception(timeout=60), WorkerLost)


def test_the_blamed_tasks_error_carries_the_users_line(client: Client) -> None:
    future = client.submit(tasks.leave, pure=False)  # here
    error = future.exception(timeout=60)
    assert error.__notes__[0].endswith("future = client.submit(tasks.leave, pure=False)  # here")


def test_the_blamed_task_is_among_the_errors_that_dashboards_show(own_client: Client) -> None:
    assert isinstance(own_client.submit(tasks.leave, pure=False).exception(timeout=60), WorkerLost)
    error = asyncio.run(_first_error(own_client))
    assert (error.exceptions, error.workers) == (["WorkerLost"], [-1])
    assert error.keys[0][0].startswith("'leave-")


async def _first_error(client: Client) -> Errors:
    async with asyncio.timeout(60):
        async for message in subscribe(find_record(client.id)):
            if isinstance(message, Errors):
                return message
    raise AssertionError("the cluster ended")


@pytest.mark.fault("a task that calls os._exit, or segfaults")
def test_what_depends_on_a_blamed_task_gets_its_error(client: Client) -> None:
    error = client.submit(tasks.same, client.submit(tasks.leave, pure=False)).exception(timeout=60)
    assert isinstance(error, WorkerLost)
    assert "'leave-" in str(error)


@pytest.mark.fault("a task that calls os._exit, or segfaults")
def test_a_task_that_kills_its_worker_once_gets_its_result(client: Client, tmp_path: Path) -> None:
    assert client.submit(tasks.kill_own_worker_once, str(tmp_path / "once"), 4).result(timeout=60) == 4


@pytest.mark.fault("a task that forks")
def test_a_task_that_forks_harms_nobody(client: Client) -> None:
    def fork() -> int:
        pid = os.fork()
        if not pid:
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    before = both_workers(client)
    assert client.gather([client.submit(fork, pure=False) for _ in range(4)]) == [0] * 4
    assert worker_pids(client) == before


@pytest.mark.fault("a task that leaks memory past the limit")
def test_a_worker_over_its_memory_limit_is_ended_and_its_task_blamed() -> None:
    with Client(n_workers=1, threads_per_worker=1, memory_limit="300MB", set_as_default=False) as client:
        (before,) = worker_pids(client)

        def swell() -> None:
            kept = []
            while True:
                kept.append(b"x" * 2**20)
                time.sleep(0.001)

        future = client.submit(swell)
        with pytest.raises(
            MemoryLimitExceeded, match=rf"^task '{future.key}' .*: it took .* MiB of memory, over 95% of its"
        ) as error:
            future.result(timeout=60)
        assert isinstance(error.value, (WorkerLost, MemoryError))
        assert str(error.value).endswith("or fewer threads (threads_per_worker)")
        assert client.submit(tasks.inc, 1).result(timeout=60) == 2
        assert worker_pids(client) != [before]
        log = Path(client._record.directory, "cluster.log").read_text()
    assert "MiB of memory, over 95% of its limit of 286.10 MiB; " in log


def test_a_memory_limit_below_what_an_idle_worker_takes_is_an_error_at_once() -> None:
    script = "import pandas, pyarrow, glassloom; glassloom.LocalCluster(1, 1, memory_limit='51MiB')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    message = r"memory_limit is 51\.00 MiB for each worker, but an idle one takes \d+\.\d\d MiB already; give it more"
    assert re.search(f"ClusterStartError: the cluster didn't start: {message}", done.stderr), done.stderr


# The head, the fork server, the client


@pytest.mark.fault("kill -9 of the head")
def test_the_end_of_the_head_wakes_who_waits(own_client: Client, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    future = own_client.submit(tasks.begin_and_wait, str(begun), str(tmp_path / "never"))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(future.result)
        eventually(begun.exists)
        kill(own_client._record.pid)
        with pytest.raises(
            ClusterClosed,
            match=r"is lost: the cluster has ended: its head \(process \d+\) was killed, or ended without .* a new Client",
        ):
            waiting.result(60)
    assert own_client.status == "closed"


@pytest.mark.fault("kill -9 of the head, or the fork server")
@pytest.mark.parametrize("victim", ["head", "fork server"])
def test_nothing_is_left_of_a_cluster_whose_process_is_killed(
    victim: str, tmp_path: Path, nothing_is_left_behind: leaks.Watch
) -> None:
    client = Client(n_workers=2, threads_per_worker=1, set_as_default=False)
    shared = client.submit(tasks.big, 4)
    shared.result()
    begun = tmp_path / "begun"
    running = client.submit(tasks.begin_and_wait, str(begun), str(tmp_path / "never"))
    eventually(begun.exists)
    others = set(nothing_is_left_behind.processes()) - {head_of(client), *head_of(client).children(recursive=True)}
    pids = {client._record.pid, fork_server_of(client).pid, *worker_pids(client)}
    kill({"head": client._record.pid, "fork server": fork_server_of(client).pid}[victim])
    eventually(lambda: not pids & {process.pid for process in nothing_is_left_behind.processes()}, 60)
    eventually(lambda: client.status == "closed", 60)
    with pytest.raises(ClusterClosed, match="the client is closed: the cluster has ended"):
        client.submit(tasks.inc, 1)
    eventually(lambda: not _left_of(nothing_is_left_behind, client.id), 60)  # before anybody closes it
    client.close()
    assert running.status == "lost"
    assert others <= set(nothing_is_left_behind.processes())


def _left_of(watch: leaks.Watch, cluster_id: str) -> list[str]:
    return [line for line in watch.left_outside() if cluster_id in line]


@pytest.mark.fault("kill -9 of the head and the fork server")
def test_what_a_head_and_fork_server_killed_together_have_left_is_removed_by_the_next_engine(
    nothing_is_left_behind: leaks.Watch,
) -> None:
    client = Client(n_workers=1, threads_per_worker=1, set_as_default=False)
    client.submit(tasks.big, 4).result()
    fork_server, workers = fork_server_of(client), worker_pids(client)
    fork_server.suspend()  # so that it can't clean up after the head
    kill(client._record.pid)
    fork_server.kill()
    eventually(lambda: not set(workers) & {process.pid for process in nothing_is_left_behind.processes()}, 60)
    client.cluster.wait()
    assert client.id not in [record.id for record in read_records()]
    remove_what_the_dead_left()  # as the next cluster to start does, which may be one of another test run: just now, too
    eventually(lambda: _left_of(nothing_is_left_behind, client.id) == [])
    client.close()


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import tasks
from glassloom import Client
client = Client(n_workers=2, threads_per_worker=1, name={name!r})
shared = client.submit(tasks.big, 4)
shared.result()
client.submit(tasks.begin_and_wait, {begun!r}, {begun!r} + "-never").result()
"""


@pytest.mark.fault("the client that started the cluster is killed")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_cluster_ends_with_the_script_that_started_it(
    number: signal.Signals, tmp_path: Path, nothing_is_left_behind: leaks.Watch
) -> None:
    begun, path = tmp_path / "begun", tmp_path / "script.py"
    path.write_text(SCRIPT.format(tests=TESTS, name=f"script-{number}", begun=str(begun)))
    script = subprocess.Popen([sys.executable, str(path)])
    eventually(begun.exists)
    record = find_record(f"script-{number}")
    head = psutil.Process(record.pid)
    processes = [head, *head.children(recursive=True)]
    script.send_signal(number)
    script.wait(60)
    eventually(lambda: not [process for process in processes if process.is_running()], 60)
    eventually(lambda: not _left_of(nothing_is_left_behind, record.id), 60)


@pytest.mark.fault("kill -9 of a client that attached by name")
def test_a_client_that_attached_by_name_may_die_without_harm(client: Client, tmp_path: Path) -> None:
    script = f"""
import os, signal, sys
sys.path.insert(0, {TESTS!r})
import tasks
from glassloom import Client
client = Client({client.id!r})
future = client.submit(tasks.big, 4, 9.0)
future.result()
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert client.submit(tasks.inc, 1).result() == 2
    eventually(lambda: client.scheduler_info()["tasks"]["memory"] <= 1)
    eventually(lambda: not list(Path("/dev/shm").glob(f"glassloom-{client.id}-*")))


def test_a_detached_cluster_outlives_its_starter_until_it_is_stopped(tmp_path: Path) -> None:
    started = subprocess.run(
        [sys.executable, "-m", "glassloom", "cluster", "start", "--json", "--detach", "--n-workers", "1"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    cluster_id = json.loads(started.stdout)["id"]
    try:
        with Client(cluster_id, set_as_default=False) as client:
            assert client.submit(abs, -1).result() == 1
    finally:
        stopped = subprocess.run([sys.executable, "-m", "glassloom", "cluster", "stop", cluster_id], timeout=300)
    assert stopped.returncode == 0
    eventually(lambda: cluster_id not in [record.id for record in read_records()])


@pytest.mark.fault("SIGSTOP of a worker")
def test_a_stopped_worker_goes_on_where_it_was(client: Client, tmp_path: Path) -> None:
    pids = both_workers(client)
    futures = client.map(tasks.inc, range(200))
    kill(pids[0], signal.SIGSTOP)
    more = client.map(tasks.inc, range(1000, 1200))
    kill(pids[0], signal.SIGCONT)
    assert client.gather(futures + more) == [*range(1, 201), *range(1001, 1201)]
    assert worker_pids(client) == pids


# No room


@pytest.fixture
def tiny_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let 1 MiB of tmpfs stand for /dev/shm."""
    tiny = tmp_path / "shm"
    tiny.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tiny)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"only root can mount a file system: {error}")
    monkeypatch.setattr("glassloom.store.segment.SHARED_MEMORY_DIR", tiny)
    yield tiny
    subprocess.run(["umount", "--lazy", str(tiny)], check=True)


@pytest.mark.fault("shared memory is full")
def test_what_does_not_fit_into_shared_memory_goes_to_disk(tiny_shared_memory: Path, tmp_path: Path) -> None:
    writer = SegmentWriter("p-", str(tmp_path), "w")
    location = writer.place(tasks.big(2, 3.0))
    assert location.path.startswith(f"{tmp_path}/p-w-0-")
    assert float(read_location(location).min()) == 3.0
    assert list(tiny_shared_memory.iterdir()) == []


@pytest.mark.fault("shared memory and disk are full")
def test_no_room_anywhere_is_a_clear_error(tiny_shared_memory: Path) -> None:
    writer = SegmentWriter("p-", str(tiny_shared_memory), "w")
    with pytest.raises(StoreFull, match=r"^no room for a result of 2097\d\d\d bytes: .*/shm and .*/shm are full"):
        writer.place(tasks.big(2))
    assert list(tiny_shared_memory.iterdir()) == []
    assert read_location(writer.place(tasks.big(0, 1.0))).size == 0


FULL = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np, tasks
from glassloom import Client
from glassloom.errors import GlassloomError
client = Client(n_workers=2, threads_per_worker=1, local_directory={directory!r})
fits = client.submit(tasks.big, 0)
too_large = client.submit(tasks.big, 4)
for action in (lambda: too_large.result(), lambda: client.scatter(np.ones(2**19))):
    try:
        action()
    except GlassloomError as error:
        print(type(error).__name__, str(error))
print(client.submit(tasks.mean, too_large).result(), fits.result().size, client.submit(tasks.inc, 1).result())
"""


@pytest.mark.fault("shared memory and disk are full")
def test_a_cluster_goes_on_when_shared_memory_and_disk_are_full(tmp_path: Path) -> None:
    script = FULL.format(tests=TESTS, directory="/mnt")
    shell = 'mount -t tmpfs -o size=1m tmpfs /dev/shm && mount -t tmpfs -o size=1m tmpfs /mnt && exec $0 -c "$1"'
    command = ["unshare", "--mount", "sh", "-c", shell, sys.executable, script]
    try:
        subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"only root can mount a file system: {error}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert done.stderr == ""
    assert lines[0].startswith("SerialisationError StoreFull: no room for a result of 4194")
    assert lines[1].startswith("StoreFull no room for a result of 4194")
    assert lines[2] == "1.0 0 2"
