"""`Aggregation`: aggregations of groups in steps of the user's, alone and mixed with names."""

import dask.dataframe as dd
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, partitionings
from glassloom.errors import MetaError

INLINE = {"scheduler": "inline"}
FRAME = pd.DataFrame(
    {"k": ["b", "a", None, "b", "a", "c"], "n": [1, 1, 2, 2, 1, 1], "x": [1.0, 2, np.nan, 4, 5, 6], "y": range(6)}
)
MEAN = gd.Aggregation(
    "average",
    lambda groups: (groups.count(), groups.sum()),
    lambda counts, sums: (counts.sum(), sums.sum()),
    lambda counts, sums: sums / counts,
)
TOTAL = gd.Aggregation("total", lambda groups: groups.sum(), lambda groups: groups.sum())
DISTINCT = gd.Aggregation(  # as the documentation of Dask has it
    "distinct",
    lambda groups: groups.apply(lambda values: list(set(values))),
    lambda groups: groups.obj.groupby(level=list(range(groups.obj.index.nlevels))).sum(),
    lambda lists: lists.apply(lambda values: len(set(values))),
)


def average(values):
    return values.mean()


def total(values):
    return values.sum()


def distinct(values):
    return values.nunique(dropna=False)


OURS = {"average": MEAN, "total": TOTAL, "distinct": DISTINCT}
THEIRS = {"average": average, "total": total, "distinct": distinct}
SPECS = {
    "one of all columns": lambda g, own: g[["x", "y"]].agg(own["total"]),
    "one of a column": lambda g, own: g["x"].agg(own["average"]),
    "a list of a column": lambda g, own: g["x"].agg([own["average"], "max", own["total"]]),
    "a dict": lambda g, own: g.agg({"x": own["average"], "y": "sum"}),
    "a dict of lists": lambda g, own: g.agg({"y": [own["distinct"], "max"], "x": ["count", own["average"]]}),
    "named": lambda g, own: g.agg(mean=("x", own["average"]), most=("y", "max")),
    "named of a column": lambda g, own: g["y"].agg(mean=own["average"], least="min"),
}


@pytest.mark.parametrize(
    "options", [{"by": "k"}, {"by": ["k", "n"]}, {"by": "n", "as_index": False}, {"by": "k", "dropna": False}]
)
def test_aggregations_in_steps_give_what_functions_give_in_pandas(options):
    for rows in (6, 1):
        frame = FRAME[:rows]
        for name, spec in SPECS.items():
            if ("as_index" in options and "column" in name) or ("dropna" in options and name == "a dict of lists"):
                continue  # pandas has no series with keys as columns; the documented steps leave out missing keys
            got = spec(partitionings(frame)[-1].groupby(**options), OURS).compute(**INLINE)
            assert_same(got, spec(frame.groupby(**options), THEIRS)), name


def test_the_steps_are_joined_by_a_tree():
    lazy = gd.from_pandas(pd.concat([FRAME] * 10, ignore_index=True), npartitions=20)
    got = lazy.groupby("k").x.agg(MEAN, split_every=2).compute(**INLINE)
    assert_same(got, FRAME.groupby("k").x.mean())
    categories = lazy.assign(k=lazy.k.astype("category").cat.set_categories(["z", "a", "b"]))
    for observed in (True, False):
        grouped = categories.groupby("k", observed=observed)
        assert_same(grouped.x.agg(TOTAL).compute(**INLINE), grouped.x.sum().compute(**INLINE))


def test_what_is_wrong_with_steps_is_said():
    lazy = gd.from_pandas(FRAME, npartitions=2).groupby("k")
    with pytest.raises(
        MetaError, match=r"Aggregation\('no'\) was tried on two made-up rows .* TypeError: a step of an Aggregation"
    ):
        lazy.x.agg(gd.Aggregation("no", lambda groups: 1, lambda groups: groups.sum()))
    with pytest.raises(MetaError, match="agg= returned 2 series, of which finalize= should make one"):
        lazy.x.agg(gd.Aggregation("two", lambda groups: (groups.sum(), groups.sum()), lambda a, b: (a.sum(), b.sum())))
    with pytest.raises(NotImplementedError, match=r"agg\(split_out=3\) isn't supported"):
        lazy.x.agg(MEAN, split_out=3)


def test_aggregations_of_dask_are_taken():
    theirs = {name: dd.Aggregation(name, one.chunk, one.agg, one.finalize) for name, one in OURS.items()}
    lazy = partitionings(FRAME)[1]
    for spec in SPECS.values():
        expected = spec(FRAME.groupby("k"), THEIRS)
        assert_same(spec(lazy.groupby("k"), theirs).compute(**INLINE), expected)
