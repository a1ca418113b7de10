"""Fetching results from a cluster of dask.distributed: not more at a time than its workers and scheduler can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import distributed

from glassloom.distributed.connecting import scheduler_of
from glassloom.graph import Key

MOST_BYTES = 64 * 2**20
"""What is asked for at a time. A worker reads all that it is asked for from its disk before it sends anything, and the scheduler hands it on."""


async def gathered(dask: distributed.Client, futures: Sequence[distributed.Future]) -> list[Any]:
    """Return the results of futures that are finished, in their order. Runs in dask.distributed's event loop."""
    if len(futures) == 1:
        return await dask.gather(list(futures), asynchronous=True)
    keys: list[Any] = list({future.key: None for future in futures})
    try:
        sizes = await scheduler_of(dask).nbytes(keys=keys, summary=False)
    except KeyError:  # the scheduler has lost one meanwhile: gathering it says so
        sizes = {}
    by_key = {future.key: future for future in futures}
    values: dict[Any, Any] = {}
    for some in batches(keys, sizes, MOST_BYTES):
        found: list[Any] = await dask.gather([by_key[key] for key in some], asynchronous=True)
        values.update(zip(some, found, strict=True))
    return [values[future.key] for future in futures]


def batches(keys: Sequence[Key], sizes: Mapping[Key, int], most_bytes: int) -> Iterator[list[Key]]:
    """Yield keys in their order, as many at a time as have `most_bytes` together, and at least one.

    >>> list(batches("abcd", {"a": 3, "b": 2, "c": 9, "d": 1}, 5))
    [['a', 'b'], ['c'], ['d']]
    """
    batch: list[Key] = []
    n_bytes = 0
    for key in keys:
        size = max(sizes.get(key, 0), 0)  # less than none if the scheduler doesn't know it
        if batch and n_bytes + size > most_bytes:
            yield batch
            batch, n_bytes = [], 0
        batch.append(key)
        n_bytes += size
    if batch:
        yield batch
