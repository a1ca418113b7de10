"""The examples in the engine's docstrings run."""

from __future__ import annotations

import doctest
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Any

import glassloom
import glassloom_metrics
import pytest
from fault_helpers import start_over
from glassloom import Client, LocalCluster
from leaks import Watch

_TESTED_ELSEWHERE = ("glassloom.array", "glassloom.dataframe", "glassloom.__main__", "glassloom.backends.cupy_", "glassloom.distributed.mpi")  # fmt: skip
MODULES = [
    module.name
    for package in (glassloom, glassloom_metrics)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.startswith(_TESTED_ELSEWHERE)
]


SIZE = {"n_workers", "threads_per_worker"}
OF_A_NEW_CLUSTER = ("glassloom.client.profile_method",)
"""Their examples show what a cluster tells that has run nothing."""


@pytest.fixture(scope="module")
def connect(nothing_is_left_behind: Watch) -> Iterator[Callable[..., Client]]:
    """Return what stands for `Client`: examples that start a cluster of the same size share it, without its tasks."""
    clusters: dict[tuple[int, int], LocalCluster] = {}
    with ExitStack() as stack:

        def connect(*arguments: Any, **options: Any) -> Client:
            if arguments or options.keys() != SIZE:
                return Client(*arguments, **options)
            size = options["n_workers"], options["threads_per_worker"]
            if size not in clusters:
                clusters[size] = stack.enter_context(LocalCluster(**options))
            client = Client(clusters[size])
            start_over(client, options["n_workers"])
            return client

        yield connect


@pytest.mark.parametrize("name", ["glassloom", *MODULES])
def test_examples_run(name: str, connect: Callable[..., Client], monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(name)
    instead: dict[str, Any] = {"Client": connect} if name not in OF_A_NEW_CLUSTER else {}
    for what, stands_for_it in instead.items():
        monkeypatch.setattr(glassloom, what, stands_for_it)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE, extraglobs=instead)
    assert result.failed == 0
