"""The same reduction of several columns of a frame, which is computed of all of them in one task a partition."""

from __future__ import annotations

import glassloom
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, plan
from glassloom import Client
from glassloom.dataframe.reductions_together import LEAST_PARTITIONS, OneResult

INLINE = {"scheduler": "inline"}
NAMES = ["a", "b", "x", "y", "day"]


def made_up(n=120):
    random = np.random.default_rng(0)
    x = random.random(n)
    return pd.DataFrame(
        {
            "a": random.integers(0, 9, n),
            "b": random.integers(-(2**60), 2**60, n),
            "x": np.where(x < 0.2, np.nan, x),
            "y": random.normal(size=n),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(random.integers(0, 30, n), "D"),
            "word": random.choice(["red", "green"], n),
        }
    )


def lazy_of(frame, npartitions=LEAST_PARTITIONS + 2):
    return gd.from_pandas(frame, npartitions=npartitions, sort=False)


def together(*lazy):
    """How many results are computed together with others."""
    return sum(isinstance(node, OneResult) for node in plan(*lazy))


@pytest.mark.parametrize("npartitions", [1, 3, 8, 11])
def test_descriptions(npartitions):
    frame = made_up()
    lazy = lazy_of(frame, npartitions)
    assert bool(together(lazy.describe())) == (npartitions >= LEAST_PARTITIONS)
    assert_same(lazy.describe().compute(**INLINE), frame.describe())
    assert_same(lazy[["a", "y", "b"]].describe().compute(**INLINE), frame[["a", "y", "b"]].describe())
    assert_same(lazy.describe(include="all").compute(**INLINE), frame.describe(include="all"))
    assert_same(lazy[lazy.a > 99].x.describe().compute(**INLINE), frame[frame.a > 99].x.describe())


@pytest.mark.parametrize("how", ["min", "max", "sum", "mean", "std", "count", "nunique", "median", "idxmax"])
def test_columns_one_by_one(how):
    frame = made_up()
    names = NAMES if how in ("min", "max", "count", "nunique") else NAMES[:4]
    lazy = lazy_of(frame)
    many = [getattr(lazy[name], how)() for name in names]
    assert together(*many) >= len(names)
    for got, name in zip(glassloom.compute(*many, **INLINE), names, strict=True):
        wanted = getattr(frame[name], how)()
        assert got == pytest.approx(wanted) if isinstance(wanted, float) else got == wanted


def test_results_that_others_are_made_with():
    frame = made_up()
    lazy = lazy_of(frame)

    def scaled(f):
        return f.assign(**{name: (f[name] - f[name].mean()) / f[name].std() for name in ("a", "x", "y")})

    assert together(scaled(lazy)) == 6
    assert_same(scaled(lazy).compute(**INLINE), scaled(frame))
    again = lambda f: [scaled(f)[name].quantile(0.3) for name in ("a", "x", "y")]  # noqa: E731
    assert glassloom.compute(*again(lazy), **INLINE) == pytest.approx(again(frame))


def test_few_columns_texts_and_unlike_frames_are_reduced_by_themselves():
    lazy = lazy_of(made_up())
    assert not together(lazy.x.mean(), lazy.y.mean())
    assert not together(lazy.x.mean(), lazy.y.sum(), lazy.a.max())
    assert not together(*(lazy.word.value_counts() for _ in range(3)), lazy.word.nunique())
    assert not together(lazy.x.mean(), lazy[lazy.a > 1].x.mean(), lazy[lazy.a > 2].x.mean())


def test_in_processes():
    frame = made_up()
    with Client(n_workers=2, threads_per_worker=1):
        assert_same(lazy_of(frame).describe().compute(), frame.describe())
