"""Numbers of rows, columns and partitions may be NumPy's, also small unsigned ones, whose negatives overflow."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same

INLINE = {"scheduler": "inline"}
FRAME = pd.DataFrame({"x": range(20), "y": np.arange(20.0) % 7, "k": list("abcde") * 4})
CALLS = {
    "head": lambda f, n: f.head(n),
    "tail": lambda f, n: f.tail(n=n),
    "nlargest": lambda f, n: f.nlargest(n, "x"),
    "shift": lambda f, n: f.y.shift(n),
    "shift by several": lambda f, n: f[["y"]].shift([n, n]),
    "diff": lambda f, n: f.x.diff(periods=n),
    "pct_change": lambda f, n: f.y.pct_change(n),
    "rolling": lambda f, n: f.y.rolling(n).sum(),
    "rolling with fewer": lambda f, n: f.y.rolling(5, min_periods=n).sum(),
    "ffill": lambda f, n: f.y.where(f.y < 2).ffill(limit=n),
    "bfill": lambda f, n: f.y.where(f.y < 2).bfill(limit=n),
    "interpolate": lambda f, n: f.y.where(f.y < 2).interpolate(limit=n),
    "groups' shift": lambda f, n: f.groupby("k").x.shift(n),
    "groups' head": lambda f, n: f.groupby("k").head(n),
    "sum": lambda f, n: f.x.sum(min_count=n),
    "dropna": lambda f, n: f.where(f.x > 3).dropna(thresh=n),
}


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
@pytest.mark.parametrize("name", CALLS)
def test_methods_take_whole_numbers_of_numpy(name, kind):
    lazy = gd.from_pandas(FRAME, npartitions=3)
    got = CALLS[name](lazy, kind(2))
    assert_same(got.compute(**INLINE) if hasattr(got, "compute") else got, CALLS[name](FRAME, 2))


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_numbers_of_partitions_are_whole_numbers_of_numpy(kind):
    lazy = gd.from_pandas(FRAME, npartitions=kind(4))
    assert lazy.npartitions == 4
    assert gd.from_pandas(FRAME, chunksize=kind(5)).npartitions == 4
    assert lazy.repartition(npartitions=kind(2)).npartitions == 2
    assert lazy.repartition(partition_size=kind(200)).compute(**INLINE).equals(FRAME)
    assert lazy.groupby("k").x.sum(split_out=kind(2), split_every=kind(2)).npartitions == 2
    assert lazy.head(kind(7), npartitions=kind(2)).equals(FRAME.head(7))
    assert lazy.x.sum(split_every=kind(2)).compute(**INLINE) == 190
    assert_same(gd.cut(lazy.x, kind(3)).compute(**INLINE), pd.cut(FRAME.x, 3))
    assert_same(gd.qcut(lazy.x, kind(3)).compute(**INLINE), pd.qcut(FRAME.x, 3))


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
@pytest.mark.parametrize(
    "options",
    [
        {"skiprows": 3, "header": None},
        {"skiprows": [1, 2]},
        {"nrows": 3},
        {"header": 0, "index_col": 0},
        {"usecols": [0, 1]},
        {"parse_dates": [1]},
        {"skipfooter": 2, "engine": "python"},
    ],
    ids=repr,
)
def test_text_is_read_by_whole_numbers_of_numpy(tmp_path, kind, options):
    text = FRAME.assign(y=pd.date_range("2000", periods=20)).set_index("x").to_csv()
    (tmp_path / "data.csv").write_text(text)
    numbers = {
        name: kind(value) if type(value) is int else [kind(one) for one in value] if type(value) is list else value
        for name, value in options.items()
    }
    expected = pd.read_csv(tmp_path / "data.csv", **options)
    is_cut = not any(name in options for name in ("skipfooter", "nrows")) and options.get("skiprows") != [1, 2]
    for size in (None, kind(120)) if is_cut else (None,):
        got = gd.read_csv(tmp_path / "data.csv", blocksize=size, **numbers)
        whole = got.compute(**INLINE)
        assert_same(whole if "index_col" in options else whole.reset_index(drop=True), expected)


def test_users_functions_get_numbers_as_they_are_given():
    def kind_of(block, n, *, limit):
        return pd.Series([type(n).__name__, type(limit).__name__])

    lazy = gd.from_pandas(FRAME, npartitions=1)
    got = lazy.map_partitions(kind_of, np.int8(3), limit=np.int8(4), meta=(None, object)).compute(**INLINE)
    assert got.tolist() == ["int8", "int8"]
    assert lazy.x.astype("int8").fillna(np.int8(3)).dtype == "int8"


def test_values_of_columns_that_are_named_as_arguments_stay_numpys():
    lazy = gd.from_pandas(FRAME, npartitions=2)
    made = lazy.assign(n=np.int8(5), window=[np.uint8(200)] * len(FRAME), k=lambda frame: frame.x)
    assert made.dtypes[["n", "window"]].tolist() == [np.dtype("int8"), np.dtype("uint8")]
