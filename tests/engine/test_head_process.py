"""The head as a process: what it imports, what it is called, what its workers inherit, and what a fault of its own does."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import tasks
from fault_helpers import eventually, fork_server_of, head_of, kill, worker_pids
from glassloom import Client, Future, LocalCluster, config
from glassloom.cluster import head_process
from glassloom.errors import ClusterClosed, ClusterStartError
from limits_by_event import ClockUntil

ENGINE = str(Path(head_process.__file__).parents[2])

# What the head imports

MALICIOUS = "import os\nopen({marker!r}, 'a').write(__name__ + ' ' + str(os.getpid()) + '\\n')\nraise ImportError\n"
START = """
from glassloom import Client, config
with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
    {body}
"""


def run_python(*arguments: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder such as /tmp, into which somebody has put modules with the names of those that the head imports."""
    folder = tmp_path / "trap"
    folder.mkdir()
    for name in ("secrets", "random", "select", "json", "psutil", "msgspec", "pynvml", "signal"):
        (folder / f"{name}.py").write_text(MALICIOUS.format(marker=str(tmp_path / "marker")))
    return folder


def test_nothing_in_the_current_directory_is_run_by_the_processes_of_a_cluster(tmp_path: Path, trap: Path) -> None:
    script = tmp_path / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(START.format(body="print(client.submit(abs, -3).result())"))
    assert run_python(str(script), cwd=trap) == "3\n"
    assert not (tmp_path / "marker").exists()


def test_the_current_directory_is_the_workers_if_it_is_their_starters_and_never_the_heads(tmp_path: Path) -> None:
    (tmp_path / "only_here.py").write_text("value = 12")
    (tmp_path / "pynvml.py").write_text(MALICIOUS.format(marker=str(tmp_path / "marker")))
    body = "print(client.submit(lambda: __import__('only_here').value).result())"
    assert run_python("-c", START.format(body=body), cwd=tmp_path) == "12\n"
    assert not (tmp_path / "marker").exists()


def test_an_engine_that_lies_in_the_current_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ENGINE)
    monkeypatch.setattr(sys, "path", ["", *[path for path in sys.path if path != ENGINE]])
    assert ENGINE in head_process._head_path()


# What workers inherit


def test_programs_that_tasks_start_get_the_users_search_path_and_not_the_engines(client: Client) -> None:
    def paths() -> tuple[str | None, str]:
        command = [sys.executable, "-c", "import sys; print(sys.path)"]
        return os.environ.get("PYTHONPATH"), subprocess.run(command, capture_output=True, text=True).stdout

    in_task = client.submit(paths, pure=False).result()
    assert in_task == paths()
    assert "tests" not in str(in_task)  # which is on the path of this process and of tasks
    assert client.submit(lambda: tasks.inc(1), pure=False).result() == 2


def test_a_task_that_reads_standard_input_finds_nothing(client: Client) -> None:
    assert client.submit(lambda: (os.readlink("/proc/self/fd/0"), sys.stdin.read()), pure=False).result() == (
        "/dev/null",
        "",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process change what ps shows")
def test_processes_are_called_what_they_are(client: Client) -> None:
    name = client._record.name
    workers = [psutil.Process(pid) for pid in worker_pids(client)]
    processes = [head_of(client), fork_server_of(client), *workers]
    assert [" ".join(process.cmdline()) for process in processes] == [
        f"glassloom head {name}",
        f"glassloom fork-server {name}",
        f"glassloom worker {name}-0",
        f"glassloom worker {name}-1",
    ]
    assert [process.name() for process in processes] == [
        "glassloom-head",
        "glassloom-fork",
        "glassloom-w0",
        "glassloom-w1",
    ]


@pytest.mark.fault("kill -9 of head and fork server while a task's program runs")
@pytest.mark.parametrize("first", ["head", "fork server"])
def test_what_tasks_have_started_dies_with_the_head_and_the_fork_server(tmp_path: Path, first: str) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        program, running = start_a_program(client, tmp_path)
        head, fork_server = head_of(client), fork_server_of(client)
        fork_server.suspend()  # so that it can't end anything, however late it is killed
        for process in (head, fork_server) if first == "head" else (fork_server, head):
            process.kill()
        eventually(lambda: has_died(program), 60)
        eventually(lambda: running.status == "lost", 60)


# What is injected into the head and the fork server of a cluster, as one is a fork of the other.
FORK_SERVER_HAS_THREADS = """
import threading, time
from glassloom.worker import fork_server
serve = fork_server._ForkServer.serve
def serve_with_threads(self):
    for _ in range(30):  # as libraries make them when they are imported: all must have ended before files are closed
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    serve(self)
fork_server._ForkServer.serve = serve_with_threads
"""
FORK_SERVER_IS_KILLED_WHEN_THE_WORKERS_HAVE_ENDED = """
import os, signal, time
from glassloom.worker import fork_server
from glassloom.worker.worker import Worker
receive = Worker._receive
def receive_or_wait(self):
    return receive(self) or time.sleep(1000)  # as if a task didn't let the thread go on that hears of the head's end
Worker._receive = receive_or_wait
end_workers, waitpid = fork_server._ForkServer.end_workers, os.waitpid
def wait_and_die(pid, options):
    waitpid(pid, options)
    os.kill(os.getpid(), signal.SIGKILL)
def end_workers_and_die(self):
    os.waitpid = wait_and_die
    end_workers(self)
fork_server._ForkServer.end_workers = end_workers_and_die
"""
HOUSEKEEPING_CRASHES = """
import os
from glassloom.worker.worker import Worker
sample = Worker._sample
def sample_or_crash(self, *arguments):
    if os.path.exists({switch!r}):
        raise RuntimeError("injected")
    return sample(self, *arguments)
Worker._sample = sample_or_crash
"""


THE_FIRST_THREAD_OF_A_WORKER_WAITS = """
import threading
from glassloom.worker import worker
start_thread = worker.start_thread
def start_and_wait(*arguments, **options):
    start_thread(*arguments, **options)
    threading.Event().wait(10 * worker._HOUSEKEEPING_IDLE_S)  # as on a busy machine: the new thread gets on, this one doesn't
worker.start_thread = start_and_wait
"""


def inject(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the processes of the next clusters run some code before they begin."""
    first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
    monkeypatch.setattr(head_process, "BOOTSTRAP", f"{first}{code}\nmain(start{last}")


def start_a_program(client: Client, folder: Path) -> tuple[psutil.Process, Future]:
    """Let a task start a program and wait for it; return the program when it is there, and the task's future."""

    def run_it() -> None:
        with subprocess.Popen(["sleep", "1000"]) as program:
            (folder / "unfinished").write_text(f"{program.pid}")
            (folder / "unfinished").rename(folder / "begun")
            program.wait()

    running = client.submit(run_it, pure=False)
    return psutil.Process(int(eventually(lambda: _text(folder / "begun")))), running


def has_died(program: psutil.Process) -> bool:
    try:
        return not program.is_running() or program.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # between the two
        return True


@pytest.mark.fault("kill -9 of head and fork server while a task's program runs")
def test_what_tasks_have_started_dies_with_a_fork_server_of_many_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(monkeypatch, FORK_SERVER_HAS_THREADS)
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        (program, _running), fork_server = start_a_program(client, tmp_path), fork_server_of(client)
        assert fork_server.num_threads() > 30
        head = head_of(client)
        fork_server.suspend()
        for process in (head, fork_server):
            process.kill()
        eventually(lambda: has_died(program), 60)


@pytest.mark.fault("kill -9 of head and fork server while a task's program runs")
def test_what_tasks_have_started_dies_if_the_fork_server_is_killed_while_it_ends_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(monkeypatch, FORK_SERVER_IS_KILLED_WHEN_THE_WORKERS_HAVE_ENDED)
    with Client(n_workers=2, threads_per_worker=1, set_as_default=False) as client:
        (program, _running), fork_server = start_a_program(client, tmp_path), fork_server_of(client)
        head_of(client).kill()
        eventually(lambda: has_died(fork_server))
        eventually(lambda: has_died(program), 60)


@pytest.mark.fault("kill -9 of head and fork server while a task's program runs")
def test_what_tasks_have_started_dies_with_a_worker_that_crashes_when_no_one_else_is_there_to_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(monkeypatch, HOUSEKEEPING_CRASHES.format(switch=str(tmp_path / "crashes")))
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        (program, _running), worker = start_a_program(client, tmp_path), psutil.Process(*worker_pids(client))
        head, fork_server = head_of(client), fork_server_of(client)
        fork_server.suspend()
        head.suspend()
        eventually(lambda: {fork_server.status(), head.status()} == {psutil.STATUS_STOPPED})
        (tmp_path / "crashes").touch()
        eventually(lambda: worker.status() == psutil.STATUS_ZOMBIE)
        for process in (head, fork_server):
            process.kill()
        eventually(lambda: has_died(program), 60)


@pytest.mark.fault("a worker's threads send before the worker has said that it is there")
def test_a_worker_whose_threads_are_quicker_than_its_start_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, THE_FIRST_THREAD_OF_A_WORKER_WAITS)
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        assert [worker["number"] for worker in client.scheduler_info()["workers"].values()] == [0]
        assert "didn't start" not in Path(client._record.directory, "cluster.log").read_text()


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


# Faults of the head's own

BROKEN = """
import os
from glassloom.head import server
right = getattr(server.Head, {method!r})
def broken(self, *arguments):
    if os.path.exists({switch!r}):
        raise RuntimeError("injected")
    return right(self, *arguments)
setattr(server.Head, {method!r}, broken)
"""


def break_the_head(monkeypatch: pytest.MonkeyPatch, method: str, switch: Path) -> None:
    """Let a method of the next cluster's head raise once the file `switch` is there."""
    first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
    code = BROKEN.format(method=method, switch=str(switch))
    monkeypatch.setattr(head_process, "BOOTSTRAP", f"{first}{code}\nmain(start{last}")


@pytest.mark.fault("an error in the head's own code")
@pytest.mark.parametrize(
    "method",
    [
        "_collect_samples",
        "_on_client_message",
        *(
            pytest.param(method, marks=pytest.mark.long)
            for method in ("_settle", "_on_worker_message", "_worker_exited")
        ),
    ],
)
def test_an_error_in_the_head_ends_the_cluster_and_the_user_learns_why(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_the_head(monkeypatch, method, tmp_path / "broken")
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        waiting = client.submit(time.sleep, 1000, pure=False)
        (worker,) = worker_pids(client)
        (tmp_path / "broken").touch()
        if method == "_worker_exited":
            kill(worker)
        with contextlib.suppress(ClusterClosed):
            client.submit(tasks.inc, 1, pure=False)  # any message of a client's, and of a worker's, would do
        with pytest.raises(ClusterClosed, match=r"the cluster has ended: .* crashed: RuntimeError: injected \(a fault"):
            waiting.result(timeout=60)
        eventually(lambda: client.status == "closed")


def test_an_error_in_the_head_while_it_starts_is_the_starters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken").touch()
    break_the_head(monkeypatch, "_serve_worker", tmp_path / "broken")
    with pytest.raises(ClusterStartError, match="didn't start: connection crashed: RuntimeError: injected"):
        Client(n_workers=1, threads_per_worker=1, set_as_default=False)


STOPS = {
    "head": "os.kill(os.getpid(), signal.SIGSTOP)",
    "fork server": """
from glassloom.worker import fork_server
start_fork_server = fork_server.start
def start_and_stop(*arguments, **options):
    started = start_fork_server(*arguments, **options)
    os.kill(started[0], signal.SIGSTOP)
    return started
fork_server.start = start_and_stop
""",
    "worker": """
from glassloom.worker import worker
def stop_at_once(*arguments, **options):
    os.kill(os.getpid(), signal.SIGSTOP)
worker.Worker.__init__ = stop_at_once
""",
}


@pytest.mark.fault("a process of a cluster is stopped (SIGSTOP) while it starts")
@pytest.mark.parametrize("which", STOPS)
def test_a_start_that_takes_too_long_names_the_process_that_is_stopped_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    inject(monkeypatch, f"import os, signal\n{STOPS[which]}")

    def has_stopped() -> bool:
        return any(head_process.is_stopped(each.pid) for each in psutil.Process().children(recursive=True))

    monkeypatch.setattr(
        head_process, "time", ClockUntil(has_stopped)
    )  # by the clock a busy machine wouldn't be there yet
    with pytest.raises(
        ClusterStartError, match=r"didn't start within 50 s: process \d+ .* is stopped by a signal$"
    ) as caught:
        LocalCluster(n_workers=1, threads_per_worker=1, timeout=50, local_directory=str(tmp_path))
    stopped = int(re.search(r"process (\d+) ", str(caught.value))[1])
    eventually(lambda: _is_gone(stopped))
    assert list(tmp_path.iterdir()) == []


def _is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or has_died(psutil.Process(pid))


def test_metrics_that_raise_are_lost_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_the_head(monkeypatch, "_collect_samples", tmp_path / "never")
    first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
    code = "from glassloom_metrics.recorder import Recorder\ndef fail(*_, **__): raise RuntimeError('no metrics')\n"
    code += "Recorder.add_tasks = Recorder.flush = fail\n"
    monkeypatch.setattr(head_process, "BOOTSTRAP", f"{first}{code}main(start{last}")
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        assert client.gather(client.map(tasks.inc, range(100))) == list(range(1, 101))
        log = Path(client._record.directory, "cluster.log")
        eventually(lambda: "metrics (flush) are lost:" in log.read_text())
        assert log.read_text().count("metrics (finished) are lost:") == 1
        assert client.submit(tasks.inc, 1).result() == 2


@pytest.mark.fault("the head has no file descriptor left")
def test_a_head_without_descriptors_goes_on_and_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = head_process.BOOTSTRAP.rsplit("main(start", 1)
    code = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
    monkeypatch.setattr(head_process, "BOOTSTRAP", f"{first}{code}main(start{last}")
    with (
        config.set({"metrics.log-memory": "64 KiB"}),
        Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client,
    ):
        callers = [socket.socket(socket.AF_UNIX) for _ in range(60)]
        for caller in callers:
            caller.connect(client._record.socket)  # the kernel takes all, the head as many as it can
        log = Path(client._record.directory, "cluster.log")
        eventually(lambda: "Too many open files" in log.read_text())
        for _ in range(5):  # the recording outgrows its memory, and its file can't be opened
            assert client.gather(client.map(tasks.inc, range(2000), pure=False)) == list(range(1, 2001))
        for caller in callers:
            caller.close()
        for _ in range(5):
            client.gather(client.map(tasks.inc, range(2000), pure=False))
        eventually(lambda: list(Path(client._record.directory).glob("journal-*.glr")))
        with Client(client._record.name, set_as_default=False) as another:
            assert another.submit(tasks.inc, 1).result() == 2
