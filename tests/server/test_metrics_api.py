"""The WebSockets: all clusters in one, one cluster's protocol in the other."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import msgspec
import pytest
from glassloom_metrics.protocol import Hello, Position, Runs, WorkerJoined, WorkerSamples, decode
from glassloom_metrics.registry import runtime_dir
from glassloom_server import cluster_fold, watch
from glassloom_server.dashboards import DashboardsProcess
from glassloom_server.watch import ClusterWatch
from glassloom_server.wire import StreamMessage
from tornado.httpclient import HTTPClientError


class Reader:
    """Follows the stream as the front end does."""

    def __init__(self, socket) -> None:
        self._socket = socket
        self.sequence = 0
        self.clusters: dict[str, dict] = {}
        self.kinds: list[str] = []

    async def read(self) -> dict:
        text = await self._socket.read_message()
        msgspec.json.decode(text, type=StreamMessage)  # raises if it isn't what the API's description says
        message = json.loads(text)
        assert message["version"] == 2
        assert abs(message["now"] - time.time()) < 60
        self.kinds.append(message["type"])
        if message["type"] == "alive":
            assert message["sequence"] == self.sequence
            return message
        assert message["sequence"] == self.sequence + 1
        self.sequence += 1
        if message["type"] == "snapshot":
            self.clusters = {cluster["id"]: cluster for cluster in message["state"]["clusters"]}
        for name, fields in message.get("clusters", {}).items():
            self.clusters[name] = {**self.clusters.get(name, {}), **(fields or {})}
            if fields is None:
                del self.clusters[name]
        assert message.get("order", list(self.clusters)) == list(self.clusters)
        return message

    async def until(self, predicate) -> list[dict]:
        """Return the clusters once the predicate holds."""
        async with asyncio.timeout(60):
            await self.read()
            while not predicate(list(self.clusters.values())):
                await self.read()
        return list(self.clusters.values())


async def test_a_new_cluster_its_numbers_and_its_end_are_told(jp_ws_fetch, start_cluster):
    socket = await jp_ws_fetch("glassloom", "api", "metrics")
    reader = Reader(socket)
    assert await reader.until(lambda clusters: True) == []
    cluster = await start_cluster()
    (listed,) = await reader.until(lambda clusters: clusters)
    assert (listed["id"], listed["threads"]) == ("c1", 2)
    cluster.sample(cpu_percent=42.0, rss_bytes=9)
    (listed,) = await reader.until(lambda clusters: clusters[0]["cpu_percent"])
    assert (listed["cpu_percent"], listed["memory_bytes"]) == (42.0, 9)
    await cluster.end()
    assert await reader.until(lambda clusters: not clusters) == []
    assert reader.kinds[0] == "snapshot" and set(reader.kinds[1:]) == {"changes"}
    socket.close()


async def test_a_reader_that_hears_of_no_change_hears_that_there_is_none(jp_ws_fetch, start_cluster, monkeypatch):
    monkeypatch.setattr(watch, "ALIVE_S", 0.5)
    await start_cluster()
    socket = await jp_ws_fetch("glassloom", "api", "metrics")
    reader = Reader(socket)
    async with asyncio.timeout(60):
        while reader.kinds[-2:] != ["alive", "alive"]:
            await reader.read()
    assert list(reader.clusters) == ["c1"]
    socket.close()


async def test_a_reader_that_is_too_slow_is_told_all_changes_at_once(services, start_cluster):
    cluster = await start_cluster()
    async with services.watch.listen() as quick, services.watch.listen() as slow:
        first = json.loads(await slow.next())
        assert (first["type"], first["sequence"]) == ("snapshot", 1)
        await quick.next()
        for cpu_percent in (40.0, 80.0):
            cluster.sample(cpu_percent=cpu_percent, rss_bytes=9)
            while f'"cpu_percent":{cpu_percent}' not in (await quick.next()).decode():
                pass
        second = json.loads(await slow.next())
    assert (second["type"], second["sequence"]) == ("changes", 2)
    assert second["clusters"]["c1"]["cpu_percent"] == 80.0


async def test_fifty_clusters_are_told_and_one_that_changes_costs_little(jp_ws_fetch, start_cluster):
    clusters = [await start_cluster(f"c{number:02}") for number in range(50)]
    socket = await jp_ws_fetch("glassloom", "api", "metrics")
    reader = Reader(socket)
    listed = await reader.until(lambda clusters: len(clusters) == 50 and all(each["threads"] for each in clusters))
    assert [each["id"] for each in listed] == [f"c{number:02}" for number in range(50)]
    clusters[7].sample(cpu_percent=42.0, rss_bytes=9)
    async with asyncio.timeout(60):
        while "c07" not in (message := await reader.read()).get("clusters", {}):
            pass
    assert list(message["clusters"]) == ["c07"]
    assert len(json.dumps(message)) < 500
    socket.close()


async def test_a_stray_file_in_the_registry_hides_nothing(jp_fetch, start_cluster):
    await start_cluster()
    registry = runtime_dir()
    (registry / "cluster-folder.json").mkdir()
    (registry / "cluster-text.json").write_text("no record")
    (registry / "cluster-bytes.json").write_bytes(b"\xff\x00")
    (registry / "cluster-pid.json").write_bytes(
        (registry / "cluster-c1.json").read_bytes().replace(b'"pid": ', b'"pid": -')
    )
    (registry / "cluster-link.json").symlink_to("/nowhere")
    listed = json.loads((await jp_fetch("glassloom", "api", "clusters")).body)["clusters"]
    assert [cluster["id"] for cluster in listed] == ["c1"]


async def test_a_cluster_that_says_nothing_is_told_to_be_silent(jp_ws_fetch, services, start_cluster, monkeypatch):
    monkeypatch.setattr(cluster_fold, "SILENT_S", 0.3)
    await start_cluster()  # whose heartbeat comes each second, so it is silent in between
    socket = await jp_ws_fetch("glassloom", "api", "metrics")
    reader = Reader(socket)
    (listed,) = await reader.until(
        lambda clusters: clusters and clusters[0]["state"] == "silent" and clusters[0]["heard_at"]
    )
    assert await services.watch.heard_at_s("c1") >= listed["heard_at"] - 0.1
    socket.close()


async def test_any_number_of_sockets_share_one_sampler(jp_ws_fetch, services, start_cluster):
    await start_cluster()
    sockets = [await jp_ws_fetch("glassloom", "api", "metrics") for _ in range(5)]
    for socket in sockets:
        await Reader(socket).until(lambda clusters: clusters)
    follower = services.watch._follower
    assert follower.name == "glassloom-watch"
    assert [thread for thread in threading.enumerate() if thread.name == "glassloom-watch"] == [follower]
    for socket in sockets:
        socket.close()


async def test_the_sampler_ends_when_nobody_listens(services):
    async with services.watch.listen(linger_s=0) as listener:
        await listener.next()
        follower = services.watch._follower
        assert services.watch.running
    async with asyncio.timeout(60):
        while services.watch.running:
            await asyncio.sleep(0.01)
    await asyncio.to_thread(follower.join, 60)
    assert not follower.is_alive()


async def test_a_listener_that_comes_back_within_the_linger_finds_the_same_sampler(services):
    async with services.watch.listen(linger_s=60) as listener:
        await listener.next()
    follower = services.watch._follower
    async with services.watch.listen(linger_s=0) as listener:
        assert json.loads(await listener.next())["type"] == "snapshot"
        assert services.watch._follower is follower


async def test_two_servers_of_one_user_tell_the_same_and_leave_each_others_dashboards_alone(
    services, start_cluster, jp_serverapp
):
    await start_cluster()
    others = ClusterWatch(log=jp_serverapp.log)
    dashboards = DashboardsProcess(prefix="/x", log=jp_serverapp.log, command=services.dashboards._command)
    told = [json.loads(await each.whole())["clusters"] for each in (services.watch, others)]
    assert [[(cluster["id"], cluster["threads"]) for cluster in each] for each in told] == [[("c1", 2)]] * 2
    first, second = await services.dashboards.ensure_running(), await dashboards.ensure_running()
    assert first != second
    await dashboards.stop()
    await others.stop()
    await services.dashboards.ask_for_health(60.0)


async def test_what_the_dashboards_process_takes_is_told_while_it_runs(services):
    async with services.watch.listen() as listener:
        assert json.loads(await listener.next())["state"]["dashboards"] is None
        await services.dashboards.ensure_running()
        told = json.loads(await listener.next())
        while told.get("dashboards") is None:
            told = json.loads(await listener.next())
        assert told["dashboards"]["memory_bytes"] > 0
        await services.dashboards.stop()
        while told.get("dashboards", 0) is not None:
            told = json.loads(await listener.next())


async def test_a_notebook_that_is_renamed_is_told_by_its_new_path(jp_fetch, jp_ws_fetch, jp_root_dir, start_cluster):
    async def session(*path: str, **request) -> dict:
        body = json.dumps({"path": "taxi.ipynb", "name": "taxi.ipynb", "type": "notebook", **request})
        method = "PATCH" if path else "POST"
        return json.loads((await jp_fetch("api", "sessions", *path, method=method, body=body)).body)

    opened = await session(kernel={"name": "python3"})
    kernel = opened["kernel"]["id"]
    cluster = await start_cluster(kernel_id=kernel, notebook=str(jp_root_dir / "taxi.ipynb"), started_by="notebook")
    told = str(jp_root_dir / "taxi.ipynb")
    cluster.say(Runs([3], ["compute"], ["x"], [told], ["a"], [kernel], [""], [5.0], [None], ["running"], [9], [4], [0]))
    reader = Reader(await jp_ws_fetch("glassloom", "api", "metrics"))

    def paths(clusters: list[dict]) -> set[str]:
        return {each["notebook"] for cluster in clusters for each in (cluster, *cluster["runs"])}

    await reader.until(lambda clusters: clusters and clusters[0]["runs"] and paths(clusters) == {"taxi.ipynb"})
    await session(opened["id"], path="work/cabs.ipynb")
    await reader.until(lambda clusters: paths(clusters) == {"work/cabs.ipynb"})
    await jp_fetch("api", "sessions", opened["id"], method="DELETE")
    (listed,) = json.loads((await jp_fetch("glassloom", "api", "clusters")).body)["clusters"]
    assert listed["notebook"] == "work/cabs.ipynb", "the last path that was known, though its kernel has ended"


async def test_a_cluster_that_refuses_us_is_still_listed(jp_ws_fetch, start_cluster):
    cluster = await start_cluster()
    cluster.publisher._secret = "another"
    socket = await jp_ws_fetch("glassloom", "api", "metrics")
    (listed,) = await Reader(socket).until(lambda clusters: clusters)
    assert (listed["name"], listed["workers"], listed["memory_limit_bytes"]) == ("loom", 0, None)
    socket.close()


async def test_one_clusters_protocol_comes_through_frame_by_frame(jp_ws_fetch, start_cluster):
    cluster = await start_cluster()
    socket = await jp_ws_fetch("glassloom", "api", "metrics", "c1")
    async with asyncio.timeout(60):
        hello, joined, position = [decode(await socket.read_message()) for _ in range(3)]
        assert isinstance(position, Position) and position.next == 2
        cluster.sample(cpu_percent=7.0, rss_bytes=1)
        while isinstance(sample := decode(await socket.read_message()), Position):
            pass  # a sign of life, as each second has one
        await cluster.end()
        rest = []
        while (payload := await socket.read_message()) is not None:
            rest.append(decode(payload))
    assert (type(hello), type(joined), type(sample)) == (Hello, WorkerJoined, WorkerSamples)
    assert {type(message) for message in rest} == {Position}
    assert (hello.cluster_id, sample.cpu_percent) == ("c1", [7.0])


async def test_the_protocol_of_an_unknown_cluster_is_refused_before_the_upgrade(jp_ws_fetch):
    with pytest.raises(HTTPClientError) as caught:
        await jp_ws_fetch("glassloom", "api", "metrics", "c9")
    assert caught.value.code == 404
