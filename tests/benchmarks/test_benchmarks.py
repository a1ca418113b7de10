"""The meter counts the CPU time of all processes once, also of those that end; a contender that fails spoils no others."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from benchmarks import __main__ as command
from benchmarks import cases
from benchmarks.meter import Meter, Seen, sum_cpu_s

WORK_S = 0.3
LEAST_S = WORK_S / 2  # the system counts in steps of 10 ms
_WORK = f"import time\nwhile time.process_time() < {WORK_S}: pass\nprint('worked', flush=True)\n"


@contextmanager
def python(code: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run code in a process of its own, that ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, start_new_session=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


def test_a_process_that_starts_later_counts() -> None:
    meter = Meter()
    with python(_WORK + "input()") as process:
        assert wait_for_line(process) == "worked"
        assert LEAST_S <= meter.cpu_s() < 3 * WORK_S


def test_a_process_that_starts_later_and_ends_counts_once() -> None:
    meter = Meter()
    with python(_WORK) as process:
        process.wait()
    assert LEAST_S <= meter.cpu_s() < 3 * WORK_S
    assert LEAST_S <= meter.cpu_s() < 3 * WORK_S


def test_a_process_that_ends_after_the_start_counts_with_what_it_did_since() -> None:
    with python("input()\n" + _WORK) as process:
        meter = Meter()
        process.communicate(b"\n")
        assert process.returncode == 0
    assert LEAST_S <= meter.cpu_s() < 3 * WORK_S


def test_a_process_whose_parent_does_not_wait_for_it_counts_with_what_was_last_seen() -> None:
    parent = (
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        f"child = subprocess.Popen([sys.executable, '-S', '-c', {_WORK + 'input()'!r}], stdin=subprocess.PIPE)\n"
        "sys.stdin.readline()\n"
        "child.kill()\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.readline()\n"
    )
    meter = Meter()
    with python(parent) as process:
        assert wait_for_line(process) == "worked"
        assert LEAST_S <= meter.cpu_s() < 3 * WORK_S
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        child = int(wait_for_line(process))
        while psutil.pid_exists(child):
            time.sleep(0.01)
        assert LEAST_S <= meter.cpu_s() < 3 * WORK_S


@pytest.mark.parametrize(
    ("processes", "expected_s"),
    [
        pytest.param({0: Seen(None, 1.0, 0.0, 0.0), 1: Seen(0, 2.0, 0.0, 0.0)}, 3.0, id="all alive"),
        pytest.param(
            {0: Seen(None, 1.0, 2.5, 0.0), 1: Seen(0, 2.0, 0.0, 0.0, has_ended=True)}, 3.5, id="ended, waited for"
        ),
        pytest.param(
            {0: Seen(None, 1.0, 4.0, 4.0), 1: Seen(0, 2.0, 0.0, 0.0, has_ended=True)}, 7.0, id="ended, not waited for"
        ),
        pytest.param(
            {
                0: Seen(None, 1.0, 0.0, 0.0),
                1: Seen(0, 2.0, 0.0, 0.0, has_ended=True),
                2: Seen(1, 4.0, 0.0, 0.0),
            },
            7.0,
            id="the parent of a living one has ended",
        ),
        pytest.param(
            {
                0: Seen(None, 1.0, 6.0, 0.0),
                1: Seen(0, 2.0, 4.0, 0.0, has_ended=True),
                2: Seen(1, 4.0, 0.0, 0.0, has_ended=True),
            },
            7.0,
            id="all generations waited for",
        ),
    ],
)
def test_what_an_ended_process_used_is_counted_once(processes: dict[int, Seen], expected_s: float) -> None:
    assert sum_cpu_s(processes) == expected_s


def test_a_contender_that_fails_spoils_no_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(
        cases.CASES, "made up", {"glassloom a": dict, "glassloom b": dict, "glassloom c": dict, "pytest": dict}
    )
    printed = {
        "glassloom a": "print('{\"wall_s\": 2.0}')",
        "glassloom b": "raise SystemExit(3)",
        "glassloom c": "print('nothing of use')",
        "pytest": "print('{\"wall_s\": 6.0}')",
    }
    run = subprocess.run

    def run_instead(arguments: list[str], **options: object) -> object:
        return run([sys.executable, "-c", printed[arguments[-1]]], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", run_instead)
    assert command.main(["made up", "--rounds", "2", "--json", str(tmp_path / "figures")]) == 1
    out, err = capsys.readouterr()
    assert "made up: glassloom b failed: Command" in err
    assert "made up: glassloom c failed: Expecting value" in err
    assert [line.split()[:4] for line in out.splitlines()[3:]] == [
        ["glassloom", "a", "wall_s", "2.000"],
        ["glassloom", "b", "failed", "in"],
        ["glassloom", "c", "failed", "in"],
        ["pytest", "wall_s", "6.000", "(6.000"],
    ]
    figures = json.loads((tmp_path / "figures").read_text())["made up"]
    assert figures == {
        "glassloom a": [{"wall_s": 2.0}] * 2,
        "glassloom b": [None] * 2,
        "glassloom c": [None] * 2,
        "pytest": [{"wall_s": 6.0}] * 2,
    }


def test_a_round_without_failure_exits_with_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cases.CASES, "made up", {"glassloom a": dict})
    monkeypatch.setattr(command, "_run", lambda case, contender: {"wall_s": 1.0})
    assert command.main(["made up"]) == 0
