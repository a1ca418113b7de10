"""What tasks print or log: who it reaches, in which order, how much of it."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from fault_helpers import eventually, worker_pids
from glassloom import Client, LocalCluster, config, get_client
from glassloom.errors import OptionError
from glassloom.worker import task_output
from glassloom.worker.task_output import CapturedStream, TaskOutput

# The lines of a worker


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(task_output, "monotonic_s", lambda: now[0])
    return now


def texts(output: TaskOutput) -> list[str]:
    message = output.take()
    return [] if message is None else message.texts


def test_whole_lines_are_sent_and_the_rest_waits_for_its_end(clock: list[float]) -> None:
    output = TaskOutput()
    output.write("stdout", "one\ntw")
    output.write("stderr", "error\n")
    output.write("stdout", "o\nthree")
    message = output.take()
    assert message is not None
    assert (message.streams, message.texts) == (["stdout", "stderr", "stdout"], ["one", "error", "two"])
    assert (message.numbers, message.at_s) == ([-1] * 3, [100.0] * 3)
    assert output.take() is None
    output.end_line()
    assert texts(output) == ["three"]


def test_a_line_that_does_not_end_is_sent_after_a_while(clock: list[float]) -> None:
    output = TaskOutput()
    output.write("stdout", "working")
    assert not output.is_due(100.5)
    assert output.is_due(101.5)
    assert texts(output) == ["working"]


def test_progress_bars_show_as_a_terminal_shows_them(clock: list[float]) -> None:
    output = TaskOutput()
    for percent in range(100):
        output.write("stderr", f"\r{percent} %")
    output.write("stderr", "\rdone\r\n")
    assert texts(output) == ["done"]


def test_too_many_lines_are_counted(clock: list[float]) -> None:
    output = TaskOutput()
    for number in range(1500):
        output.write("stdout", f"{number}\n")
    assert texts(output) == [str(number) for number in range(1000)]
    assert not output.is_due(100.9)
    clock[0] = 101.1
    assert output.is_due(101.1)
    assert texts(output) == ["500 lines left out: at most 1000 lines a second are sent; cluster.log has them all"]
    output.write("stdout", "again\n")
    assert texts(output) == ["again"]


def test_too_much_text_is_counted_and_long_lines_are_cut(clock: list[float]) -> None:
    output = TaskOutput()
    for _ in range(100):
        output.write("stdout", "x" * 20_000 + "\n")
    sent = texts(output)
    assert len(sent) == 64
    assert sent[0] == "x" * 16_384 + " ... (3616 characters left out)"
    output.write("stdout", "y" * 10**7)
    assert sum(map(len, texts(output))) < 2**20


def test_what_cannot_be_encoded_is_spelled_out(clock: list[float]) -> None:
    output = TaskOutput()
    output.write("stdout", "a \udcff\n")
    assert texts(output) == ["a \\udcff"]


def test_a_finaliser_that_prints_while_a_line_is_taken_does_no_harm() -> None:
    output = TaskOutput()

    class Printing(str):
        def __getitem__(self, item: Any) -> str:
            output.write("stdout", "inner\n")
            return str(self)[item]

    with output._lock:
        output.write("stdout", Printing("outer\n"))
    assert sorted(texts(output)) == ["inner", "outer"]


def test_a_full_disk_keeps_nobody_from_printing() -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    output = TaskOutput()
    assert print("hello", file=CapturedStream("stdout", Full(), output), flush=True) is None
    assert texts(output) == ["hello"]


def test_lines_reach_the_log_whole_where_python_is_unbuffered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Log(io.RawIOBase):
        written: list[bytes] = []

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.written.append(bytes(data))
            return len(data)

    monkeypatch.setattr(logging, "lastResort", logging.lastResort)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(Log(), write_through=True))  # type: ignore[arg-type]
    TaskOutput().install()
    print("a", "line")
    assert Log.written == [b"a line\n"]


def test_the_stream_is_a_text_stream_like_others() -> None:
    stream = CapturedStream("stdout", sys.__stdout__, TaskOutput())  # type: ignore[arg-type]
    assert (stream.encoding, stream.isatty(), stream.writable()) == (sys.__stdout__.encoding, False, True)  # type: ignore[union-attr]
    with pytest.raises(TypeError, match="must be str, not bytes"):
        stream.write(b"bytes")  # type: ignore[arg-type]


# Clusters


def lines(text: str) -> list[str]:
    """Return lines with the name of the worker's cluster cut."""
    return [re.sub(r"^\(.*-(\d+)\) ", r"(\1) ", line) for line in text.splitlines()]


def say(text: str) -> None:
    print(text)


def test_what_tasks_print_is_printed_here_before_the_result_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        client.submit(say, "hello \u00e9\nworld").result(timeout=60)
        assert lines(capsys.readouterr().out) == ["(0) hello \u00e9", "(0) world"]
        client.submit(print, "error", file=None).result(timeout=60)
    assert lines(capsys.readouterr().out) == ["(0) error"]


def warn_and_log(text: str) -> None:
    logging.getLogger("mine").warning("careful: %s", text)
    logging.getLogger("mine").error("bad %d", "arguments")
    logging.getLogger("mine").info("not shown, as nobody has asked for it")
    print("to stderr", file=sys.stderr)
    print("no end", end="")


def test_log_records_and_lines_without_end_come_too(
    client: Client, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    client.submit(warn_and_log, "steps", pure=False).result(timeout=60)
    captured = eventually(lambda: client.get_worker_logs())
    (found,) = [worker_lines for worker_lines in captured.values() if worker_lines]
    assert found[-4:] == [
        ("warning", "careful: steps"),
        ("error", "bad %d (its arguments don't fit)"),
        ("stderr", "to stderr"),
        ("stdout", "no end"),
    ]
    log = Path(client._record.directory, "cluster.log").read_text()
    assert "careful: steps\n" in log
    assert "no end" in log


def configure_and_log() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", force=True)
    logging.getLogger("mine").info("configured by the task")
    logging.getLogger().handlers.clear()


def test_a_task_may_configure_logging_itself(client: Client) -> None:
    client.submit(configure_and_log, pure=False).result(timeout=60)
    found = [line for worker in client.get_worker_logs().values() for line in worker]
    assert ("stderr", "INFO configured by the task") in found


def test_logs_are_the_last_lines_of_the_workers_that_are_asked_for(client: Client) -> None:
    for number in range(5):
        client.submit(say, f"line {number}", pure=False).result(timeout=60)
    logs = client.get_worker_logs()
    (name, *_) = [worker for worker, found in logs.items() if ("stdout", "line 4") in found]
    assert client.get_worker_logs(n=1, workers=[name]) == {name: [("stdout", "line 4")]}
    assert client.get_worker_logs(n=0) == dict.fromkeys(logs, [])
    assert client.get_worker_logs(workers=["nobody"]) == {}
    with pytest.raises(OptionError, match="n=-1 should be a number of lines"):
        client.get_worker_logs(n=-1)
    with pytest.raises(OptionError, match="workers='one' should be a list"):
        client.get_worker_logs(workers="one")  # type: ignore[arg-type]


def fail_loudly() -> None:
    print("about to fail")
    raise ValueError("failed")


def test_what_a_failing_task_has_printed_comes_too(client: Client) -> None:
    with pytest.raises(ValueError, match="failed"):
        client.submit(fail_loudly, pure=False).result(timeout=60)
    assert ("stdout", "about to fail") in [line for worker in client.get_worker_logs().values() for line in worker]


def print_and_wait(path: str) -> None:
    print("while it runs")
    eventually(Path(path).exists)


def test_lines_come_while_the_task_runs(client: Client, tmp_path: Path) -> None:
    running = client.submit(print_and_wait, str(tmp_path / "go"), pure=False)
    try:
        eventually(lambda: any(("stdout", "while it runs") in found for found in client.get_worker_logs().values()))
        assert running.status == "pending"
    finally:
        (tmp_path / "go").touch()
    running.result(timeout=60)


def submit_printing() -> None:
    get_client().submit(say, "from within", pure=False).result()


def test_a_tasks_own_client_prints_nothing(client: Client) -> None:
    client.submit(submit_printing, pure=False).result(timeout=60)
    found = [text for worker in client.get_worker_logs().values() for _, text in worker]
    assert [text for text in found if "from within" in text] == ["from within"]


def fork_and_print() -> None:
    pid = os.fork()
    print("parent" if pid else "child")
    if pid:
        os.waitpid(pid, 0)


def test_a_forked_child_prints_to_the_log_alone(client: Client) -> None:
    client.submit(fork_and_print, pure=False).result(timeout=60)
    found = [text for worker in client.get_worker_logs().values() for _, text in worker]
    assert ("parent" in found, "child" in found) == (True, False)
    assert "child" in Path(client._record.directory, "cluster.log").read_text().split()


def test_printing_can_be_switched_off(capsys: pytest.CaptureFixture[str]) -> None:
    with config.set({"cluster.print-task-output": False}), Client(n_workers=1, threads_per_worker=1) as client:
        client.submit(say, "hello").result(timeout=60)
        assert list(client.get_worker_logs().values()) == [[("stdout", "hello")]]
    assert capsys.readouterr().out == ""


def shown(client: Client, text: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Let a task print; return which lines are there when its result is."""
    client.submit(say, text, pure=False).result(timeout=60)
    return [line.split(maxsplit=1)[-1] for line in capsys.readouterr().out.splitlines()]


def test_a_process_prints_each_line_once_however_many_connections_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    with LocalCluster(n_workers=1, threads_per_worker=1) as cluster:
        cluster.scale(1)  # over the cluster's own connection
        first, second = Client(cluster, set_as_default=False), Client(cluster.name, set_as_default=False)
        assert shown(first, "by the first", capsys) == ["by the first"]
        assert shown(second, "by the second", capsys) == ["by the second"]
        first.close()
        assert shown(second, "once the first is closed", capsys) == ["once the first is closed"]
        with Client(cluster, set_as_default=False) as third:
            second.close()
            assert shown(third, "by the third", capsys) == ["by the third"]
        assert capsys.readouterr().out == ""


FORKING = """
import os, sys
from glassloom import Client

def say(text):
    print(text)

if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1) as client:
        if os.fork() == 0:
            with Client(client.cluster.name) as own:
                own.submit(say, "of the child").result()
            with Client(n_workers=1, threads_per_worker=1) as other:
                other.submit(say, "of the child's own cluster").result()
            sys.stdout.flush()
            os._exit(0)
        os.wait()
        client.submit(say, "of the parent").result()
"""


def test_a_forked_child_leaves_it_to_its_parent_to_print(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(FORKING)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300, check=True)
    printed = [line.split(maxsplit=1)[-1] for line in done.stdout.splitlines()]
    assert sorted(printed) == ["of the child", "of the child's own cluster", "of the parent"], done.stderr


class Stuck(io.StringIO):
    """A terminal that is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def write(self, text: str) -> int:
        self.go_on.wait(60)
        return super().write(text)


def test_a_stopped_terminal_stops_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Stuck()
    with Client(n_workers=1, threads_per_worker=1) as client:
        monkeypatch.setattr(sys, "stdout", terminal)
        for number in range(3):
            assert client.submit(lambda n: print(n) or n, number, pure=False).result(timeout=60) == number
        terminal.go_on.set()
    assert [line.split()[-1] for line in terminal.getvalue().splitlines()] == ["0", "1", "2"]


def print_much(n_lines: int) -> int:
    for number in range(n_lines):
        print(number)
    return n_lines


def test_a_task_that_prints_very_much_is_throttled(client: Client) -> None:
    pids = worker_pids(client)
    assert client.submit(print_much, 50_000, pure=False).result(timeout=60) == 50_000
    assert worker_pids(client) == pids
    eventually(lambda: any("lines left out" in text for w in client.get_worker_logs().values() for _, text in w))


SCRIPT = """
from glassloom import Client
if __name__ == "__main__":
    Client(n_workers=1, threads_per_worker=1).submit(print, "last words").result()
"""


def test_a_script_that_ends_at_once_shows_what_its_tasks_have_printed(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300, check=True)
    assert lines(done.stdout) == ["(0) last words"], done.stderr


def test_what_a_tasks_subprocess_prints_goes_to_the_clusters_log_alone() -> None:
    def say() -> None:
        subprocess.run(["echo", "from a subprocess"], check=True)
        print("from the task")

    with config.set({"cluster.print-task-output": False}), Client(n_workers=1, set_as_default=False) as client:
        client.submit(say).result(timeout=60)
        (lines,) = client.get_worker_logs().values()
        assert lines == [("stdout", "from the task")]
        assert "from a subprocess" in Path(client._record.directory, "cluster.log").read_text()
