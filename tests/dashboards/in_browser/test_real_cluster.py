"""Pages of a real cluster in a real browser: nothing here is told by hand, also while the cluster is idle or stopped."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator

import pytest
from browsing import Site, open_site, open_tab, open_tab_of, stopped
from glassloom import Client, LocalCluster, config
from glassloom.errors import WorkerLost
from glassloom_metrics.registry import find_record
from page_waits import wait_for_value
from playwright.sync_api import expect

BADGE = "() => Bokeh.documents[0]?.get_model_by_name('strip')?.text.match(/class=\"badge[^>]*>([^<]*)</)?.[1]"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Return a cluster with a registry and a short folder of its own."""
    base = tempfile.mkdtemp(prefix="gl-", dir="/tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", f"{base}/rt")
        patch.setenv("TMPDIR", base)
        patch.setattr(tempfile, "tempdir", None)
        patch.setenv("GLASSLOOM_THREADS__PUBLISH", "false")
        config.refresh()
        with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="1GB", name="real") as cluster:
            yield cluster
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="module")
def site(browser, cluster) -> Iterator[Site]:
    """Return a dashboards process that has let the browser in and finds the cluster."""
    with open_site(browser) as site:
        yield site


@pytest.fixture
def tab(site) -> Iterator[object]:
    """Return the status page of the cluster."""
    with open_tab_of(site) as tab:
        tab.goto(f"{tab.base}/{find_record('real').id}/status")
        wait_for_badge(tab, "live")
        yield tab


def wait_for_badge(tab, words: str) -> None:
    tab.wait_for_function(f"() => ({BADGE})()?.startsWith({words!r})")


@pytest.mark.fault("a cluster is idle")
def test_an_idle_cluster_shows_what_its_workers_do_and_how_many_there_are(tab, cluster):
    history = "Bokeh.documents[0].get_model_by_name('workers-cpu-history-source').get_length()"
    tab.wait_for_function(f"() => {history} > 0")
    samples = tab.evaluate(history)
    tab.wait_for_function(f"() => {history} > {samples + 3}")
    cluster.scale(3)
    tab.wait_for_function("() => Bokeh.documents[0].get_model_by_name('workers-memory-source').get_length() == 3")
    cluster.scale(2)
    tab.wait_for_function("() => Bokeh.documents[0].get_model_by_name('workers-memory-source').get_length() == 2")
    wait_for_value(tab, BADGE, "live")


@pytest.mark.fault("a head is stopped (SIGSTOP) while it is viewed, and continued")
def test_a_cluster_whose_head_is_stopped_is_not_called_live(tab, cluster):
    with stopped(find_record("real").pid):
        wait_for_badge(tab, "last heard ")
        first = tab.evaluate(f"({BADGE})()")
        tab.wait_for_function(f"() => ({BADGE})() != {first!r}")
        expect(tab.locator("#lost")).to_be_hidden()  # it is the cluster, not the dashboards
    wait_for_badge(tab, "live")


@pytest.mark.long
@pytest.mark.fault("a head is stopped (SIGSTOP) while it is viewed, and continued")
def test_a_page_opened_while_the_head_is_stopped_says_that_it_gets_no_answer(browser, cluster):
    record = find_record("real")
    with stopped(record.pid), open_tab(browser) as tab:
        tab.goto(f"{tab.base}/{record.id}/status")
        wait_for_badge(tab, "no answer for ")


@pytest.mark.long
@pytest.mark.fault("the dashboards process is stopped (SIGSTOP), and continued soon")
def test_dashboards_that_stood_still_blame_no_cluster(tab):
    tab.evaluate(
        f"""() => {{
          window.badges = []
          Bokeh.documents[0].get_model_by_name('strip').properties.text.change.connect(
            () => window.badges.push(({BADGE})()))
        }}"""
    )
    with stopped(tab.process.pid):
        tab.wait_for_function("() => document.getElementById('lost').textContent.includes('are not responding')")
        time.sleep(2)  # held still on purpose, for longer than a silent cluster is called live
    tab.wait_for_function("() => document.getElementById('lost').hidden")
    samples = "Bokeh.documents[0].get_model_by_name('workers-cpu-history-source').get_length()"
    before = tab.evaluate(samples)
    tab.wait_for_function(f"() => {samples} > {before}")
    assert set(tab.evaluate("window.badges")) <= {"live"}


def test_tasks_arrive_while_they_run(tab, cluster):
    with Client(cluster, set_as_default=False) as client:
        for future in client.map(abs, range(-20, 0)):
            future.result(timeout=60)
        tab.wait_for_function("() => Bokeh.documents[0].get_model_by_name('task-stream-total').data.tasks[0] == 20")


def fail_on_three(number: int) -> int:
    print("number", number)
    if number == 3:
        raise ValueError("three is bad")
    return number


def wait_for_file(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.05)


def die_when_told(path: str) -> None:
    """Print a line, and kill the worker once there is a file of this name."""
    print("last words", flush=True)
    wait_for_file(path)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.fault("a worker is killed while it is viewed")
def test_runs_lines_errors_and_the_death_of_a_worker_are_told(tab, cluster, tmp_path):
    page = tab.url.removesuffix("/status")
    with Client(cluster, set_as_default=False) as client:
        futures = client.map(fail_on_three, range(5))
        with pytest.raises(ValueError, match="three is bad"):
            client.gather(futures)
        tab.goto(f"{page}/runs")
        row = tab.locator("tr.row", has_text="fail_on_three")
        row.get_by_text("failed", exact=True).wait_for()
        expect(row).to_contain_text("4 / 5, 1 failed")
        row.locator("button").first.click()
        tab.locator("tr.detail", has_text="Held at most").get_by_text("4 / 5").wait_for()

        tab.goto(f"{page}/logs")
        tab.locator(".line.stdout", has_text="number 3").wait_for()
        tab.get_by_role("button", name="ValueError: three is bad").click()
        tab.locator("pre", has_text="fail_on_three").wait_for()

        dying = client.submit(die_when_told, str(tmp_path / "go"), retries=0)
        worker = tab.locator(".line.stdout", has_text="last words").locator(".who").inner_text()
        (tmp_path / "go").touch()  # the task is tried on other workers too, and ends them before their lines are read
        with pytest.raises(WorkerLost):
            dying.result(timeout=60)
        tab.goto(f"{page}/workers")
        dead = tab.locator("tr.gone", has_text="killed by SIGKILL").filter(has_text=worker)
        dead.locator("button").press("Enter")  # no click: rows move when the next worker joins
        tab.get_by_text("Was there for").wait_for()
        tab.locator(".line", has_text="last words").wait_for()
        expect(tab.get_by_role("img", name="Memory: last")).to_have_count(1)


def one_of(path: str, results: list[bytes]) -> int:
    """Wait until there is a file of this name; whoever waits for this task sees it run."""
    print("waiting for the file")
    wait_for_file(path)
    return len(results)


RUNNING = "[...(Bokeh.documents[0]?.get_model_by_name('task-stream-running-source')?.data.ends ?? [])].filter(end => end === 0).length"


def test_a_task_is_told_of_while_it_runs_and_after_its_end_with_what_it_waited_for(tab, cluster, tmp_path):
    page = tab.url.removesuffix("/status")
    with Client(cluster, set_as_default=False) as client:
        parts = client.map(bytes, [300_000] * 4)
        future = client.submit(one_of, str(tmp_path / "go"), parts)
        tab.wait_for_function(f"() => {RUNNING} === 1")
        tab.goto(f"{page}/task?search=one_of")
        tab.locator("tr.row", has_text="running").locator("a").click()
        tab.get_by_text("It has run for").wait_for()
        tab.locator(".line.stdout", has_text="waiting for the file").wait_for()
        (tmp_path / "go").touch()
        assert future.result(timeout=60) == 4
        tab.get_by_text("Its result is held by").wait_for()
        expect(tab.locator(".phases .off")).to_have_count(1)  # it slept
        tab.get_by_text(
            re.compile("as soon as|after it was ready|for a worker that was free|in its queue")
        ).first.wait_for()
        tab.locator("p", has_text="The last to come was").locator("a", has_text="bytes-").click()
        tab.get_by_text("It was the last input of").wait_for()
        tab.goto(f"{page}/logs")
        tab.locator(".line", has_text="waiting for the file").locator("a").click()
        tab.get_by_role("region", name="Task one_of-").wait_for()
        tab.goto(f"{page}/task-stream")
        tab.wait_for_function(f"() => Bokeh.documents[0]?.get_model_by_name('task-stream-names') && {RUNNING} === 0")


@pytest.mark.long
def test_what_a_worker_ran_when_it_was_killed_is_told(tab, cluster, tmp_path):
    page = tab.url.removesuffix("/status")
    with Client(cluster, set_as_default=False) as client:
        future = client.submit(die_when_told, str(tmp_path / "go"), retries=0)
        tab.wait_for_function(f"() => {RUNNING} === 1")
        (tmp_path / "go").touch()
        with pytest.raises(WorkerLost):
            future.result(timeout=60)
    tab.goto(f"{page}/task?search=die_when_told")
    tab.locator("tr.row", has_text="lost with its worker").first.locator("a").click()
    tab.get_by_text("It has failed for good: its worker left while it ran.").wait_for()
    tab.goto(f"{page}/workers")
    tab.get_by_label("Search names").fill("left")
    tab.locator("tr.gone").first.locator("button").press("Enter")
    tab.get_by_text("What it ran when it left").wait_for()


@pytest.mark.parametrize("page", ["memory", "stages", "time-budget"])
def test_views_over_time_show_what_a_cluster_did_and_go_on_while_it_is_idle(site, cluster, page):
    with Client(cluster, set_as_default=False) as client:
        assert client.gather(client.map(bytes, [10**6] * 8))[0] == bytes(10**6)
    with open_tab_of(site) as tab:
        tab.goto(f"{tab.base}/{find_record('real').id}/{page}")
        tab.wait_for_function(f"() => Bokeh.documents[0]?.get_model_by_name('{page}-source')?.get_length() > 0")
        tab.get_by_text("All", exact=True).click()
        tab.get_by_role("button", name="as a table").click()
        words = {"memory": "managed", "stages": "95 % within", "time-budget": "idle"}[page]
        expect(tab.get_by_role("table")).to_contain_text(words)
        caption = tab.get_by_role("caption").inner_text()
        if page == "time-budget":
            tab.wait_for_function(f"() => document.querySelector('.body').ariaLabel.includes({caption!r}) === false")
        elif page == "memory":  # its words may stay the same, its samples go on
            newest = "Math.max(...Bokeh.documents[0].get_model_by_name('memory-source').get_column('at'))"
            tab.wait_for_function(f"() => {newest} > {tab.evaluate(newest)}")
