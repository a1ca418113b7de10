"""pandas' options of the caller on clusters of dask.distributed, whose workers are processes, or threads of this one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import glassloom
import glassloom.dataframe as gd
import pandas as pd
import pytest
from eventual import eventually
from glassloom import Client
from glassloom.errors import OptionError

STORAGE = "mode.string_storage"
QUIET = {"dashboard_address": ":0", "silence_logs": 50}


@pytest.fixture(scope="module")
def remote(own_folders: None) -> Iterator[Client]:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, **QUIET) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def inproc(own_folders: None) -> Iterator[Client]:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **QUIET) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def stored(*_: Any) -> Any:
    return pd.get_option(STORAGE)


def nested(depth: int) -> list[Any]:
    """Return the options of tasks that wait for one with other options each."""
    before = stored()
    if not depth:
        return [before]
    with pd.option_context(STORAGE, "pyarrow" if before == "python" else "python"):
        inner = glassloom.get_client().submit(nested, depth - 1).result()
    return [before, stored(), *inner]


def test_options_belong_to_what_is_computed_with_them(remote: Client) -> None:
    lazy = gd.from_pandas(pd.DataFrame({"n": range(4)}), npartitions=2).n.map("v{}".format)
    plain = lazy.persist(scheduler=remote)
    with pd.option_context(STORAGE, "python"):
        python = lazy.persist(scheduler=remote)
        assert lazy.compute(scheduler=remote).dtype.storage == "python"
        futures = [remote.submit(stored), *remote.map(stored, range(2))]
    assert [remote.submit(stored).result(), *remote.gather(futures)] == ["auto", *["python"] * 3]
    found = [held.str.upper().compute(scheduler=remote).dtype.storage for held in (plain, python, lazy)]
    assert found == ["pyarrow", "python", "pyarrow"]


@pytest.mark.parametrize("over_there", [False, True])
def test_graphs_of_dask_carry_options_too(remote: Client, client: Client, over_there: bool) -> None:
    runs_on = remote if over_there else client
    call = dask.delayed(stored)
    with dask.annotate(priority=1):
        total = dask.delayed(list)([call("a"), call("b")])
    plain = runs_on.compute(total)
    with pd.option_context(STORAGE, "python"):
        assert dask.compute(total, scheduler=runs_on.get) == (["python"] * 2,)
        held = runs_on.persist(total)
        assert runs_on.compute(total, sync=True) == ["python"] * 2
    assert dask.compute(total, scheduler=runs_on.get) == (["auto"] * 2,)
    assert dask.compute(held, scheduler=runs_on.get) == (["python"] * 2,)
    assert plain.result() == ["auto"] * 2
    assert dask.compute(total, scheduler=glassloom.get) == (["auto"] * 2,)


def test_a_task_that_waits_for_one_with_other_options_gets_its_result(remote: Client) -> None:
    with pd.option_context(STORAGE, "python"):
        future = remote.submit(nested, 3)
    assert future.result(60) == ["python", "python", "pyarrow", "pyarrow", "python", "python", "pyarrow"]


def test_a_task_without_options_never_sees_those_of_one_beside_it(remote: Client, tmp_path: Path) -> None:
    def plain() -> Any:
        from glassloom.graph.options_in_use import IN_USE

        (tmp_path / "plain").touch()
        while not ((tmp_path / "with").exists() or IN_USE._turns):
            time.sleep(0.005)
        return stored()

    def with_options() -> Any:
        (tmp_path / "with").touch()
        return stored()

    first = remote.submit(plain)
    eventually((tmp_path / "plain").exists)
    with pd.option_context(STORAGE, "python"):
        second = remote.submit(with_options)
    assert (first.result(60), second.result(60)) == ("auto", "python")


def test_a_worker_in_this_process_says_that_its_options_were_changed(inproc: Client, tmp_path: Path) -> None:
    def wait() -> None:
        while not (tmp_path / "go").exists():
            time.sleep(0.005)

    plain = inproc.submit(wait)
    with pd.option_context(STORAGE, "python"):
        assert inproc.submit(stored).result() == "python"
        (tmp_path / "go").touch()
        with pytest.raises(OptionError, match=r"were the defaults when .* let workers be processes"):
            plain.result()
        assert stored() == "python"
    assert stored() == "auto"
