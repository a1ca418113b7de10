"""Opening a page: it is there before anything of its cluster is drawn or read, and says so if it can't be made."""

from __future__ import annotations

import asyncio
import html
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from bokeh.settings import settings
from bokeh_viewers import GOOD, PREFIX, Serving, serving
from glassloom_dashboards.parts.card import TITLES
from glassloom_dashboards.parts.layouts import LAYOUTS
from glassloom_dashboards.serving import page as pages
from glassloom_dashboards.serving import server as serving_pages
from glassloom_dashboards.serving import sessions
from glassloom_dashboards.serving.first_contents import SENTENCES, first_contents
from glassloom_dashboards.serving.hub import Hub, Watched
from glassloom_dashboards.serving.page import PageView
from glassloom_dashboards.serving.server import PageHandler, PageSocket
from glassloom_dashboards.serving.static_files import StaticFiles
from glassloom_dashboards.serving.turns import Turns
from glassloom_metrics.open_recordings import RecordingRecord
from glassloom_metrics.pages import PAGES
from synthetic import HOSTILE_NAMES, Shape, make_recorder


def test_a_page_is_sent_before_its_cards_are_made(publish, monkeypatch):
    publish(Shape(tasks=5), name=HOSTILE_NAMES[0])

    async def visit() -> str:
        asked = asyncio.Event()

        async def never(*arguments: Any) -> PageView:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

        monkeypatch.setattr(PageView, "opened", never)
        async with serving() as server:
            body = await server.get("/c1/status")
            await asked.wait()
            return body

    body = asyncio.run(asyncio.wait_for(visit(), 60))
    titles = re.findall("<h2>([^<]+)</h2>", body)
    assert re.findall("<h1>([^<]+)</h1>", body) == [TITLES["status"]]
    assert titles == [TITLES[card] for card in LAYOUTS["status"].cards]
    assert HOSTILE_NAMES[0] not in body and "opening" in body


def first_of(body: str) -> dict[str, str]:
    """Return what a page says of each card before its document has come, as text; ``""`` is the strip."""
    parts = re.split(r'<section class="card" id="card-([^"]+)"', body)
    patterns = r'<div class="view first">(.*?)<div id=', r'<p class="first">(.*?)</p>'
    found = [
        (name, re.search(pattern, part, re.DOTALL))
        for name, part in zip(parts[1::2], parts[2::2], strict=True)
        for pattern in patterns
    ]
    texts = {name: " ".join(re.sub("<[^>]+>", " ", first[1]).split()) for name, first in found if first}
    strip = re.search(r'<div class="strip">(.*?)</template>', body, re.DOTALL)
    return texts | {"": " ".join(re.sub("<[^>]+>", " ", strip[1]).split()) if strip else ""}


def test_the_first_page_of_a_cluster_says_at_once_what_there_is(publish, monkeypatch):
    monkeypatch.setattr(serving_pages, "_FIRST_WORD_S", 30.0)  # however busy the machine is
    publish(Shape(tasks=5), name=HOSTILE_NAMES[0])

    async def visit() -> tuple[str, str]:
        async with serving() as server:
            return await server.get("/c1/status"), await server.get("/c1/overview")

    status, overview = asyncio.run(asyncio.wait_for(visit(), 60))
    first = first_of(status)
    assert "opening" in first[""] and "2 workers" in first["workers-cpu"] and "threads" in first["workers-cpu"]
    assert set(first) == {"", *LAYOUTS["status"].cards}
    assert "Latest run" in first_of(overview)["overview"]
    assert HOSTILE_NAMES[0] not in status + overview


async def asked_for(server: Serving, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Ask for a page as a browser does that reads it while it comes; return the connection."""
    reader, writer = await asyncio.open_connection(*server.host.split(":"))
    lines = f"GET {PREFIX}{path} HTTP/1.1", f"Host: {server.host}", *map(": ".join, GOOD.items()), "", ""
    writer.write("\r\n".join(lines).encode())
    return reader, writer


@pytest.mark.parametrize("is_left", [False, True])
def test_the_scripts_of_a_page_are_named_before_anything_is_known_of_the_cluster(publish, monkeypatch, caplog, is_left):
    publish(Shape(tasks=5))
    heard, left = asyncio.Event(), asyncio.Event()
    monkeypatch.setattr(Watched, "is_heard", property(lambda watched: heard.is_set()))
    monkeypatch.setattr(Watched, "was_heard", lambda *given: heard.wait())
    monkeypatch.setattr(PageHandler, "on_connection_close", lambda page: left.set())

    async def visit() -> tuple[str, str, int]:
        async with serving() as server:
            reader, writer = await asked_for(server, "/c1/status")
            head = await reader.readuntil(b"</head>")
            if is_left:
                writer.close()
                await left.wait()
            heard.set()
            body = b"" if is_left else await reader.readuntil(b"</html>")
            writer.close()
            while server.server.open_pages.n_opening:
                await asyncio.sleep(0)
            return head.decode(), body.decode(), len(list(server.context("status").sessions))

    head, body, n_sessions = asyncio.run(asyncio.wait_for(visit(), 60))
    assert re.findall(r'<script nonce="[^"]+" defer src="[^"]*/(bokeh[^"?]*)', head) == [
        "bokeh.min.js",
        "bokeh-widgets.min.js",
    ]
    assert (body == "", n_sessions) == (is_left, 0 if is_left else 1)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_page_comes_though_one_of_its_cards_cannot_be_shown_at_once(publish, monkeypatch, caplog):
    monkeypatch.setattr(serving_pages, "_FIRST_WORD_S", 30.0)  # however busy the machine is
    monkeypatch.setitem(SENTENCES, "progress", lambda aggregate: 1 / 0)
    publish(Shape(tasks=5))

    async def visit() -> str:
        async with serving() as server:
            return await server.get("/c1/status")

    first = first_of(asyncio.run(asyncio.wait_for(visit(), 60)))
    assert set(first) == {"", *LAYOUTS["status"].cards} - {"progress"}
    assert "'progress' of page 'status' of cluster 'demo' could not be shown at once" in caplog.text


def test_a_page_does_not_wait_long_for_a_cluster_that_says_nothing(publish):
    publish(Shape(tasks=5))

    async def visit() -> str:
        async def nothing(record: Any, *, since: int, log_id: str):
            await asyncio.Event().wait()
            yield b""

        async with serving(Hub(frames=nothing)) as server:
            return await server.get("/c1/status")

    assert first_of(asyncio.run(asyncio.wait_for(visit(), 60))) == {"": ""}


@pytest.mark.parametrize("page", [page.id for page in PAGES])
def test_every_card_says_something_before_its_document_has_come(page):
    watched = Watched(RecordingRecord("r1", "demo", "demo.glr", 0.0, 1, 0.0, 0.0))
    for payload in make_recorder(Shape(tasks=5, gpus=1)).read(0, limit=10**6)[0]:
        watched.fold(payload)
    first = first_contents(page, watched, "dark", {})
    said = [name for said in (first.html, first.sentences) for name, words in said.items() if words]
    assert sorted(said) == sorted(LAYOUTS[page].cards)


def test_a_page_is_drawn_before_the_history_has_been_read(publish):
    publish(Shape(tasks=5))

    async def visit() -> tuple[bool, list[str]]:
        async def nothing_yet(record: Any, *, since: int, log_id: str):
            await asyncio.Event().wait()
            yield b""

        async with serving(Hub(frames=nothing_yet)) as server:
            connection = await server.open("/c1/status")
            (session,) = server.context("status").sessions
            is_loading = server.hub.watch("c1").aggregate.is_loading
            names = [str(root.name) for root in session.document.roots]
            connection.close()
            return is_loading, names

    is_loading, names = asyncio.run(asyncio.wait_for(visit(), 60))
    assert is_loading and {"strip", "task-stream-whole", "progress"} <= set(names)


def test_others_have_their_turn_after_each_card_that_is_made_and_after_each_that_is_drawn(publish, monkeypatch):
    publish(Shape(tasks=5))
    steps: list[str] = []
    make, draw = pages.make_card, PageView._draw
    monkeypatch.setattr(pages, "make_card", lambda *given: (steps.append("made"), make(*given))[1])
    monkeypatch.setattr(PageView, "_draw", lambda *given: (steps.append("drawn"), draw(*given))[1])

    async def visit() -> None:
        watched = Hub().watch("c1")

        async def other() -> None:
            while True:
                steps.append("other")
                await asyncio.sleep(0)

        beside = asyncio.create_task(other())
        await PageView.opened("status", watched.aggregate, watched.colours, {}, Turns().give_way_to_files)
        beside.cancel()

    asyncio.run(visit())
    ours = re.findall("[md]+", "".join(step[0] for step in steps))
    assert ours == ["m"] * 4 + ["d"] * 4


def test_a_page_that_cannot_be_made_ends_its_viewers_connection_and_counts_none(publish, monkeypatch, caplog):
    publish(Shape(tasks=5))

    async def visit() -> tuple[Any, int, list[Any]]:
        async def fails(*arguments: Any) -> PageView:
            raise RuntimeError("no colours left")

        monkeypatch.setattr(PageView, "opened", fails)
        async with serving() as server:
            body = await server.get("/c1/status")
            connection = await server.connect("/c1/status", token_of(body))
            end = await connection.read_message()
            return end, server.hub.watch("c1").viewers, list(server.context("status").sessions)

    assert asyncio.run(asyncio.wait_for(visit(), 60)) == (None, 0, [])
    assert "no colours left" in caplog.text


def token_of(body: str) -> str:
    return json.loads(re.search(r'"token":("[^"]+")', body)[1])


def test_a_page_that_is_left_while_it_opens_has_no_viewer_and_leaves_nothing_in_the_log(publish, monkeypatch, caplog):
    publish(Shape(tasks=5))
    make, closed, goes_on = PageView.opened, asyncio.Event(), asyncio.Event()
    on_close = PageSocket.on_close

    async def later(*arguments: Any) -> PageView:
        await goes_on.wait()
        return await make(*arguments)

    monkeypatch.setattr(PageView, "opened", later)
    monkeypatch.setattr(PageSocket, "on_close", lambda socket: (on_close(socket), closed.set()))

    async def visit() -> int:
        async with serving() as server:
            token = token_of(await server.get("/c1/status"))
            connection = await server.connect("/c1/status", token)
            connection.close()
            await closed.wait()
            goes_on.set()
            context = server.context("status")
            while not context.sessions:
                await asyncio.sleep(0)
            (session,) = context.sessions
            await session.with_document_locked(session.document.title.upper)  # what waited for it has gone on
            return session.connection_count

    assert asyncio.run(asyncio.wait_for(visit(), 60)) == 0
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_what_comes_of_a_connection_that_was_found_closed_leaves_nothing_in_the_log(publish, monkeypatch, caplog):
    publish(Shape(tasks=5))
    ended = asyncio.Event()
    on_close = PageSocket.on_close
    monkeypatch.setattr(PageSocket, "on_close", lambda socket: (on_close(socket), ended.set()))

    async def visit() -> int:
        async with serving() as server:
            connection = await server.open("/c1/status")
            (session,) = server.context("status").sessions
            (client,) = session._subscribed_connections
            server.server.client_lost(client)
            message = client.protocol.create("PULL-DOC-REQ")
            for fragment in (message.header_json, message.metadata_json, message.content_json):
                await connection.write_message(fragment)
            connection.close()
            await ended.wait()
            await client._socket.send_message(message)
            return session.connection_count

    assert asyncio.run(asyncio.wait_for(visit(), 60)) == 0
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("fails", [True, False])
def test_a_session_that_was_waited_for_while_it_failed_is_made_anew_by_the_next(fails):
    class Context:
        """What `session_of` needs of Bokeh's."""

        def __init__(self) -> None:
            self._pending_sessions: dict[str, asyncio.Future[str]] = {}
            self.calls = 0

        async def create_session_if_needed(self, session_id: str, *_: Any) -> str:
            if session_id in self._pending_sessions:
                return await self._pending_sessions[session_id]
            self.calls += 1
            pending = self._pending_sessions[session_id] = asyncio.get_running_loop().create_future()
            await asyncio.sleep(0)
            if fails:
                raise RuntimeError("not made")
            pending.set_result("session")
            del self._pending_sessions[session_id]
            return "session"

    async def visit() -> tuple[list[Any], int]:
        context: Any = Context()
        both = [sessions.session_of(context, "s", None, "t") for _ in range(2)]
        first = await asyncio.gather(*both, return_exceptions=True)
        await asyncio.gather(sessions.session_of(context, "s", None, "t"), return_exceptions=True)
        return [str(each) for each in first], context.calls

    assert asyncio.run(visit()) == (["not made"] * 2 if fails else ["session"] * 2, 2)


def test_a_script_is_sent_in_one_piece_once_and_kept_by_its_version(publish):
    publish(Shape(tasks=5))

    async def visit() -> tuple[int, str, bool]:
        async with serving() as server:
            body = await server.get("/c1/status")
            address = html.unescape(re.search(r'src="([^"]+bokeh\.min\.js[^"]*)"', body)[1])
            answer = await server.fetch(address)
            content = StaticFiles.get_content(str(Path(settings.bokehjs_path()) / "js" / "bokeh.min.js"))
            return len(answer.body), answer.headers["Cache-Control"], answer.body == content

    size, kept, is_whole = asyncio.run(asyncio.wait_for(visit(), 60))
    assert size > 10**6 and is_whole
    assert "max-age=315360000" in kept
