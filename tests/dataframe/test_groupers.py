"""`pandas.Grouper`: groups by stretches of time, alone and beside other keys, are those of pandas."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, partitionings
from pandas import Grouper

INLINE = {"scheduler": "inline"}
_RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "t": pd.Timestamp("2024-01-03 05:30") + pd.to_timedelta(_RANDOM.integers(0, 60 * 24 * 9, 24), unit="min"),
        "k": list("ab") * 12,
        "x": np.arange(24) * 1.5,
        "y": _RANDOM.integers(0, 5, 24),
    }
)
FRAME.loc[3, "t"] = pd.NaT
BY_TIME = FRAME.dropna().set_index("t").sort_index()
OF_COLUMNS = {
    "alone": lambda f: f.groupby(Grouper(key="t", freq="2D"))[["x", "y"]].sum(),
    "alone in a list": lambda f: f.groupby([Grouper(key="t", freq="7h")]).x.count(),
    "several aggregations": lambda f: f.groupby(Grouper(key="t", freq="D")).agg({"x": "mean", "y": ["min", "max"]}),
    "beside a column": lambda f: f.groupby(["k", Grouper(key="t", freq="D")]).sum(),
    "named": lambda f: f.groupby([Grouper(key="t", freq="7h"), "k"]).agg(n=("x", "count"), most=("y", "max")),
    "months": lambda f: f.groupby(["k", Grouper(key="t", freq="MS")]).first(),
    "keys as columns": lambda f: f.groupby(["k", Grouper(key="t", freq="D")], as_index=False).x.sum(),
    "sizes": lambda f: f.groupby(["k", Grouper(key="t", freq="D")]).size().reset_index(name="n"),
    "rows": lambda f: f.groupby(["k", Grouper(key="t", freq="3D")]).x.transform("sum"),
    "sums along the rows": lambda f: f.groupby(["k", Grouper(key="t", freq="3D")]).x.cumsum(),
    "a function": lambda f: f.groupby(["k", Grouper(key="t", freq="3D")]).apply(lambda g: g.x.max() - g.x.min()),
    "last rows": lambda f: f.groupby(["k", Grouper(key="t", freq="4D")])[["x", "y"]].tail(1),
    "closed": lambda f: f.groupby(["k", Grouper(key="t", freq="6h", closed="right", label="right")]).x.median(),
    "origin": lambda f: f.groupby(["k", Grouper(key="t", freq="7h", origin="start")]).x.sum(),
    "missing times": lambda f: f.groupby(["k", Grouper(key="t", freq="D")], dropna=False).x.sum(),
    "a column alone": lambda f: f.groupby(Grouper(key="k")).x.sum(),
    "a column beside": lambda f: f.groupby([Grouper(key="k"), "y"]).x.sum(),
}
OF_LABELS = {
    "alone": lambda f: f.groupby(Grouper(freq="D")).y.sum(),
    "weeks": lambda f: f.groupby(Grouper(freq="W")).size(),
    "beside a column": lambda f: f.groupby(["k", Grouper(freq="2D")]).x.mean(),
    "a series": lambda f: f.x.groupby(Grouper(level="t", freq="2D")).max(),
    "a level": lambda f: f.groupby(["k", Grouper(level="t", freq="W")]).x.median(),
    "a level alone": lambda f: f.groupby(Grouper(level=0)).x.sum(),
}


@pytest.mark.parametrize(("frame", "operations"), [(FRAME, OF_COLUMNS), (BY_TIME, OF_LABELS), (FRAME[:1], OF_COLUMNS)])
def test_stretches_of_time_are_those_of_pandas(frame, operations):
    for operation in operations.values():
        for lazy in partitionings(frame)[1 : 2 if operations is OF_LABELS else 3 : 2 if len(frame) == 1 else 1]:
            assert_same(operation(lazy).compute(**INLINE), operation(frame))


def test_what_groups_by_stretches_of_time_cant_do_is_said():
    lazy = gd.from_pandas(FRAME, npartitions=2)
    grouped = lazy.groupby(["k", Grouper(key="t", freq="2h")])
    for ask in (grouped.head, lambda: grouped.get_group(("a", FRAME.t[0])), lambda: grouped.nth(0)):
        with pytest.raises(NotImplementedError, match=r"such as frame.assign\(bin=frame\['t'\].dt.floor\('2h'\)\)"):
            ask()
    with pytest.raises(NotImplementedError, match=r"as_index=False\): reset_index\(\) of the result"):
        lazy.groupby(Grouper(key="t", freq="D"), as_index=False)
