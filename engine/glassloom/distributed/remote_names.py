"""`WorkerNumbers`: by what the workers of a cluster of dask.distributed are chosen: numbers, names, addresses and hosts. Asks nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from distributed.comm.addressing import get_address_host

from glassloom.errors import NoSuchWorker
from glassloom.graph import Key, key_text


class WorkerNumbers:
    """Gives workers numbers, which they keep as long as they are there. Thread-safe.

    A worker whose name is a whole number, such as those of `distributed.LocalCluster`, has that one, others the least that is free.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}

    def of(self, workers: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
        """Return the number of each of the workers that the scheduler tells of, by address.

        >>> WorkerNumbers().of({"tcp://a:1": {"name": "gpu"}, "tcp://a:2": {"name": 0}, "tcp://a:3": {"name": 7}})
        {'tcp://a:1': 1, 'tcp://a:2': 0, 'tcp://a:3': 7}
        """
        with self._lock:
            found = {address: number for address, number in self._numbers.items() if address in workers}
            taken = set(found.values())
            for address, worker in workers.items():
                name = worker.get("name")
                if address not in found and type(name) is int and name >= 0 and name not in taken:
                    found[address] = name
                    taken.add(name)
            free = (number for number in count() if number not in taken)
            for address in workers:
                if address not in found:
                    found[address] = next(free)
            self._numbers = found
            return {address: found[address] for address in workers}

    def chosen(
        self, wanted: Iterable[int | str], workers: Mapping[str, Mapping[str, Any]]
    ) -> dict[int | str, list[str]]:
        """Return the addresses of those that each of `wanted` means: a number, a name, an address or a host."""
        by_name: dict[Any, list[str]] = {}
        for address, number in self.of(workers).items():
            for name in {number, str(workers[address].get("name")), address, get_address_host(address)}:
                by_name.setdefault(name, []).append(address)
        return {each: by_name.get(each, []) for each in wanted}


def lack_of_resources(resources: Mapping[str, float], workers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a sentence if none of the workers has the resources that tasks ask for, else "".

    >>> lack_of_resources({"GPU": 1}, {"tcp://a:1": {"resources": {"GPU": 2}}})
    ''
    """
    for worker in workers.values():
        if all(worker.get("resources", {}).get(name, 0.0) >= amount for name, amount in resources.items()):
            return ""
    asked = ",".join(f"{name}={amount:g}" for name, amount in resources.items())
    return (
        f"no worker there has resources={dict(resources)}: what asks for them waits until a worker comes that was started with "
        f"--resources {asked}"
    )


def nowhere(key: Key, wanted: Sequence[int | str]) -> NoSuchWorker:
    """Return the error of a task that may run on workers only of which none is there."""
    return NoSuchWorker(
        f"task {key_text(key)} may run on workers {list(wanted)} only, and none of them is there; client.scheduler_info() tells "
        "which are, and allow_other_workers=True lets others take their place"
    )
