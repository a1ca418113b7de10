"""The WebSockets: all clusters in one, one cluster's protocol in the other."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from glassloom_metrics.protocol import Hello, Position, WorkerJoined, WorkerSamples, decode
from tornado.httpclient import HTTPClientError


async def next_clusters(socket, predicate):
    """Return the clusters of the first message for which the predicate holds."""
    async with asyncio.timeout(10):
        while True:
            clusters = json.loads(await socket.read_message())["clusters"]
            if predicate(clusters):
                return clusters


async def test_a_new_cluster_its_numbers_and_its_end_are_told(jp_ws_fetch, start_cluster):
    socket = await jp_ws_fetch("glassloom", "api", "metrics")
    assert await next_clusters(socket, lambda clusters: True) == []
    cluster = await start_cluster()
    (listed,) = await next_clusters(socket, lambda clusters: clusters)
    assert (listed["id"], listed["threads"]) == ("c1", 2)
    cluster.sample(cpu_percent=42.0, rss_bytes=9)
    (listed,) = await next_clusters(socket, lambda clusters: clusters[0]["cpu_percent"])
    assert (listed["cpu_percent"], listed["memory_bytes"]) == (42.0, 9)
    await cluster.end()
    assert await next_clusters(socket, lambda clusters: not clusters) == []
    socket.close()


async def test_any_number_of_sockets_share_one_sampler(jp_ws_fetch, services, start_cluster):
    await start_cluster()
    sockets = [await jp_ws_fetch("glassloom", "api", "metrics") for _ in range(5)]
    for socket in sockets:
        await next_clusters(socket, lambda clusters: clusters)
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
    async with asyncio.timeout(10):
        while services.watch.running:
            await asyncio.sleep(0.01)
    await asyncio.to_thread(follower.join, 5)
    assert not follower.is_alive()


async def test_a_listener_that_comes_back_within_the_linger_finds_the_same_sampler(services):
    async with services.watch.listen(linger_s=5) as listener:
        await listener.next()
    follower = services.watch._follower
    async with services.watch.listen(linger_s=0) as listener:
        assert json.loads(await listener.next()) == {"clusters": [], "recordings": [], "elsewhere": []}
        assert services.watch._follower is follower


async def test_a_cluster_that_refuses_us_is_still_listed(jp_ws_fetch, start_cluster):
    cluster = await start_cluster()
    cluster.publisher._secret = "another"
    socket = await jp_ws_fetch("glassloom", "api", "metrics")
    (listed,) = await next_clusters(socket, lambda clusters: clusters)
    assert (listed["name"], listed["workers"], listed["memory_limit_bytes"]) == ("loom", 0, None)
    socket.close()


async def test_one_clusters_protocol_comes_through_frame_by_frame(jp_ws_fetch, start_cluster):
    cluster = await start_cluster()
    socket = await jp_ws_fetch("glassloom", "api", "metrics", "c1")
    async with asyncio.timeout(10):
        hello, joined, position = [decode(await socket.read_message()) for _ in range(3)]
        assert isinstance(position, Position) and position.next == 2
        cluster.sample(cpu_percent=7.0, rss_bytes=1)
        sample = decode(await socket.read_message())
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
