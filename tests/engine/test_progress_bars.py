"""`glassloom.progress`: what terminals, notebooks and logs show of computations."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import glassloom as gl
import pytest
import tasks
from glassloom import Client
from glassloom._supervision import OnCrash, start_thread
from glassloom.notebook.cell_progress import Following
from glassloom.notebook.progress_display import LOG_EVERY_S, LogDisplay, progress_html
from glassloom.notebook.terminal_display import TerminalDisplay, width


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def seen(self, columns: int = 200) -> list[str]:
        """Return what a person sees: the rows of a terminal to which all that was written."""
        rows, row, column = [""], 0, 0
        for up, erase, control, text in re.findall(r"\x1b\[(\d+)A|(\x1b\[J)|([\r\n])|([^\x1b\r\n])", self.getvalue()):
            if up:
                row = max(row - int(up), 0)
            elif erase:
                rows[row:] = [rows[row][:column]]
            elif control == "\n":
                row, column = row + 1, 0
            elif control:
                column = 0
            else:
                if column + width(text) > columns:
                    row, column = row + 1, 0
                rows += [""] * (row + 1 - len(rows))
                rows[row] = rows[row][:column].ljust(column) + text
                column += 1
            rows += [""] * (row + 1 - len(rows))
        return rows


def message(outcome: str = "running", **fields: Any) -> dict[str, Any]:
    counts = {"total": 60, "done": 24, "running": 4, "failed": 0, "rate": 12.0, "eta_s": 3}
    return {
        "outcome": outcome, "started_at": 100.0, "ended_at": None if outcome == "running" else 105.0, "at": 102.0,
        "tasks": counts, "layers": [{"name": "<load>", **counts}], "n_layers": 1, "peak_bytes": 2**20, "peak_spilled_bytes": 0,
        "clusters": [{"kind": "processes", "busy": 1, "workers": 2}], **fields,
    }  # fmt: skip


def test_a_terminal_shows_a_bar_for_each_layer_and_writes_over_it() -> None:
    file = Terminal()
    display = TerminalDisplay(file)
    display.show(message(), 0.0, is_last=False)
    assert file.getvalue() == (
        "<load>  [#########---------------]  24 of 60 · 12 tasks/s · about 3 s left\n"
        "running · 24 of 60 tasks · 12 tasks/s · about 3 s left · 2.0 s · 1 of 2 workers busy · 1.00 MiB at most\n"
    )
    file.truncate(0)
    file.seek(0)
    display.show(
        message("finished", tasks={**message()["tasks"], "done": 60, "rate": None, "eta_s": None}), 1.0, is_last=True
    )
    assert file.getvalue() == "\x1b[2A\r\x1b[Jdone · 60 of 60 tasks · 5.0 s · 1.00 MiB at most\n"


def test_lines_fit_a_terminal_and_leave_nothing_behind() -> None:
    for columns in (20, 40, 80, 110):
        file = Terminal()
        display = TerminalDisplay(file, lambda columns=columns: (columns, 24))
        layers = [
            {**message()["layers"][0], "name": name}
            for name in ("<load>", "sum-\u5408\u8a08-of-all-the-rows-there-are")
        ]
        for at_s in (102.0, 103.0, 104.0):
            display.show(message(at=at_s, layers=layers), 0.0, is_last=False)
        seen = file.seen(columns)
        assert sum(row.startswith("<load>") for row in seen) == 1, seen
        assert all(width(row) <= columns for row in seen)
        assert " ".join("".join(seen).split("running")[1].split()).endswith("at most")
        display.show(message("finished", layers=layers), 1.0, is_last=True)
        assert file.seen(columns)[0].startswith("done") and "running" not in "".join(file.seen(columns))


def test_of_more_lines_than_a_terminal_has_rows_the_last_are_shown() -> None:
    file = Terminal()
    layers = [{**message()["layers"][0], "name": f"layer-{number}"} for number in range(12)]
    TerminalDisplay(file, lambda: (200, 6)).show(message(layers=layers, n_layers=12), 0.0, is_last=False)
    assert [row.split(" ")[0] for row in file.seen()] == ["layer-8", "layer-9", "layer-10", "layer-11", "running", ""]


def test_what_is_printed_meanwhile_stays_above_the_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Terminal()
    streams = {name: Terminal() for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        stream.write = file.write  # type: ignore[method-assign]  # one terminal
        monkeypatch.setattr(sys, name, stream)
    display = TerminalDisplay(file)
    print("before")
    display.show(message(), 0.0, is_last=False)
    print("one\ntwo")
    sys.stderr.writelines(["three\n", "four, which goes on: "])
    display.show(message(at=103.0), 0.0, is_last=False)
    print("five")
    assert file.seen() == ["before", "one", "two", "three", "four, which goes on: ", "five", ""]
    display.show(message(at=104.0), 0.0, is_last=False)
    display.show(message("finished"), 0.0, is_last=True)
    assert [sys.stdout, sys.stderr] == list(streams.values())
    print("after")
    assert [row.partition(" ")[0] for row in file.seen()[5:]] == ["five", "done", "after", ""]


def test_a_stream_that_somebody_has_put_in_place_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    display = TerminalDisplay(Terminal())
    display.show(message(), 0.0, is_last=False)
    between, theirs = sys.stdout, io.StringIO()
    monkeypatch.setattr(sys, "stdout", theirs)
    display.close()
    assert sys.stdout is theirs
    assert between.write("goes on to the terminal") == 23
    display.show(message(), 0.0, is_last=False)
    assert sys.stdout is theirs


def test_a_log_gets_a_line_now_and_then() -> None:
    file = io.StringIO()
    display = LogDisplay(file)
    for now_s in (0.0, 1.0, LOG_EVERY_S - 0.1, LOG_EVERY_S, LOG_EVERY_S + 1):
        display.show(message(), now_s, is_last=False)
    display.show(message("failed"), LOG_EVERY_S + 2, is_last=True)
    lines = file.getvalue().splitlines()
    assert len(lines) == 3 and all("\x1b" not in line for line in lines)
    assert lines[-1].startswith("glassloom: failed · 24 of 60 tasks")


def test_a_notebook_shows_escaped_names_and_says_when_something_ran() -> None:
    running, ended = progress_html(message()), progress_html(message("finished"))
    assert "&lt;load&gt;" in running and "<load>" not in running
    assert "when shown" in running and "when shown" not in ended


def test_futures_are_shown_until_they_are_done(client: Client, tmp_path: Path) -> None:
    file = io.StringIO()
    futures = client.map(tasks.inc, range(20), pure=False)
    failed = client.submit(tasks.divide, 1, 0, pure=False)
    gl.progress([futures, failed], file=file)
    assert all(future.done() for future in (*futures, failed))
    assert "failed · 21 of 21 tasks, 1 failed" in file.getvalue()
    with pytest.raises(TypeError, match="expected futures"):
        gl.progress(3, file=file)


def test_a_block_shows_what_is_computed_in_it(client: Client) -> None:
    file = io.StringIO()
    with client.as_current(), gl.progress(file=file):
        assert gl.delayed(sum)([gl.delayed(tasks.inc)(n) for n in range(9)]).compute() == 45
    assert file.getvalue().splitlines()[-1].startswith("glassloom: done · 10 of 10 tasks")


def test_a_block_leaves_out_what_was_computed_just_before_it_however_late_messages_are(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    hear = Following.hear
    monkeypatch.setattr(Following, "hear", lambda self, at_s, now_s: hear(self, at_s, now_s + 60))
    file = io.StringIO()
    with client.as_current():
        assert gl.delayed(len)("four").compute() == 4
        pending = client.submit(tasks.inc, 1, pure=False)
        with gl.progress(file=file):
            assert client.gather(client.map(tasks.inc, range(5), pure=False)) == list(range(1, 6))
        assert pending.result() == 2
    assert file.getvalue().splitlines()[-1].startswith("glassloom: done · 5 of 5 tasks")


def test_a_block_shows_only_what_its_own_process_computes_unless_asked(client: Client) -> None:
    name, files = client.name, (io.StringIO(), io.StringIO())
    other = f"from glassloom import Client\nwith Client({name!r}) as c: assert c.submit(len, 'four').result() == 4"
    with client.as_current(), gl.progress(file=files[0]), gl.progress(file=files[1], everyone=True):
        subprocess.run([sys.executable, "-c", other], check=True, timeout=300)
        assert gl.delayed(len)("ninechars").compute() == 9
    last = [file.getvalue().splitlines()[-1].split(" · ")[1] for file in files]
    assert last == ["1 of 1 tasks", "2 of 2 tasks"]


def test_a_block_whose_thread_begins_late_ends_it_and_shows_nothing_more(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_begin, file, threads = threading.Event(), io.StringIO(), []

    def start_late(name: str, function: Callable[..., None], *args: Any, on_crash: OnCrash) -> threading.Thread:
        def run() -> None:
            may_begin.wait()
            function(*args)

        threads.append(start_thread(name, run, on_crash=on_crash))
        return threads[-1]

    monkeypatch.setattr("glassloom.notebook.progress.start_thread", start_late)
    monkeypatch.setattr("glassloom.notebook.progress.SETTLE_S", 0.01)
    with client.as_current(), gl.progress(file=file):
        assert gl.delayed(len)("four").compute() == 4
    may_begin.set()
    threads[0].join(60)
    assert not threads[0].is_alive()
    assert file.getvalue() == ""


def test_a_block_that_computes_nothing_shows_nothing(client: Client) -> None:
    file = io.StringIO()
    with client.as_current(), gl.progress(file=file):
        pass
    assert file.getvalue() == ""
