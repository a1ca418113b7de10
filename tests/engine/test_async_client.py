"""The client in an event loop, which goes on with other things while it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tasks
from glassloom import Client, LocalCluster, as_completed, delayed, wait
from glassloom.errors import ClusterClosed


@pytest.fixture(scope="module")
def cluster(nothing_is_left_behind: Any) -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=1, threads_per_worker=2, memory_limit="1GB") as cluster:
        yield cluster


def with_client(cluster: LocalCluster, use: Callable[[Client], Awaitable[Any]]) -> Any:
    """Return what `use` returns for an asynchronous client, in an event loop of its own."""

    async def main() -> Any:
        async with Client(cluster, asynchronous=True, set_as_default=False) as client:
            return await use(client)

    return asyncio.run(main())


def test_a_future_is_awaited(cluster: LocalCluster) -> None:
    async def use(client: Client) -> Any:
        return await client.submit(tasks.inc, 1), await client.submit(tasks.inc, 2).result()

    assert with_client(cluster, use) == (2, 3)


def test_a_large_result_is_awaited(cluster: LocalCluster) -> None:
    async def use(client: Client) -> Any:
        return float((await client.submit(tasks.big, 2, 4.0)).mean())

    assert with_client(cluster, use) == 4.0


def test_gather_is_awaited(cluster: LocalCluster) -> None:
    async def use(client: Client) -> Any:
        return await client.gather({"a": client.map(tasks.inc, range(3)), "b": 7})

    assert with_client(cluster, use) == {"a": [1, 2, 3], "b": 7}


def test_the_error_of_a_task_is_raised_where_it_is_awaited(cluster: LocalCluster) -> None:
    async def use(client: Client) -> Any:
        future = client.submit(tasks.divide, 1, 0)
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            await future
        return type(await future.exception())

    assert with_client(cluster, use) is ZeroDivisionError


def test_as_completed_is_iterated_with_async_for(cluster: LocalCluster, tmp_path: Path) -> None:
    async def use(client: Client) -> Any:
        slow = client.submit(tasks.wait_for, str(tmp_path / "go"), "slow")
        quick = client.submit(tasks.same, "quick")
        seen = []
        async for _, result in as_completed([slow, quick], with_results=True):
            seen.append(result)
            (tmp_path / "go").touch()
        return seen

    assert with_client(cluster, use) == ["quick", "slow"]


def test_batches_are_iterated_with_async_for(cluster: LocalCluster) -> None:
    async def use(client: Client) -> Any:
        futures = client.map(tasks.inc, range(4))
        return [future async for batch in as_completed(futures).batches() for future in batch]

    assert len(with_client(cluster, use)) == 4


def test_wait_is_awaited(cluster: LocalCluster, tmp_path: Path) -> None:
    async def use(client: Client) -> Any:
        slow, quick = client.submit(tasks.wait_for, str(tmp_path / "go")), client.submit(tasks.inc, 1)
        done, not_done = await wait([slow, quick], return_when="FIRST_COMPLETED")
        (tmp_path / "go").touch()
        return done == {quick}, not_done == {slow}

    assert with_client(cluster, use) == (True, True)


def test_the_loop_goes_on_while_a_task_is_awaited(cluster: LocalCluster, tmp_path: Path) -> None:
    async def use(client: Client) -> Any:
        async def let_go() -> None:
            (tmp_path / "go").touch()

        result, _ = await asyncio.gather(client.submit(tasks.wait_for, str(tmp_path / "go"), 3).result(), let_go())
        return result

    assert with_client(cluster, use) == 3


def test_waiting_ends_after_its_timeout(cluster: LocalCluster, tmp_path: Path) -> None:
    async def use(client: Client) -> Any:
        future = client.submit(tasks.wait_for, str(tmp_path / "go"))
        with pytest.raises(TimeoutError, match=r"no result after 0\.02 s"):
            await future.result(timeout=0.02)
        with pytest.raises(TimeoutError):  # noqa: PT011 - asyncio's own has no message
            await asyncio.wait_for(client.gather([future]), 0.02)
        callbacks = future._state.callbacks
        (tmp_path / "go").touch()
        return callbacks

    assert with_client(cluster, use) == ()


def test_collections_are_computed_and_persisted(cluster: LocalCluster) -> None:
    async def use(client: Client) -> Any:
        lazy = delayed(tasks.inc)(1)
        held = client.persist(lazy)
        return await client.compute(lazy), await client.compute(held)

    assert with_client(cluster, use) == (2, 2)


def test_questions_about_the_cluster_are_awaited(cluster: LocalCluster) -> None:
    async def use(client: Client) -> Any:
        info = await client.scheduler_info()
        future = client.submit(tasks.big, 1)
        await wait(future)
        assert sum((await client.nbytes([future])).values()) >= 2**20
        return list((await client.run(tasks.same, 5)).values()), list(await client.ncores()) == list(info["workers"])

    assert with_client(cluster, use) == ([5], True)


def test_an_asynchronous_client_is_awaited_before_it_is_used(cluster: LocalCluster) -> None:
    async def main() -> Any:
        client = Client(cluster, asynchronous=True, set_as_default=False)
        assert (repr(client), client.status) == ("<Client: asynchronous, not connected yet>", "connecting")
        assert client._repr_html_() == "<pre>&lt;Client: asynchronous, not connected yet&gt;</pre>"
        with pytest.raises(ClusterClosed, match="isn't connected yet: use `async with`, or `await` it first"):
            client.submit(tasks.inc, 1)
        await client
        result = await client.submit(tasks.inc, 1)
        await client.close()
        return result, client.status

    assert asyncio.run(main()) == (2, "closed")


def test_it_starts_and_ends_a_cluster_of_its_own() -> None:
    async def main() -> Any:
        async with Client(n_workers=1, threads_per_worker=1, asynchronous=True) as client:
            return client.cluster, await client.submit(tasks.inc, 1)

    cluster, result = asyncio.run(main())
    assert (result, cluster.status) == (2, "closed")


def test_with_instead_of_async_with_says_so(cluster: LocalCluster) -> None:
    with pytest.raises(TypeError, match="use `async with`"), Client(cluster, asynchronous=True):
        pass


def test_a_future_of_an_ordinary_client_is_awaited_too(cluster: LocalCluster) -> None:
    async def main(client: Client) -> Any:
        return await client.submit(tasks.inc, 5)

    with Client(cluster, set_as_default=False) as client:
        assert asyncio.run(main(client)) == 6


def test_closing_wakes_who_awaits(cluster: LocalCluster, tmp_path: Path) -> None:
    async def use(client: Client) -> Any:
        future = client.submit(tasks.wait_for, str(tmp_path / "go"))
        waiting = asyncio.ensure_future(future.result())
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(ClusterClosed, match=r"is lost: client\.close\(\) was called"):
            await waiting
        (tmp_path / "go").touch()

    with_client(cluster, use)


def test_questions_about_tasks_and_workers_are_awaited(cluster: LocalCluster) -> None:
    async def use(client: Client) -> Any:
        future = client.submit(tasks.inc, 1, key="asked")
        await future
        story = await client.story(future)
        stacks = await client.call_stack()
        processing = await client.processing()
        return (
            story.state,
            stacks,
            list(processing),
            await client.cancel_all(),
            await client.gather([future], asynchronous=True),
        )

    assert with_client(cluster, use) == ("finished", {}, [f"{cluster.name}-0"], 0, [2])
