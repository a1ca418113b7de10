"""The task inspector: what is found, what is told of one task, and that it is small and true whatever is in it."""

from __future__ import annotations

import html
import math
import re
import time

import pytest
from glassloom.graph.keys import key_index
from glassloom.scheduler.layers import LayerTable
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.badge import Badge
from glassloom_dashboards.parts.strip import strip_html
from glassloom_dashboards.parts.task_links import MAX_INDEX_LENGTH, task_href
from glassloom_dashboards.views.task_detail import phase_bars
from glassloom_dashboards.views.task_facts import Phase
from glassloom_dashboards.views.task_search import MAX_GROUPS, Query, parse
from glassloom_dashboards.views.task_view import ROWS
from glassloom_metrics.protocol import (
    Action,
    DeviceTimes,
    Errors,
    Hello,
    Layers,
    Log,
    Progress,
    Runs,
    TaskEvents,
    WorkerJoined,
    WorkerLeft,
    decode,
    task_events,
)
from glassloom_metrics.recorder import Recorder
from opened_pages import FRAME_BYTES, Opened, aggregate_of, events
from synthetic import HOSTILE_NAMES, STARTED_AT_S, Shape
from test_running_tasks import running

T = STARTED_AT_S


def row(first: int, index: str, start_s: float, duration_s: float, **columns: float) -> TaskEvents:
    """Return one task event, its start in seconds after the cluster's."""
    values: dict[str, float] = {"layer": 0, "worker": 0, "lane": 0, "action": 0, "ok": 1} | columns
    return task_events(first, [index], start_s=T + start_s, duration_s=duration_s, **values)


@pytest.fixture
def aggregate() -> ClusterAggregate:
    """Return a cluster of two workers and two layers of one run, which began at 10 s; no task has begun."""
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", T))
    for worker in range(2):
        aggregate.apply(WorkerJoined(T, worker, f"w{worker}", 1, 2))
    aggregate.apply(Runs([3], ["compute"], ["import numpy\nx.sum().compute()"], ["a.ipynb"], ["c0ffee"], [""],
                         ["cell 3, line 2: x.sum().compute()"], [T + 10.0], [None], ["running"], [7], [0], [0]))  # fmt: skip
    aggregate.apply(Layers([0, 1], ["load", "sum"], [5, 2], ["cell 1, line 1: load", "cell 3"], [3, 3], [[], [0]]))
    aggregate.apply(Progress(T + 10.0, [0, 1], [0, 2], [5, 0], [0, 0], [0, 0], [0, 0], [0, 0]))
    return aggregate


def words(page: Opened) -> str:
    """Return the text that is shown."""
    html = re.sub(r"<[^>]*>", " ", page.card("task").view.text)
    return " ".join(html.replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">").split())


def ask(page: Opened, action: str, value: str = "") -> str:
    """Ask for something as a browser does, and return the text that is shown then."""
    page.card("task").view.asked.tags = [int(page.now_s), action, value]
    page.update()
    return words(page)


def links(page: Opened) -> list[str]:
    return re.findall(r'href="([^"]*)"', page.card("task").view.text)


def test_a_task_tells_where_its_time_went_and_why_it_waited(aggregate):
    aggregate.apply(row(0, "0", 10.5, 1.0, worker=1, nbytes=2**20, ready_wait_s=0.1, sent_wait_s=0.01, bytes_in=0))
    aggregate.apply(
        row(1, "0", 12.0, 2.0, layer=1, lane=1, nbytes=8, ready_wait_s=0.3, sent_wait_s=0.2, fetch_s=0.4,
            deserialise_s=0.1, cpu_s=0.6, bytes_in=2**20, last_input=1)
    )  # fmt: skip
    text = ask(Opened("task", aggregate), "open", "1:0")
    assert "sum[0] finished" in text and "Built at cell 3 Run 3, compute: x.sum().compute()" in text
    assert "finished attempt 1 w0, thread 1 began" in text and "2 s 600 ms on the CPU" in text
    parts = ("waited for its inputs 1.5 s (drawn shorter) ready, waited for a worker 300 ms sent, in the worker's queue 200 ms "
             "got its inputs 400 ms unpickled its inputs 100 ms ran, on the CPU 600 ms ran, off the CPU 900 ms")  # fmt: skip
    assert parts in text
    assert (
        "It was ready 1.5 s after its run began. It then waited 300 ms for a worker that was free. It was 200 ms on the "
        "way to w0 and in its queue. Getting and unpickling its inputs of 1.00 MiB took 500 ms. It was on the CPU for 30%"
    ) in text
    assert "The last to come was load[0] : it ended on w1 500 ms before this task began, after 1 s, and is" in text
    first = Opened("task", aggregate)
    text = ask(first, "open", "0:0")
    assert "It has no inputs that tasks have made." in text and "It was the last input of sum[0] ." in text
    assert links(first) == ["task?open=1%3A0"]


def test_time_on_the_device_is_told_when_it_is_known_also_after_rows_were_lost(aggregate):
    aggregate.apply(row(0, "0", 10.5, 1.0))
    aggregate.apply(row(5, "1", 11.0, 0.25))
    page = Opened("task", aggregate)
    text = ask(page, "open", "0:1")
    assert "on the device" not in text and "On devices" not in text
    aggregate.apply(DeviceTimes(T + 12.0, 3.0, [0, 5], [0, 0], [1.5, 0.5]))
    page.update()
    text = words(page)
    assert "250 ms 500 ms on the device" in text, "it may end after the task"
    assert "On devices, its layer's tasks 2 s in all, of 2 measured" in text
    assert "on the device" not in ask(page, "open", "0:0"), "its row may be another's by now: rows were lost"


def test_a_task_that_was_sent_ahead_waited_for_its_input_and_not_in_the_queue(aggregate):
    aggregate.apply(row(0, "0", 10.0, 5.0))
    aggregate.apply(row(1, "0", 15.5, 1.0, layer=1, ready_wait_s=0.0, sent_wait_s=4.0, last_input=1))
    text = ask(Opened("task", aggregate), "open", "1:0")
    assert "sent, in the worker's queue 500 ms" in text
    assert "It was sent to w0 3.5 s ahead of its inputs, to begin at once. It was 500 ms on the way" in text


def test_what_is_not_told_is_said_not_to_be_known(aggregate):
    aggregate.apply(row(0, "0", 10.5, 1.0))
    text = ask(Opened("task", aggregate), "open", "0:0")
    assert "What it waited for isn't told of tasks of this cluster." in text
    assert "ran 1 s" in text and "on the CPU" not in text and "Size of its" not in text
    assert "Nothing that is still kept." in text


def test_a_task_without_rows_is_told_as_what_it_can_be(aggregate):
    page = Opened("task", aggregate)
    said = "It has not run yet, as far as is known. Of its layer's tasks, 2 wait for inputs, 0 for a worker, and 0 run."
    assert f"sum[9] waiting {said}" in ask(page, "open", "1:9")
    assert "unknown layer[9] unknown This cluster has told of no such layer." in ask(page, "open", "77:9")
    aggregate.apply(Progress(T + 11.0, [1], [0], [0], [0], [0], [0], [0]))
    assert "No row tells of it." in ask(page, "open", "1:9")
    aggregate.apply(row(500, "0", 10.5, 1.0))
    assert "The oldest 500 rows are no longer kept; it may be in them." in ask(page, "open", "1:9")
    aggregate.apply(Runs([3], ["compute"], [""], [""], [""], [""], [""], [T], [T + 1], ["cancelled"], [7], [0], [0]))
    assert "cancelled It has not run; its run was cancelled." in ask(page, "open", "1:9")


def test_a_task_is_followed_from_running_over_its_worker_s_death_to_its_second_attempt(aggregate):
    aggregate.apply(running(11.0, (1, 0, 0, "4", 10.5)))
    page = Opened("task", aggregate)
    assert "load[4] running It has run for 500 ms." in ask(page, "open", "0:4")
    aggregate.apply(running(12.0, (1, 0, 0, "4", 10.5)))
    page.update()
    assert "It has run for 1.5 s." in words(page) and "has run 1.5 s" in words(page)
    assert page.update() == 0, "it runs for as long as it was told, not for ever"
    aggregate.apply(WorkerLeft(T + 12.5, 1, "killed by SIGKILL"))
    page.update()
    assert "load[4] lost with its worker Its worker left while it ran. It runs again elsewhere" in words(page)
    aggregate.apply(row(0, "4", 13.0, 1.0, attempt=2, ready_wait_s=0.1, sent_wait_s=0.0))
    page.update()
    assert re.search("finished .* Attempts lost with its worker attempt 1 w1, .* finished attempt 2 w0,", words(page))
    assert "after its run began" not in words(page), "a second attempt was not asked for then"
    aggregate.apply(running(20.0, (0, 0, 0, "3", 19.0)))
    aggregate.end("its process has ended")
    assert "load[3] interrupted It ran when the cluster ended" in ask(page, "open", "0:3")


def test_a_result_is_where_it_was_put_and_read(aggregate):
    aggregate.apply(row(0, "0", 10.0, 1.0, nbytes=2**20))
    counts = [[0], [4], [0], [1], [0], [0]]
    aggregate.apply(Progress(T + 11.0, [0], *counts))
    page = Opened("task", aggregate)
    assert "Its result is held by w0." in ask(page, "open", "0:0")
    aggregate.apply(row(1, "0", 11.0, 0.1, lane=65532, action=Action.DEVICE_TO_HOST, nbytes=2**20))
    page.update()
    assert "held on the host, where w0 has moved it from its device" in words(page)
    aggregate.apply(row(2, "0", 11.1, 0.1, lane=65535, action=Action.SERIALISE, nbytes=2**20))
    aggregate.apply(row(3, "0", 11.3, 0.1, worker=1, lane=65533, action=Action.TRANSFER, nbytes=2**20, producer=0))
    page.update()
    assert "held in shared memory, where w0 has put it; 1 other worker has read it." in words(page)
    assert re.search(r"publish to other processes w0 [\d:]+ 100 ms 1.00 MiB transfer w1 w0 [\d:]+ 100 ms", words(page))
    aggregate.apply(row(4, "0", 12.0, 0.1, lane=65534, action=Action.SPILL_WRITE))
    page.update()
    assert "held on disk, by w0" in words(page)
    aggregate.apply(Progress(T + 13.0, [0], [0], [2], [0], [1], [2], [0]))
    page.update()
    assert "Of the 3 results of its layer 1 are still held; which ones isn't told." in words(page)
    aggregate.apply(Progress(T + 14.0, [0], [0], [2], [0], [0], [3], [0]))
    page.update()
    assert "Its result is no longer held" in words(page)


def test_a_failed_task_shows_the_traceback_and_what_was_printed_on_its_worker_meanwhile(aggregate):
    aggregate.apply(row(0, "1", 10.0, 1.0, ok=0))
    aggregate.apply(row(1, "2", 11.0, 1.0, ok=0))
    for at_s, worker, text in ((10.5, 0, "mine"), (10.6, 1, "another worker's"), (30.0, 0, "later")):
        aggregate.apply(Log(T + at_s, worker, "stdout", text))
    page = Opened("task", aggregate)
    assert "This attempt has failed; the cluster may try again." in ask(page, "open", "0:1")
    keys = ["('load-0011223344556677', 1)", "('load-0011223344556677', 2)"]
    aggregate.apply(
        Errors([5], [0], ["ValueError"], ["bad <b>"], ["Traceback\n  here"], [0], [""], [2], [T], [T], [keys])
    )
    text = ask(page, "open", "0:1")
    assert "It has failed for good." in text and "ValueError: bad <b> Traceback here" in text
    assert "stdout mine" in text and "another worker's" not in text and "later" not in text
    assert "Other tasks that ran there meanwhile may have printed some of it." in text
    text = ask(page, "open", "0:2")
    assert "ValueError: bad <b> It failed as another task did first, whose traceback this is. Traceback here" in text


def test_a_failure_of_a_run_that_has_ended_is_for_good_even_if_no_error_names_the_task(aggregate):
    aggregate.apply(row(0, "1", 10.0, 1.0, ok=0))
    page = Opened("task", aggregate)
    assert "the cluster may try again" in ask(page, "open", "0:1")
    aggregate.apply(
        Runs([3], ["compute"], ["x"], [""], [""], [""], [""], [T + 10.0], [T + 12.0], ["failed"], [7], [6], [1])
    )
    text = ask(page, "open", "0:1")
    assert "It has failed for good." in text and "try again" not in text


def test_a_failure_beyond_the_listed_keys_is_for_good_if_no_attempt_was_followed_by_another(aggregate):
    for number in range(3):
        aggregate.apply(row(number, str(number), 10.0 + number, 1.0, ok=0))
    keys = ["('load-0011223344556677', 0)"]

    def told(count: int, worker: int) -> None:
        aggregate.apply(
            Errors([5], [0], ["ValueError"], ["bad"], ["Traceback"], [worker], [""], [count], [T], [T], [keys])
        )

    page = Opened("task", aggregate)
    told(3, 0)
    assert "It has failed for good." in ask(page, "open", "0:2")
    for count, worker in ((2, 0), (3, -1)):
        told(count, worker)
        text = ask(page, "open", "0:2")
        assert "Whether it is tried again isn't told" in text and "for good." not in text, "one may be tried again"


def test_a_task_that_was_submitted_by_itself_does_not_wait_since_its_run_began(aggregate):
    aggregate.apply(Runs([3], ["submit"], ["x"], [""], [""], [""], [""], [T], [None], ["running"], [7], [0], [0]))
    aggregate.apply(row(0, "1", 10.0, 1.0, ready_wait_s=0.0, sent_wait_s=0.0, bytes_in=0))
    text = ask(Opened("task", aggregate), "open", "0:1")
    assert "It has no inputs" in text and "after its run began" not in text and "waited for its inputs" not in text


def test_lines_that_tell_of_their_task_are_shown_with_it_alone(aggregate):
    aggregate.apply(row(0, "1", 10.0, 1.0))
    aggregate.apply(Log(T + 10.5, 0, "stdout", "its own", 0, "1"))
    aggregate.apply(Log(T + 10.5, 0, "stdout", "another thread's", 0, "2"))
    aggregate.apply(Log(T + 5.0, 0, "stdout", "an earlier attempt's", 0, "1"))
    text = ask(Opened("task", aggregate), "open", "0:1")
    assert "stdout its own" in text and "another thread" not in text and "earlier attempt's" not in text
    assert "may have printed" not in text
    logs = Opened("logs", aggregate).card("logs").view.text
    assert logs.count('href="task?open=0%3A1"') == 2 and 'href="task?open=0%3A2"' in logs


def test_tasks_are_found_by_key_by_part_of_it_and_by_layer(aggregate):
    for number in range(120):
        aggregate.apply(row(number, f"{number // 10}, {number % 10}", 10.0 + number, 1.0, layer=number % 2))
    aggregate.apply(running(200.0, (0, 0, 1, "11, 99", 150.0)))
    page = Opened("task", aggregate)
    assert "120 tasks have run" in words(page)
    assert words(page).index("Running sum[11, 99]") < words(page).index("Ended last sum[11, 9]")
    text = ask(page, "search", "SUM")
    assert "1 layer with such tasks" in text and "sum 2 tasks · run 3 · cell 3 More of them sum[11, 99]" in text
    text = ask(page, "search", "load[4, 2]")
    assert links(page) == ["task?open=0%3A4%2C%202"] and "load[4, 2] finished w0 1 s" in text
    ask(page, "search", "('sum-0011223344556677', 4, 3)")
    assert links(page) == ["task?open=1%3A4%2C%203"]
    ask(page, "search", "1, 9")
    assert links(page) == [f"task?open=1%3A{index}" for index in ("11%2C%2099", "11%2C%209", "1%2C%209")]
    assert "No task matches." in ask(page, "search", "no such")
    ask(page, "search", "")
    text = ask(page, "layer", "1")
    assert f"1–{ROWS} of 60" in text and len(links(page)) == ROWS
    ask(page, "page", "next")
    assert links(page)[-1] == "task?open=1%3A0%2C%201" and len(links(page)) == 10
    assert "More of them" not in ask(page, "search", "11, 9")
    assert "More of them" in ask(page, "search", "2, ")
    ask(page, "layer", "1")
    assert len(links(page)) == 5, "of this layer, those with the rest of the key: it has no such name"
    ask(page, "search", "sum[9, ")
    ask(page, "layer", "1")
    assert len(links(page)) == 5, "of this layer, those with the rest of the key"


KEYS = [
    "load-2024",
    "load-2025",
    "a-b-c",
    "x-",
    "x",
    "drop--",
    "-y",
    "flaky-1",
    "a[3]",
    ("x", 1),
    ("sum-0011223344556677", "part", 3),
]


@pytest.mark.each_choice
@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("key", KEYS)
def test_each_task_is_found_by_its_own_key_and_its_page_shows_it(key, is_told):
    """Of clusters that don't tell the layers' prefixes too, if only among others."""
    recorder = Recorder(Hello(2, "c1", "demo", "threads", T))
    layers = LayerTable()
    for number, one in enumerate(KEYS):
        layer = layers.of(one, None)
        told = {"prefix": layer.name, "is_tuple": layer.is_tuple} if is_told else {}
        recorder.add_layer(layer.number, layer.label, 1, "", **told)
        recorder.add_task(
            key_index(one), layer=layer.number, worker=0, lane=0, start_s=T + number, stop_s=T + number + 1
        )
    recorder.flush(now_s=T)
    aggregate = ClusterAggregate()
    for message in map(decode, recorder.read(0, limit=100)[0]):
        aggregate.apply(message)
    page = Opened("task", aggregate)
    href = task_href(layers.of(key, None).number, key_index(key))
    for text in [repr(key)] if isinstance(key, tuple) else [key, repr(key)]:
        ask(page, "search", text)
        assert href in links(page)
        assert not is_told or text != repr(key) or links(page) == [href]
    if is_told:
        assert f"Key {key!r} " in html.unescape(ask(page, "open", f"{layers.of(key, None).number}:{key_index(key)}"))


def test_the_latest_error_leads_to_its_task(aggregate):
    aggregate.apply(Layers([5], ["flaky"], [1], [""], [3], [[]], ["flaky"], [0]))
    aggregate.apply(Errors([0], [5], ["ValueError"], ["bad"], [""], [0], [""], [1], [T], [T], [["'flaky-1'"]]))
    strip = strip_html(aggregate, Badge("live", "live"), full=True)
    assert '<a href="task?open=5%3A1">&#39;flaky-1&#39;</a>' in strip


def test_an_address_opens_a_task_or_a_search_and_waits_for_a_row_that_has_not_come(aggregate):
    page = Opened("task", aggregate)
    page.view.go_to({"open": "1:0", "theme": "dark"})
    page.card("task").forget()
    page.update()
    assert "sum[0] waiting" in words(page)
    page.view.go_to({"search": "load"})
    page.card("task").forget()
    page.update()
    assert 'value="load"' in page.card("task").view.text and "load 5 tasks" in words(page)
    page.view.go_to({"open": "row:0"})
    aggregate.apply(row(0, "x" * MAX_INDEX_LENGTH + "y", 10.0, 1.0))
    page.update()
    assert "xxy] finished" in words(page)
    for value in ("nothing", "9" * 30 + ":1", "row:x", "row:5", ":", "-1:2", "１:2"):
        assert "Ended last" in ask(page, "open", value), value


def test_several_layers_of_one_name_are_listed_newest_first_and_not_too_many(aggregate):
    ids = list(range(100, 200))
    aggregate.apply(Layers(ids, ["many"] * 100, [1] * 100, [""] * 100, [3] * 100, [[]] * 100))
    for number, layer in enumerate(ids):
        aggregate.apply(row(number, "7", 10.0, 1.0, layer=layer))
    page = Opened("task", aggregate)
    text = ask(page, "search", "many[7]")
    assert f"the newest {MAX_GROUPS} layers with such tasks" in text
    assert links(page) == [f"task?open={layer}%3A7" for layer in range(199, 199 - MAX_GROUPS, -1)]


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "😀" * 3000, "<&'\">" * 800, "x" * 30_000])
def test_whatever_tasks_are_called_it_stays_text_and_frames_stay_small(name):
    aggregate = aggregate_of(Shape(workers=2, tasks=0))
    ids = list(range(40))
    aggregate.apply(Layers(ids, [f"{name}{n}" for n in ids], [5] * 40, [name] * 40, [3] * 40, [[]] * 40))
    aggregate.apply(Runs([3], [name], [name], [name], [name], [name], [name], [T], [None], [name], [7], [0], [0]))
    for number in range(200):
        link = {"last_input": 1} if number else {}
        aggregate.apply(row(number, name, number / 10, 0.1, layer=number % 40, ok=number % 3 > 0, **link))
    texts = [f"{name}{n}" for n in range(50)]
    aggregate.apply(running(50.0, *((0, n, 1, text, 1.0) for n, text in enumerate(texts))))
    aggregate.apply(Errors([1], [1], [name], [name], [name], [0], [name], [2], [1.0], [1.0], [[name] * 10]))
    for _ in range(100):
        aggregate.apply(Log(T + 4.1, 0, "stdout", name))
    page = Opened("task", aggregate)
    for action, value in (("search", name[:100]), ("search", f"{name[:50]}["), ("layer", "1"), ("open", "row:41")):
        ask(page, action, value)
        html = page.card("task").view.text
        assert "<img" not in html and "<script" not in html
    assert "attempt" in words(page)
    assert max(page.frames) <= FRAME_BYTES
    assert page.update() == 0, "nothing is sent twice"


def test_a_million_tasks_are_searched_in_no_time():
    aggregate = aggregate_of(Shape(workers=4, threads=4, tasks=10**6, layers=40))
    page = Opened("task", aggregate)
    for text in ("sum", "99999, 3", "no such key at all", "add[5", "sum[99999, 9]", "7"):
        began_s = time.process_time()
        ask(page, "search", text)
        assert time.process_time() - began_s < 0.3, text  # a tenth of that on an idle machine
    ask(page, "search", "99999, 3")
    (link,) = links(page)
    began_s = time.process_time()
    assert "[99999, 3] finished" in ask(
        page, "open", link.partition("=")[2].replace("%3A", ":").replace("%2C%20", ", ")
    )
    assert time.process_time() - began_s < 0.3


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("  ", None),
        ("sum", Query("sum", "sum", "either")),
        ("sum[", Query("sum", "", "part")),
        ("('a', " * 500, Query("('a', " * 500, "('a', " * 500, "either")),
        ("'x'", Query("x", "", "key")),
        ("(1, 2)", Query("(1, 2)", "(1, 2)", "either")),
    ],
)
def test_what_is_typed_means_a_key_a_part_or_either(text, query):
    assert parse(text) == (query and Query(query.name.strip(), query.index.strip(), query.kind))


def test_a_bar_s_parts_add_up_and_the_wait_for_inputs_takes_at_most_a_third():
    bars = phase_bars([Phase("inputs", "", 3600.0), Phase("cpu", "", 0.1), Phase("off", "", 0.3)])
    assert [bar["share"] for bar in bars] == ["300.0", "175.0", "525.0"] and bars[0]["is_cut"]
    assert [bar["share"] for bar in phase_bars([Phase("inputs", "", 5.0)])][0] != "nan"
    assert phase_bars([]) == []
    assert math.isclose(sum(float(str(bar["share"])) for bar in bars), 1000.0)


def test_a_page_of_a_cluster_without_tasks_says_what_it_waits_for():
    opened = Opened("task", ClusterAggregate())
    assert "No tasks yet" in opened.card("task").empty.text
    assert events(0, [(0.0, 1.0)]).first == 0
