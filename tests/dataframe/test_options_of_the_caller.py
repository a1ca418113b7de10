"""pandas' options of the caller on worker processes: what is made with some is another result, held or under way, and tasks that wait let others run."""

from __future__ import annotations

import sys
import time

import glassloom as gl
import glassloom.array as ga
import glassloom.bag as gb
import glassloom.dataframe as gd
import pandas as pd
import pytest
from eventual import eventually
from frame_helpers import assert_same
from glassloom.cluster import options
from glassloom.graph.options_in_use import OptionsInUse

STORAGE = "mode.string_storage"
PLAIN = "auto"
USUAL = pd.StringDtype().storage
OTHER = "python" if USUAL == "pyarrow" else "pyarrow"


@pytest.fixture(scope="module")
def client():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options, "_PRELOADED", ("numpy", "pandas", "pyarrow", "glassloom.array", "glassloom.dataframe"))
        with gl.Client(n_workers=2, threads_per_worker=2) as client:
            yield client


@pytest.fixture(scope="module")
def one_by_one():
    """A worker that runs one task at a time, as tasks set options themselves."""
    with gl.Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        yield client


def stored(*_):
    return pd.get_option(STORAGE)


def storage_of(found):
    return found.dtype.storage


def lazy_text(start=0):
    return (
        gd.from_pandas(pd.DataFrame({"n": range(start, start + 4)}), npartitions=2).n.map("v{}".format).astype("string")
    )


def runtimes():
    return pytest.mark.parametrize("scheduler", ["processes", "threads", "synchronous"])


def on(scheduler, client):
    return client if scheduler == "processes" else scheduler


@runtimes()
def test_results_that_are_held_are_for_the_options_they_were_made_with(client, scheduler):
    where, lazy = on(scheduler, client), lazy_text(10)
    plain = lazy.persist(scheduler=where)
    with pd.option_context(STORAGE, OTHER):
        assert storage_of(lazy.compute(scheduler=where)) == OTHER
        other = lazy.persist(scheduler=where)
        assert storage_of(plain.compute(scheduler=where)) == USUAL, "it is what it was made with"
        assert storage_of(plain.str.upper().compute(scheduler=where)) == USUAL
    assert storage_of(lazy.compute(scheduler=where)) == USUAL
    assert storage_of(other.compute(scheduler=where)) == OTHER
    assert storage_of(other.str.upper().compute(scheduler=where)) == OTHER
    assert storage_of(lazy.str.upper().compute(scheduler=where)) == USUAL
    assert other.expr.name != plain.expr.name
    assert len(other.compute(scheduler=where)) == other.size.compute(scheduler=where) == 4


@runtimes()
def test_held_results_and_equal_expressions_are_told_apart_in_one_computation(client, scheduler):
    where = on(scheduler, client)
    frame = gd.from_pandas(pd.DataFrame({"n": range(4)}), npartitions=2)
    lazy = frame.assign(s=frame.n.map("v{}".format).astype("string"))
    plain = lazy.persist(scheduler=where)
    with pd.option_context(STORAGE, OTHER):
        held, anew = gl.compute(plain.s, lazy.s, scheduler=where)
        assert (storage_of(held), storage_of(anew)) == (USUAL, OTHER)
        merged = plain.merge(lazy, on="n", suffixes=("_held", "_anew")).persist(scheduler=where)
        assert [storage_of(merged[name].compute(scheduler=where)) for name in ("s_held", "s_anew")] == [
            USUAL,
            OTHER,
        ]
        again = plain.persist(scheduler=where)
        assert again.expr is plain.expr
        both = gl.compute(again.assign(t=lazy.s), scheduler=where)[0]
        assert [storage_of(both[name]) for name in ("s", "t")] == [USUAL, OTHER]
        array, bag, call = ga.ones(4, chunks=2), gb.from_sequence(range(4), npartitions=2), gl.delayed(len)("ab")
        persisted = gl.persist(array, bag, call, bag.count(), scheduler=where)
        many = gl.compute(*persisted, array + persisted[0], persisted[1].map(abs), persisted[2] + call, scheduler=where)
        assert [*map(list, (many[0], many[1], many[4], many[5])), many[2], many[3], many[6]] == [
            [1.0] * 4, [0, 1, 2, 3], [2.0] * 4, [0, 1, 2, 3], 2, 4, 4
        ]  # fmt: skip
        assert gl.compute(*gl.persist(*persisted, scheduler=where), scheduler=where)[2:] == (2, 4)
    assert storage_of(merged.s_anew.compute(scheduler=where)) == OTHER
    assert gl.compute(*persisted, scheduler=where)[2:] == (2, 4)


def test_results_that_are_under_way_are_for_the_options_they_are_made_with(client, tmp_path):
    def slow(block):
        while not (tmp_path / "go").exists():
            time.sleep(0.005)
        return block.astype("string")

    numbers = gd.from_pandas(pd.Series(range(4)), npartitions=1)
    lazy = numbers.map_partitions(slow, meta=pd.Series([], dtype="string"))
    plain = lazy.persist()
    with pd.option_context(STORAGE, OTHER):
        other = lazy.persist()
    (tmp_path / "go").touch()
    assert storage_of(gl.compute(plain)[0]) == USUAL
    assert storage_of(other.compute()) == OTHER


def test_calls_carry_options_whichever_way_they_are_submitted(client):
    bag, array = (
        gb.from_sequence(range(4), npartitions=2).map(stored),
        ga.ones(4, chunks=2).map_blocks(long_name, dtype=int),
    )
    with pd.option_context(STORAGE, "python"):
        futures = [
            client.submit(stored), client.submit(stored, pure=False), client.submit(stored, 1, key="mine"),
            *client.map(stored, range(2)), client.submit(named, by_name=1), client.compute(gl.delayed(stored)(2)),
        ]  # fmt: skip
        executor = client.get_executor()
        executed = [executor.submit(stored), executor.submit(stored, 1)]
        held = gl.persist(gl.delayed(stored)(), bag, array)
        from_futures = gl.delayed(lambda found: (found, stored()))(futures[0])
        assert from_futures.compute() == ("python", "python")
        assert bag.compute() == ["python"] * 4
        assert gl.compute(gl.delayed(stored)(), bag.count()) == ("python", 4)
    assert client.gather(futures) == ["python"] * 7
    assert [future.result() for future in executed] == ["python"] * 2
    delayed, bag_held, array_held = held
    assert (delayed.compute(), bag_held.compute(), array_held.compute().tolist()) == (
        "python", ["python"] * 4, [len("python")] * 4
    )  # fmt: skip
    assert (bag_held.count().compute(), int(array_held.sum().compute())) == (4, 4 * len("python"))
    plain = [client.submit(stored), client.submit(stored, 1, key="theirs"), *client.map(stored, range(2))]
    assert client.gather(plain) == [PLAIN] * 4
    assert {future.key for future in plain}.isdisjoint({future.key for future in futures})
    assert (bag.compute(), array.compute().tolist()) == ([PLAIN] * 4, [len(PLAIN)] * 4)


def long_name(block):
    return (block * len(stored())).astype(int)


def named(*, by_name):
    return stored()


def test_equal_calls_with_equal_options_are_one(client):
    with pd.option_context(STORAGE, "python"):
        first = client.submit(stored, "equal"), client.submit(named, by_name=2)
    with pd.option_context(STORAGE, "pyarrow"):
        other = client.submit(stored, "equal"), client.submit(named, by_name=2)
    with pd.option_context(STORAGE, "python"):
        again = client.submit(stored, "equal"), client.submit(named, by_name=2)
        (mapped,) = client.map(stored, ["equal"])
    assert [future.key for future in first] == [future.key for future in again]
    assert mapped.key == first[0].key
    assert client.gather([*first, *other, *again]) == ["python"] * 2 + ["pyarrow"] * 2 + ["python"] * 2


def nested(depth):
    """Return the options of tasks within tasks, each of which waits for one with other options, in the three ways there are."""
    before = stored()
    if not depth:
        return [before]
    with pd.option_context(STORAGE, "pyarrow" if before == "python" else "python"):
        client = gl.get_client()
        if depth % 3 == 0:
            inner = client.submit(nested, depth - 1).result()
        elif depth % 3 == 1:
            with gl.worker_client() as client:
                inner = gl.delayed(nested)(depth - 1).compute()
        else:
            inner = client.get_executor().submit(nested, depth - 1).result()
    return [before, stored(), *inner]


@pytest.mark.parametrize("storage", ["python", PLAIN])
def test_a_task_that_waits_for_one_with_other_options_gets_its_result(one_by_one, storage):
    with pd.option_context(STORAGE, storage):
        futures = [one_by_one.submit(nested, 6, pure=False) for _ in range(3)]
    other = "pyarrow" if storage == "python" else "python"
    after = {PLAIN: "pyarrow", "python": "pyarrow", "pyarrow": "python"}
    expected, now = [storage, storage], other
    for _ in range(5):
        expected += [now, now]
        now = after[now]
    expected.append(now)
    for future in futures:
        assert future.result(60) == expected
    assert set(one_by_one.run(stored).values()) == {PLAIN}


def waits_with(storage, times):
    with pd.option_context(STORAGE, storage):
        for _ in range(times):
            gl.get_client().submit(stored, pure=False).result()
        return stored()


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("options", [PLAIN, "python", "pyarrow"])
@pytest.mark.parametrize("own", [PLAIN, "python"])
def test_a_task_that_sets_options_itself_and_waits_leaves_none(one_by_one, options, own, times):
    """Those that it had at first are set again by pandas, when the task's own end, and the worker takes them back."""
    with pd.option_context(STORAGE, options):
        assert one_by_one.submit(waits_with, own, times, pure=False).result(60) == own
    assert set(one_by_one.run(stored).values()) == {PLAIN}


def secedes():
    with pd.option_context(STORAGE, "python"):
        gl.secede()
        meanwhile = gl.get_client().submit(stored, pure=False).result()
        gl.rejoin()
        return meanwhile, stored()


def test_options_that_a_task_has_set_itself_are_taken_back_while_it_stands_aside(one_by_one):
    assert one_by_one.submit(secedes, pure=False).result(60) == (PLAIN, "python")
    assert set(one_by_one.run(stored).values()) == {PLAIN}


def waits_for(event, storage):
    with pd.option_context(STORAGE, storage):
        gl.Event(event).wait()
        return stored()


def test_options_that_tasks_set_themselves_are_taken_back_where_none_has_had_some_before():
    """Each task begins in the place of the one before, which waits: none sees what that has set. What a function sets beside the tasks is there for all."""
    with gl.Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        client.run(pd.set_option, "io.sql.engine", "sqlalchemy")
        waiting = [client.submit(waits_for, f"go-{n}", storage) for n, storage in enumerate(("python", "pyarrow"))]
        assert client.submit(pd.get_option, "io.sql.engine", pure=False).result(60) == "sqlalchemy"
        assert client.submit(stored, pure=False).result(60) == PLAIN
        for number, storage in enumerate(("python", "pyarrow")):
            gl.Event(f"go-{number}", client=client).set()
            assert waiting[number].result(60) == storage
        assert client.submit(stored, pure=False).result(60) == PLAIN
        assert set(client.run(stored).values()) == {PLAIN}
        assert set(client.run(pd.get_option, "io.sql.engine").values()) == {"sqlalchemy"}


def test_options_of_two_clients_do_not_mix(client):
    with gl.Client(client.name, set_as_default=False) as other:
        with pd.option_context(STORAGE, "python"):
            ours = [client.submit(stored, number) for number in range(10)]
        with pd.option_context(STORAGE, "pyarrow"):
            theirs = [other.submit(stored, number) for number in range(10)]
        plain = [other.submit(stored, number) for number in range(10, 20)]
        assert other.gather(theirs) == ["pyarrow"] * 10
        assert client.gather(ours) == ["python"] * 10
        assert other.gather(plain) == [PLAIN] * 10


def test_a_task_without_options_never_sees_those_of_one_beside_it(client, tmp_path):
    """Neither if it had begun before the first task of its worker that has some, nor later."""

    def plain(number):
        begun, found = tmp_path / f"plain-{number}", tmp_path / f"with-{number}"
        begun.touch()
        while not (found.exists() or sys.modules[OptionsInUse.__module__].IN_USE._turns):
            time.sleep(0.005)
        return stored()

    def with_options(number):
        (tmp_path / f"with-{number}").touch()
        return stored()

    with gl.Client(n_workers=1, threads_per_worker=2, set_as_default=False) as other:
        for number in range(2):
            first = other.submit(plain, number)
            eventually((tmp_path / f"plain-{number}").exists)
            with pd.option_context(STORAGE, "python"):
                second = other.submit(with_options, number)
            assert (first.result(60), second.result(60)) == (PLAIN, "python")


def test_a_task_that_fails_or_is_cancelled_leaves_the_options_as_they_were(client, tmp_path):
    def fail():
        raise ValueError(stored())

    def wait():
        (tmp_path / "begun").touch()
        while not (tmp_path / "go").exists():
            time.sleep(0.005)

    with pd.option_context(STORAGE, "python"):
        failing, cancelled = client.submit(fail), client.submit(wait)
    with pytest.raises(ValueError, match="python"):
        failing.result()
    eventually((tmp_path / "begun").exists)
    cancelled.cancel()
    (tmp_path / "go").touch()
    assert client.gather([client.submit(stored, number, pure=False) for number in range(8)]) == [PLAIN] * 8
    assert set(client.run(stored).values()) == {PLAIN}


def test_threads_of_this_process_run_with_its_options_and_leave_them():
    with pd.option_context(STORAGE, "python"):
        assert gl.delayed(stored)().compute(scheduler="threads") == "python"
        assert pd.get_option(STORAGE) == "python"
    assert gl.delayed(stored)().compute(scheduler="threads") == PLAIN


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
@pytest.mark.parametrize(
    "options",
    [(STORAGE, "python"), ("future.infer_string", False), ("future.distinguish_nan_and_na", True)],
)
def test_metas_and_files_are_those_of_the_options_that_are_set(tmp_path, options):
    """What is known of metas, and of files, from before was made with other ones."""
    columns = {"n": [0, 1, 2], "s": ["a", None, "a"], "c": pd.Categorical(["a", "b", None]), "f": pd.array([0.0, None, 1.0], dtype="Float64")}  # fmt: skip
    pd.DataFrame(columns).to_parquet(tmp_path / "a.parquet")

    def read(library):
        return library.read_parquet(tmp_path / "a.parquet")

    def check():
        plain, lazy = read(pd), read(gd)
        for work in (
            lambda frame: frame,
            lambda frame: frame.n.astype(str),
            lambda frame: frame.assign(t=frame.n.map("v{}".format)),
            lambda frame: frame.s.str.upper(),
            lambda frame: frame.f / frame.n,
        ):
            found, wanted = work(lazy), work(plain)
            assert_same(found.compute(scheduler="synchronous"), wanted)
            without_categories = wanted.drop(columns="c", errors="ignore") if wanted.ndim == 2 else wanted
            meta = found.expr.meta.drop(columns="c", errors="ignore") if wanted.ndim == 2 else found.expr.meta
            assert_same(meta, without_categories[:0])

    check()
    try:
        with pd.option_context(*options):
            check()
    except pd.errors.OptionError:
        pytest.skip(f"this pandas has no {options[0]}")
    check()
