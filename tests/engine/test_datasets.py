"""Datasets: kept by the cluster, whichever client comes or goes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
import tasks
from glassloom import Client, delayed
from glassloom.errors import OptionError
from test_client import eventually


@pytest.fixture(autouse=True)
def no_datasets(client: Client) -> Iterator[None]:
    yield
    for name in client.list_datasets():
        client.unpublish_dataset(name)


def test_a_dataset_outlives_the_client_that_published_it(client: Client) -> None:
    with Client(client.cluster, set_as_default=False) as leaving:
        leaving.publish_dataset(numbers=leaving.persist(ga.arange(10, chunks=5)))
    found = client.get_dataset("numbers")
    assert found.sum().compute(scheduler=client) == 45


def test_a_frame_keeps_its_columns_and_divisions(client: Client) -> None:
    frame = pd.DataFrame({"a": range(6), "b": list("xyxyxy")})
    client.publish_dataset(frame=client.persist(gd.from_pandas(frame, npartitions=2)))
    found = client.get_dataset("frame")
    pd.testing.assert_frame_equal(found.compute(scheduler=client), frame)
    assert found.groupby("b").a.sum().compute(scheduler=client).to_dict() == {"x": 6, "y": 9}


def test_lazy_collections_futures_and_values_may_be_published(client: Client) -> None:
    client.publish_dataset(
        lazy=delayed(tasks.inc)(1), future=client.submit(tasks.inc, 2), values={"a": [1, np.arange(3)]}
    )
    assert client.get_dataset("lazy").compute(scheduler=client) == 2
    assert client.get_dataset("future").result() == 3
    assert client.get_dataset("values")["a"][1].tolist() == [0, 1, 2]


def test_results_go_when_a_dataset_does(client: Client) -> None:
    future = client.submit(tasks.big, 1, pure=False)
    key = future.key
    client.publish_dataset(future, name="large")
    del future
    gc.collect()
    client.submit(tasks.inc, 0, pure=False).result()
    assert key in client.who_has()
    client.unpublish_dataset("large")
    eventually(lambda: key not in client.who_has())


def test_a_name_is_taken_until_it_is_unpublished_or_overridden(client: Client) -> None:
    client.publish_dataset(1, name="x")
    with pytest.raises(KeyError, match="there is a dataset 'x' already; unpublish it first, or use override=True"):
        client.publish_dataset(x=2)
    client.publish_dataset(x=3, override=True)
    assert client.get_dataset("x") == 3


def test_a_missing_dataset_is_an_error_that_lists_those_there_are(client: Client) -> None:
    client.publish_dataset(here=1)
    for ask in (client.get_dataset, client.unpublish_dataset, lambda name: client.datasets[name]):
        with pytest.raises(KeyError, match="no dataset 'gone'; there are: 'here'"):
            ask("gone")
    assert client.get_dataset("gone", default=None) is None


def test_datasets_are_a_mapping(client: Client) -> None:
    client.datasets["a"] = 1
    client.datasets["b"] = 2
    assert (list(client.datasets), len(client.datasets), "a" in client.datasets, dict(client.datasets)) == (
        ["a", "b"], 2, True, {"a": 1, "b": 2}
    )  # fmt: skip
    del client.datasets["a"]
    assert client.list_datasets() == ("b",)
    assert repr(client.datasets) == "<Datasets: 'b'>"


@pytest.mark.parametrize(
    "publish",
    [
        lambda client: client.publish_dataset(1),
        lambda client: client.publish_dataset(1, 2, name="x"),
        lambda client: client.publish_dataset(name="x"),
    ],
)
def test_a_value_needs_a_name(client: Client, publish: Any) -> None:
    with pytest.raises(OptionError, match=r"publish_dataset takes one value with name=\.\.\."):
        publish(client)


def test_tasks_find_datasets_too(client: Client) -> None:
    from glassloom import get_client

    client.publish_dataset(seven=7)
    assert client.submit(lambda: get_client().get_dataset("seven"), pure=False).result(timeout=60) == 7


def test_an_asynchronous_client_awaits_them(client: Client) -> None:
    async def main() -> Any:
        async with Client(client.cluster, asynchronous=True, set_as_default=False) as own:
            await own.publish_dataset(x=5)
            return await own.get_dataset("x"), await own.list_datasets(), await own.unpublish_dataset("x")

    assert asyncio.run(main()) == (5, ("x",), None)
