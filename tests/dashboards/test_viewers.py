"""Viewers that come and go, on the real Bokeh server."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import time
import weakref

import pytest
from bokeh.document import Document
from bokeh_viewers import Serving, serving
from glassloom_dashboards.serving import garbage
from glassloom_dashboards.serving import server as server_module
from glassloom_dashboards.serving.loop_lag import INTERVAL_S, LoopLag
from glassloom_dashboards.serving.open_pages import RETRY_S
from glassloom_dashboards.serving.page import PageView
from glassloom_metrics.pages import PAGES
from opened_pages import events
from synthetic import Shape
from tornado.httpclient import HTTPClientError
from tornado.httputil import HTTPHeaders
from tornado.websocket import WebSocketClientConnection

MANY = 30


async def close_all(server: Serving, page: str, connections: list) -> None:
    """Close the connections and let Bokeh discard their sessions, as it does some time later."""
    context = server.context(page)
    for connection in connections:
        connection.close()
    while any(session.connection_count for session in context.sessions):
        await asyncio.sleep(0.02)
    while list(context.sessions):
        await asyncio.sleep(0.02)
        await context._cleanup_sessions(0)


@pytest.mark.long
@pytest.mark.fault("30 tabs are closed at once")
def test_closing_many_tabs_runs_no_garbage_collection_but_one_when_nobody_looks_any_more(publish, monkeypatch):
    publish(Shape(tasks=50))
    monkeypatch.setattr(garbage, "QUIET_S", 0.2)

    async def visit() -> tuple[list[int], int, int]:
        viewers_left: list[int] = []
        async with serving() as server:
            opened = [await server.open("/c1/progress") for _ in range(MANY)]
            watched = server.hub.watch("c1")
            viewers = watched.viewers
            with monkeypatch.context() as patch:
                patch.setattr(gc, "collect", lambda *args: viewers_left.append(watched.viewers))
                await close_all(server, "progress", opened)
                assert viewers_left == []
                while not viewers_left:
                    await asyncio.sleep(0.02)
            return viewers_left, viewers, watched.viewers

    assert asyncio.run(asyncio.wait_for(visit(), 180)) == ([0], MANY, 0)


def test_a_page_that_is_opened_before_all_is_collected_does_not_wait_for_it(publish, monkeypatch):
    publish(Shape(tasks=50))
    monkeypatch.setattr(garbage, "QUIET_S", 3600.0)

    async def visit() -> list[int]:
        whole: list[int] = []
        async with serving() as server:
            await close_all(server, "progress", [await server.open("/c1/progress")])
            waiting = server.server.garbage._due
            monkeypatch.setattr(gc, "collect", lambda generation=2: whole.append(generation))
            await server.open("/c1/progress")
            assert waiting.cancelled() and server.server.garbage._due is None
        return whole

    assert 2 not in asyncio.run(asyncio.wait_for(visit(), 180))


@pytest.mark.fault("more pages are opened than there may be")
def test_a_page_past_the_limit_says_what_is_open_and_opens_once_one_of_these_is_closed(publish):
    publish(Shape(tasks=5))

    async def visit() -> tuple[int, HTTPHeaders, str]:
        async with serving(max_pages=2) as server:
            opened = [await server.open("/c1/progress") for _ in range(2)]
            with pytest.raises(HTTPClientError) as refused:
                await server.get("/c1/status")
            opened[0].close()
            while sum(one.connection_count for one in server.context("progress").sessions) == 2:
                await asyncio.sleep(0.02)
            await server.open("/c1/status")  # Bokeh still has the closed one's session
            assert len(list(server.context("progress").sessions)) == 2
            answer = refused.value.response
            return answer.code, answer.headers, answer.body.decode()

    code, headers, text = asyncio.run(asyncio.wait_for(visit(), 180))
    assert (code, headers["Retry-After"]) == (429, str(RETRY_S))
    assert "2 dashboard pages are open" in text and "<li>demo: Progress, 2 times</li>" in text
    assert f'<meta http-equiv="refresh" content="{RETRY_S}">' in text
    nonce = re.search('<script nonce="([^"]+)">', text)[1]
    assert f"script-src 'nonce-{nonce}'" in headers["Content-Security-Policy"]


def test_pages_that_are_asked_for_at_once_are_not_more_than_the_limit(publish):
    publish(Shape(tasks=5))

    async def visit() -> list[int]:
        async with serving(max_pages=3) as server:
            answers = await asyncio.gather(*(server.get("/c1/progress") for _ in range(6)), return_exceptions=True)
            return [answer.code for answer in answers if isinstance(answer, HTTPClientError)]

    assert asyncio.run(asyncio.wait_for(visit(), 180)) == [429] * 3


@pytest.mark.parametrize("page", [page.id for page in PAGES])
def test_a_page_that_was_closed_is_gone_without_a_collection(publish, monkeypatch, page):
    publish(Shape(tasks=50))
    parts: list[weakref.ref] = []
    attach = PageView.attach

    def noted(view: PageView, document: Document) -> None:
        attach(view, document)
        parts.extend(weakref.ref(part) for part in (*view.cards, *document.models))

    async def visit() -> list[object]:
        async with serving() as server:
            await server.open("/c1/logs" if page != "logs" else "/c1/runs")  # else the last one's end would collect
            monkeypatch.setattr(PageView, "attach", noted)
            connection = await server.open(f"/c1/{page}")
            gc.disable()
            try:
                await close_all(server, page, [connection])
                return [type(part) for ref in parts if (part := ref()) is not None]
            finally:
                gc.enable()

    left = asyncio.run(asyncio.wait_for(visit(), 60))
    assert len(parts) > 20
    assert left == []


@pytest.mark.fault("30 tabs are closed at once")
def test_sessions_that_end_together_leave_others_a_turn_between_any_two(publish):
    publish(Shape(tasks=5))

    async def visit() -> int:
        async with serving() as server:
            opened = [await server.open("/c1/progress") for _ in range(10)]
            context = server.context("progress")
            for connection in opened:
                connection.close()
            while any(session.connection_count for session in context.sessions):
                await asyncio.sleep(0.02)
            while not all(session.milliseconds_since_last_unsubscribe > 0 for session in context.sessions):
                await asyncio.sleep(0.001)
            ending = asyncio.ensure_future(context._cleanup_sessions(0))
            turns = 0
            while not ending.done():
                await asyncio.sleep(0)
                turns += 1
            assert not list(context.sessions)
            return turns

    assert asyncio.run(asyncio.wait_for(visit(), 60)) >= 10


@pytest.mark.long
def test_twenty_viewers_that_came_and_went_leave_no_callback_and_share_one_subscriber(publish):
    publish(Shape(tasks=200))

    async def visit() -> None:
        async with serving() as server:
            opened = [await server.open("/c1/progress") for _ in range(20)]
            sessions = list(server.context("progress").sessions)
            assert len(sessions) == 20
            assert [len(session.document.session_callbacks) for session in sessions] == [1] * 20
            assert (len(server.hub._tasks), server.hub.watch("c1").viewers) == (1, 20)
            timers = [session._callbacks._group for session in sessions]
            assert all(timer._periodic_callback_removers for timer in timers)
            documents = [weakref.ref(session.document) for session in sessions]
            await close_all(server, "progress", opened)
            assert not any(timer._periodic_callback_removers for timer in timers)
            assert server.hub.watch("c1").viewers == 0
            sessions.clear()
            timers.clear()
            while any(document() is not None for document in documents):  # what the loop has still to do may hold some
                gc.collect()
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(visit(), 120))


def test_a_viewer_whose_cluster_is_gone_counts_nowhere(publish):
    cluster = publish(Shape(tasks=5))

    async def visit() -> None:
        async with serving() as server:
            await asyncio.to_thread(cluster.stop)
            with pytest.raises(Exception, match="404"):
                await server.get("/c1/progress")
            assert server.hub._watched == {}

    asyncio.run(asyncio.wait_for(visit(), 60))


def test_a_loop_that_was_blocked_says_for_how_long():
    async def visit() -> tuple[float, float]:
        lag = LoopLag()
        watching = asyncio.ensure_future(lag.watch())
        while not lag.longest_s(time.monotonic()):
            await asyncio.sleep(0.01)
        before_s = lag.longest_s(time.monotonic())
        time.sleep(0.5)  # what blocks it
        while (after_s := lag.longest_s(time.monotonic())) < 0.5 - INTERVAL_S:
            await asyncio.sleep(0.01)
        watching.cancel()
        return before_s, after_s

    before_s, after_s = asyncio.run(asyncio.wait_for(visit(), 60))
    assert after_s >= before_s


async def next_patch(connection: WebSocketClientConnection) -> list[dict[str, object]]:
    """Return the events of the next message with changes."""
    while True:
        header, _, content = [json.loads(await connection.read_message()) for _ in range(3)]
        for _ in range(2 * header.get("num_buffers", 0)):
            await connection.read_message()
        if header["msgtype"] == "PATCH-DOC":
            return content["events"]


def test_a_frame_is_one_message_however_much_changes(publish, monkeypatch):
    monkeypatch.setattr(server_module, "_UNUSED_SESSION_MS", 10**6)  # the session is to wait for its viewer
    cluster = publish(Shape(tasks=200))

    async def visit() -> list[dict[str, object]]:
        async with serving() as server:
            token = await server.token("/c1/status")
            await asyncio.to_thread(cluster.add, events(200, [(60.0, 61.0)]))
            while len(server.hub.watch("c1").aggregate.tasks) < 201:
                await asyncio.sleep(0.02)
            connection = await server.connect("/c1/status", token)  # nothing is drawn before
            for _ in range(3):  # the greeting
                await connection.read_message()
            return await next_patch(connection)

    changes = asyncio.run(asyncio.wait_for(visit(), 60))
    assert len(changes) > 3
    assert changes[-1]["attr"] == "tags", "the number of the frame comes last"
