"""The page of workers: the table, one worker's life, also after its death, and that it is small whatever is in it."""

from __future__ import annotations

import re

import msgspec
import pytest
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.views.workers_view import ROWS
from glassloom_metrics.protocol import Errors, Log, WorkerJoined, WorkerLeft, WorkerSamples
from opened_pages import FRAME_BYTES, Opened, aggregate_of, events
from synthetic import HOSTILE_NAMES, MIB, STARTED_AT_S, Shape
from test_running_tasks import running


def rows(page: Opened) -> list[str]:
    """Return the numbers of the workers in the table."""
    return re.findall(r'<tr class="row[^>]*data-key="(\d+)"', page.card("workers").view.text)


def words(page: Opened) -> str:
    """Return the text that is shown."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.card("workers").view.text).split())


def ask(page: Opened, action: str, value: str = "") -> str:
    """Ask for something as a browser does, and return the text that is shown then."""
    page.card("workers").view.asked.tags = [int(page.now_s), action, value]
    page.update()
    return words(page)


def sample(at_s: float, workers: list[int], *, pressure: int = 0, executing: int = 0) -> WorkerSamples:
    """Return a sample in which the workers hold 100 MiB for each of their number."""
    count = len(workers)
    managed = [100 * MIB * worker for worker in workers]
    return WorkerSamples(
        STARTED_AT_S + at_s, workers, [float(worker) for worker in workers], managed, managed, [0] * count,
        [worker * MIB for worker in workers], [executing] * count, [0] * count, managed, [MIB] * count,
        [pressure] * count,
    )  # fmt: skip


def cluster(count: int) -> ClusterAggregate:
    return aggregate_of(Shape(workers=count, threads=2, tasks=0))


def test_a_long_name_keeps_the_end_in_which_workers_differ():
    aggregate = aggregate_of(Shape(workers=1, tasks=0))
    aggregate.apply(WorkerJoined(STARTED_AT_S, 7, "node-000.cluster.example.org-worker-7", 1, 2))
    shown = Opened("workers", aggregate).card("workers").view.text
    assert (
        ">w0</button>" in shown and '<span class="ends">node-000.cluster.example.org-</span>worker-7</button>' in shown
    )


def test_five_hundred_workers_are_shown_a_page_at_a_time_sorted_and_found_by_name():
    aggregate = cluster(500)
    aggregate.apply(sample(50.0, list(range(500))))
    page = Opened("workers", aggregate)
    assert rows(page) == [str(n) for n in range(ROWS)]
    assert "500 here" in words(page) and "1–50 of 500" in words(page)
    ask(page, "page", "next")
    assert rows(page)[0] == str(ROWS)
    ask(page, "sort", "memory")
    assert rows(page)[:2] == ["499", "498"], "the largest first, on the first page"
    assert 'aria-sort="descending"' in page.card("workers").view.text
    ask(page, "sort", "memory")
    assert rows(page)[:2] == ["0", "1"]
    assert "1 of 500 match" in ask(page, "search", "W321")
    assert rows(page) == ["321"]
    assert max(page.frames) <= FRAME_BYTES


def test_a_row_and_the_page_of_a_worker_say_how_full_its_device_is():
    aggregate = cluster(1)
    assert "Device" not in words(Opened("workers", aggregate))
    for worker in (1, 2):
        name = HOSTILE_NAMES[0] if worker == 2 else "NVIDIA H200"
        aggregate.apply(
            WorkerJoined(
                STARTED_AT_S, worker, f"w{worker}", 1, 1, None, [f"GPU-{worker}"], 0, [name], [400 * MIB], [300 * MIB]
            )
        )
    held = sample(50.0, [0, 1, 2])
    columns = {"held": [0, 100, 0], "used": [0, 120, 0], "pool": [0, 200, 0], "other": [0, 60, 0], "moved": [0, 7, 0]}
    device = {f"device_{name}_bytes": [MIB * nbytes for nbytes in values] for name, values in columns.items()}
    for at_s in (50.0, 51.0):
        aggregate.apply(msgspec.structs.replace(held, at_s=STARTED_AT_S + at_s, **device))
    page = Opened("workers", aggregate)
    assert "100 MiB of 400 MiB NVIDIA H200" in words(page)
    shown = page.card("workers").view.text
    assert "held 100 MiB, allocated 100 MiB, others 60.0 MiB, of 400 MiB; 7.00 MiB moved to the host" in shown
    assert '<i class="device" style="width:25.0%"></i><i class="unmanaged" style="width:25.0%">' in shown
    assert '<b style="left:75.0%">' in shown
    ask(page, "sort", "device")
    assert rows(page)[0] == "1"
    opened = ask(page, "open", "1")
    for fact in (
        "Device NVIDIA H200",
        "Device UUID GPU-1",
        "Results on the device 100 MiB",
        "Taken by other processes 60.0 MiB",
    ):
        assert fact in opened
    assert "Moved from the device to the host" in opened


def test_a_row_says_how_a_worker_is():
    aggregate = cluster(3)
    aggregate.apply(sample(50.0, [0], executing=1))
    aggregate.apply(sample(50.0, [1], pressure=2))
    aggregate.apply(sample(50.0, [2], pressure=1))
    aggregate.apply(events(0, [(0.0, 1.0), (1.0, 2.0)]))
    aggregate.apply(events(2, [(2.0, 3.0)], ok=0))
    page = Opened("workers", aggregate)
    assert "w0 busy 1 of 2 0 % 1.00 MiB of 4.00 GiB 2 w1 paused 0 of 2 1 % 101 MiB of 4.00 GiB 1.00 MiB" in words(page)
    assert "w2 high memory" in words(page)
    assert 'aria-label="managed 100 MiB, unmanaged 1.00 MiB, shared 0 B"' in page.card("workers").view.text


def test_a_dead_worker_tells_why_it_left_what_it_did_last_and_what_it_said():
    aggregate = cluster(2)
    for at_s in range(50, 60):
        aggregate.apply(sample(at_s, [0, 1]))
    aggregate.apply(events(0, [(n, n + 0.5) for n in range(20)]))
    aggregate.apply(Log(STARTED_AT_S + 9, 0, "stderr", "out of memory"))
    texts = ["MemoryError"], ["too large"], ["Traceback"]
    aggregate.apply(Errors([1], [0], *texts, [0], [""], [2], [1.0], [1.0], [["key"]]))
    aggregate.apply(WorkerLeft(STARTED_AT_S + 60, 0, "killed by signal 9"))
    page = Opened("workers", aggregate)
    assert rows(page) == ["1", "0"] and "left killed by signal 9" in words(page)
    text = ask(page, "open", "0")
    assert "killed by signal 9" in text and "Was there for 1 min 00 s" in text
    assert "Memory managed unmanaged shared limit" in text and "CPU, 100 % is one core" in text
    assert "unknown layer[19]" in text and "unknown layer[7]" not in text
    assert "out of memory" in text
    assert "Errors that came here first unknown layer, 2 times: MemoryError: too large" in text
    html = page.card("workers").view.text
    assert re.search(
        r'aria-label="Memory: last 1.00 MiB \(managed 0 B, unmanaged 1.00 MiB, shared 0 B\), at most', html
    )
    assert rows(page) == []
    ask(page, "close")
    assert rows(page) == ["1", "0"]


def test_what_a_worker_runs_and_what_it_ran_when_it_died_leads_to_the_tasks():
    aggregate = cluster(2)
    aggregate.apply(running(50.0, (0, 1, 7, "3, 4", 20.0), (0, 0, 7, HOSTILE_NAMES[0], 48.0), (1, 0, 7, "9", 1.0)))
    aggregate.apply(events(0, [(0.0, 1.0)]))
    page = Opened("workers", aggregate)
    text = ask(page, "open", "0")
    assert re.search(r"What it runs .* unknown layer\[3, 4\] 1 30 s .* unknown layer\[&lt;img.*\] 0 2 s Last", text)
    aggregate.apply(WorkerLeft(STARTED_AT_S + 60, 0, "killed by signal 9"))
    page.update()
    text = words(page)
    assert re.search(r"What it ran when it left .* unknown layer\[3, 4\] 1 40 s .* unknown layer\[&lt;img", text)
    html = page.card("workers").view.text
    assert 'href="task?open=7%3A3%2C%204"' in html and 'href="task?open=0%3A0"' in html and "<img" not in html


def test_a_worker_without_samples_tasks_or_lines_has_a_page_too():
    aggregate = ClusterAggregate()
    aggregate.apply(WorkerJoined(STARTED_AT_S, 3, "late", 77, 4))
    page = Opened("workers", aggregate)
    assert "late not measured yet 4 0" in words(page)
    text = ask(page, "open", "3")
    assert "No samples yet. What it runs Not known: no task of this cluster has run for 50 ms yet." in text
    assert "Last lines of its log It has logged nothing. Last tasks It has ended none." in text
    assert "Memory limit none" in text
    assert "late not measured" in ask(page, "open", "99"), "the table, as there is no such worker"


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "😀" * 3000, "<&'\">" * 800])
def test_whatever_workers_are_called_it_stays_text_and_frames_stay_small(name):
    aggregate = ClusterAggregate()
    for worker in range(120):
        aggregate.apply(WorkerJoined(STARTED_AT_S, worker, f"{worker}{name}", 1, 1, 2**30))
    for number in range(100):
        aggregate.apply(sample(number, list(range(120))))
        aggregate.apply(Log(STARTED_AT_S, 3, name[:20], name))
    for worker in range(20):
        aggregate.apply(WorkerLeft(STARTED_AT_S, worker, name))
    aggregate.apply(events(0, [(n, n + 1) for n in range(20)]))
    page = Opened("workers", aggregate)
    for action, value in (("sort", "tasks"), ("open", "3"), ("close", ""), ("open", "50")):
        ask(page, action, value)
        text = page.card("workers").view.text
        assert "<img" not in text and "<script" not in text
    assert max(page.frames) <= FRAME_BYTES
    assert page.update() == 0, "nothing is sent twice"
