"""Expressions are pickled as a list of nodes, without what is cached, and copied as what they are: constants."""

import copy
import pickle

import cloudpickle
import glassloom as gl
import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest

DEPTH = 3_000  # three times what Python's stack takes


def _chain(depth):
    x = ga.ones(4, chunks=2)
    for _ in range(depth):
        x = x + 1
    return x


def _called(depth):
    value = gl.delayed(int)(1)
    for _ in range(depth):
        value = value + 1
    return value


@pytest.mark.each_choice
@pytest.mark.parametrize("make", [_chain, _called])
@pytest.mark.parametrize(
    "again",
    [lambda x: pickle.loads(pickle.dumps(x)), lambda x: pickle.loads(cloudpickle.dumps(x)), copy.deepcopy, copy.copy],
)
def test_chains_deeper_than_pythons_stack_are_pickled_and_copied(make, again):
    chain = make(DEPTH)
    made = again(chain)
    assert type(made) is type(chain) and made is not chain
    assert made.name == chain.name
    assert made.expr.origin == chain.expr.origin
    if make is _chain:
        assert made.compute(scheduler="inline").tolist() == [DEPTH + 1] * 4
    else:
        assert made.compute(scheduler="inline") == DEPTH + 1


def _total(x):
    return float(x.sum().compute(scheduler="inline"))


def test_deep_chains_are_arguments_of_tasks():
    with gl.Client(n_workers=1, threads_per_worker=1) as client:
        assert client.submit(_total, _chain(DEPTH)).result(timeout=60) == 4 * (DEPTH + 1)


def test_a_copy_is_assigned_to_alone():
    x = ga.zeros(3, chunks=2)
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        y[0] = 1
        assert x.compute().tolist() == [0, 0, 0] and y.compute().tolist() == [1, 0, 0]


WHOLE = np.random.default_rng(0).random((1000, 4000))
ROWS = 2 * 4000 * 8


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x[:2],
        lambda x: (x + 1)[:2],
        lambda x: (x * x.astype("f4"))[:2],
        lambda x: x.T[:, 5:7],
        lambda x: x[::500],
        lambda x: ga.concatenate([x, x])[:2],
        lambda x: gl.delayed(np.sum)(x[:2]),
        lambda x: (x + 1)[:, :8],
    ],
)
def test_a_part_of_an_array_in_memory_is_pickled_as_that_part(make):
    part = make(ga.from_array(WHOLE, chunks=100))
    for _ in range(2):
        sent = pickle.dumps(part)
        assert len(sent) < ROWS + 20_000
        again = pickle.loads(sent)
        assert again.name == part.name and type(again) is type(part)
        np.testing.assert_array_equal(again.compute(), part.compute())
        if isinstance(part, ga.Array):
            assert again.chunks == part.chunks
            np.testing.assert_array_equal(again[0].compute(), part[0].compute())


def test_arrays_are_no_larger_to_pickle_when_they_have_been_computed():
    x = ga.from_array(WHOLE, chunks=100)
    before = len(pickle.dumps(x))
    assert before < WHOLE.nbytes + 20_000
    x.compute(), x.sum().compute(), x.explain(), repr(x)
    assert len(pickle.dumps(x)) == before


def test_each_block_that_is_delayed_carries_its_own_elements():
    x = ga.from_array(WHOLE, chunks=(100, 4000))
    for block in x.to_delayed()[:3].ravel():
        assert len(pickle.dumps(block)) < 100 * 4000 * 8 + 20_000


def test_persisted_arrays_are_pickled_under_their_names():
    held = (ga.arange(6, chunks=2) + 1).persist()
    again = pickle.loads(pickle.dumps(held * 2))
    assert again.name == (held * 2).name
    assert again.compute().tolist() == [2, 4, 6, 8, 10, 12]


def test_what_two_nodes_share_is_pickled_once():
    x = ga.from_array(WHOLE[:10].copy(), chunks=5)
    one = len(pickle.dumps(x + 1))
    assert len(pickle.dumps(x + 1 - x.mean() * x)) < one + 10_000


@pytest.mark.parametrize(
    "make",
    [
        lambda f: f.groupby("a").b.sum(),
        lambda f: f[f.a > 1].merge(pd.DataFrame({"a": [2, 3], "c": [1, 2]}), on="a"),
        lambda f: f.b.rolling(2).mean() if hasattr(f.b, "rolling") else f.b,
        lambda f: gd.concat([f, f.assign(b=f.b + 1)]).b.max(),
        lambda f: f.persist(scheduler="inline").set_index("b"),
    ],
)
def test_frames_are_pickled_under_their_names(make):
    frame = gd.from_pandas(pd.DataFrame({"a": [1, 1, 2, 3], "b": [4.0, 5, 6, 7]}), npartitions=2)
    lazy = make(frame)
    again = pickle.loads(cloudpickle.dumps(lazy))
    assert again.expr.name == lazy.expr.name
    expected, found = lazy.compute(scheduler="inline"), again.compute(scheduler="inline")
    assert expected.equals(found) if hasattr(expected, "equals") else expected == found
