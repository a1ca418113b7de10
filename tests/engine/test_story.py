"""`Client.story`: what has happened to a task, and what it waits for now, on real processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_helpers import eventually
from glassloom import Client, LocalCluster
from glassloom.client.story import Story
from glassloom.errors import OptionError


def wait_for_file(path: str, *_: Any) -> str:
    while not os.path.exists(path):
        time.sleep(0.005)
    return path


def fail(*_: Any) -> None:
    raise ZeroDivisionError("no such number\nsecond line")


def explained(client: Client, key: Any, expected: Callable[[str], bool]) -> Story:
    """Wait until a task's explanation is as expected; show the last one if it never is."""
    found: list[Story] = []

    def is_there() -> bool:
        found[:] = [client.story(key)]
        return expected(found[0].explanation)

    try:
        eventually(is_there)
    except AssertionError:
        raise AssertionError(found[0].explanation) from None
    return found[0]


def words(story: Story) -> list[str]:
    return [event.what for event in story.events]


def test_a_finished_task_tells_when_it_was_sent_where_it_ran_and_how_large_its_result_is(client: Client) -> None:
    future = client.submit(np.ones, 1000, key="thousand", pure=False)
    future.result()
    story = explained(client, future, lambda text: text.startswith("done"))
    assert story.key == "thousand"
    assert story.state == "finished"
    assert words(story)[:3] == ["submitted", "sent", "ran"]
    worker = story.events[1].worker
    assert worker in client.scheduler_info()["workers"]
    assert story.events[1].text == "sent to a worker"
    assert (story.events[2].text[:8], story.events[2].worker) == ("ran for ", worker)
    assert story.events[2].text.endswith("; its result takes 7.81 KiB")
    assert [event.at for event in story.events] == sorted(event.at for event in story.events)
    assert "test_story.py" in story.origin


def test_a_task_that_waits_says_for_which_of_its_inputs_and_where_they_run(client: Client, tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    slow = client.submit(wait_for_file, go, key=("load", 3))
    quick = client.submit(abs, -1, key=("load", 4))
    quick.result()
    total = client.submit(lambda *_: 1, slow, quick, key="total")
    above = client.submit(lambda _: 1, total, key="above")
    story = explained(client, "total", lambda text: "runs on" in text)
    assert story.state == "waiting"
    assert story.explanation.startswith("waits for 1 of 2 inputs: ('load', 3) runs on ")
    assert ", sent " in story.explanation
    assert story.explanation.endswith(" ago")
    story = client.story(above)
    assert story.explanation.startswith("waits for 1 of 1 input: 'total' waits itself for ('load', 3), which runs on ")
    assert client.story(("load", 3)).state == "running"
    Path(go).touch()
    assert above.result() == 1


def test_a_ready_task_says_how_many_go_before_it(client: Client, tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    blocking = [client.submit(wait_for_file, go, number) for number in range(4)]
    later = [client.submit(abs, -number, key=("later", number)) for number in range(5)]
    story = explained(client, later[3], lambda text: text.endswith("3 tasks before it"))
    assert story.state == "ready"
    assert story.explanation == "ready; no free thread (4 of 4 are taken); 3 tasks before it"
    reader = client.submit(lambda _: 1, later[4])
    assert client.story(reader).explanation == (
        "waits for 1 of 1 input: ('later', 4) is ready; no free thread (4 of 4 are taken)"
    )
    Path(go).touch()
    client.gather([*blocking, reader])


def test_a_failed_task_says_what_it_raised_and_how_often_it_was_tried(client: Client) -> None:
    future = client.submit(fail, key="failing", retries=2)
    reader = client.submit(abs, future, key="reader")
    with pytest.raises(ZeroDivisionError):
        reader.result()
    story = client.story(future)
    assert (story.state, story.explanation) == ("error", "failed: ZeroDivisionError: no such number")
    raised = [event.text for event in story.events if event.what == "raised"]
    assert [text.rpartition("; ")[2] for text in raised[:2]] == [
        "it is tried again (retries left: 1)",
        "it is tried again (retries left: 0)",
    ]
    assert len(raised) == 3
    assert client.story(reader).explanation == "failed, because 'failing' did: ZeroDivisionError: no such number"
    client.cancel(future)


def test_a_task_whose_worker_died_says_so(client: Client, tmp_path: Path) -> None:
    def die_once() -> int:
        if not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(3)
        return 7

    future = client.submit(die_once, key="dies-once")
    assert future.result(timeout=60) == 7
    story = client.story(future)
    assert "worker lost" in words(story)
    (lost,) = (event for event in story.events if event.what == "worker lost")
    assert lost.text == "the worker is gone: exited with code 3"
    assert words(story).count("sent") == 2


def test_a_result_that_moved_is_told_of(client: Client) -> None:
    future = client.submit(np.ones, 10**5, key="moves")
    future.result()
    story = explained(client, future, lambda text: "where all processes can reach it" in text)
    assert "moved" in words(story)


def test_tasks_that_nobody_needs_any_more_are_known_for_a_while(client: Client) -> None:
    future = client.submit(abs, -5, key="short-lived")
    future.result()
    del future
    story = explained(client, "short-lived", lambda text: text.startswith("forgotten"))
    assert story.state == "unknown"
    assert words(story)[:2] == ["submitted", "sent"]
    unknown = client.story("never-there")
    assert unknown.events == ()
    assert unknown.explanation == (
        "the cluster doesn't know 'never-there': it was never submitted, or was forgotten long ago"
    )


def test_why_a_submission_was_refused_is_told_of_its_future(client: Client) -> None:
    future = client.submit(abs, -1, resources={"GPU": 1}, key="needs-gpu")
    error = future.exception()
    story = client.story(future)
    assert story.state == "error"
    assert story.explanation == f"failed: {type(error).__name__}: {str(error).splitlines()[0]}"
    assert "GPU" in story.explanation


def test_missing_resources_and_workers_are_named(tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    with LocalCluster(2, 1, resources={"GPU": 1}) as cluster, Client(cluster, set_as_default=False) as client:
        first = client.map(wait_for_file, [go, go], pure=False, resources={"GPU": 1})
        third = client.submit(abs, -1, resources={"GPU": 1})
        taken = explained(client, third, lambda text: "taken up" in text)
        assert taken.explanation == (
            f"needs resources {{'GPU': 1.0}}; they are taken up by other tasks on {cluster.name}-0, {cluster.name}-1"
        )
        Path(go).touch()
        client.gather([*first, third])
        cluster.scale(0)
        nowhere = client.submit(abs, -2)
        assert explained(client, nowhere, bool).explanation == "ready, but the cluster has no workers"


def test_workers_that_are_short_of_memory_hold_tasks_back(tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1, memory_limit="1GB", set_as_default=False) as client:
        baseline = client.scheduler_info()["workers"][f"{client.name}-0"]["baseline"]
        hoard = client.submit(_hoard, 860_000_000 - baseline, str(tmp_path / "go"))  # paused at 80 %, ended at 95 %
        waiting = client.submit(abs, -1)
        story = explained(client, waiting, lambda text: text.startswith("held back"))
        assert story.explanation == f"held back: {client.name}-0 is short of memory and gets no tasks"
        (tmp_path / "go").touch()
        hoard.cancel()


def _hoard(nbytes: int, go: str) -> int:
    kept = b"x" * nbytes
    wait_for_file(go)
    return len(kept)


def test_a_story_is_shown_as_text_and_as_html(client: Client) -> None:
    future = client.submit(abs, -7, key="shown <b>")
    future.result()
    story = explained(client, future, lambda text: text.startswith("done"))
    lines = repr(story).splitlines()
    assert lines[:2] == ["Task 'shown <b>': finished", "  done: its result (32 B) is in the head's memory"]
    assert lines[3].split("  ")[2] == "submitted by client " + lines[3].rpartition(" ")[2]
    html = story._repr_html_()
    assert "shown &lt;b&gt;" in html
    assert "<b>" not in html
    assert "What has happened (3)" in html


@pytest.mark.parametrize("key", [None, 3, ["x"], ()])
def test_what_is_no_key_is_refused(client: Client, key: Any) -> None:
    with pytest.raises(OptionError, match="key="):
        client.story(key)
