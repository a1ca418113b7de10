"""Columns that are set by series of rows in another order and other partitions: each row gets the value of its label, as in pandas."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of
from glassloom.dataframe.grouping.wholes import Returned
from glassloom.errors import DivisionError
from glassloom.expr import walk

INLINE = {"scheduler": "inline"}
RANDOM = np.random.default_rng(5)
PLAIN = pd.DataFrame(
    {
        "k": RANDOM.integers(0, 5, 60),
        "t": RANDOM.permutation(60),
        "s": RANDOM.choice(list("abc"), 60),
        "d": pd.Timestamp("2020") + pd.to_timedelta(RANDOM.permutation(60), "h"),
        "c": pd.Categorical(RANDOM.choice(list("xyz"), 60)),
        "b": RANDOM.integers(0, 2, 60) == 1,
    }
)
INDEXES = {
    "numbers": PLAIN.index,
    "numbers not in order": pd.Index(RANDOM.permutation(60) * 3, name="i"),
    "texts": pd.Index([f"r{number}" for number in RANDOM.permutation(60)]),
    "floats, one missing": pd.Index([None, *map(float, range(59))]),
    "times": pd.date_range("2020", periods=60, freq="h", tz="Europe/Paris"),
    "several levels": pd.MultiIndex.from_product([range(6), range(10)], names=["p", "q"]),
}


def _set(frame, **columns):
    frame = frame.copy()
    for name, make in columns.items():
        frame[name] = make(frame)
    return frame


SET = {
    "gap": lambda f: _set(f, gap=lambda f: f.sort_values("t").groupby("k").t.diff()),
    "rank in group": lambda f: f.assign(r=f.sort_values(["k", "t"], ascending=False).groupby("k").cumcount()),
    "lag": lambda f: _set(f, lag=lambda f: f.sort_values("t").s.shift(), lead=lambda f: f.sort_values("t").d.shift(-1)),
    "running sum": lambda f: _set(f, total=lambda f: f.sort_values("d").t.cumsum(), c=lambda f: f.t * 2),
    "rolling": lambda f: f.assign(m=f.sort_values("d").t.rolling(3).mean()),
    "some rows": lambda f: f.assign(z=f.sort_values("t")[lambda g: g.t > 20].t, b=f.sort_values("t").head(20).b),
    "categories": lambda f: f.assign(z=f.sort_values("t").c),
    "into filtered rows": lambda f: f[f.t > 30].assign(z=f.sort_values("t").b),
    "used later": lambda f: (
        _set(f, gap=lambda f: f.sort_values("t").groupby("k").t.diff()).groupby("s").gap.max().sort_index()
    ),
}


@pytest.mark.each_choice
@pytest.mark.parametrize("name", SET)
@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("npartitions", [1, 3, 5])
def test_columns_are_set_by_label_from_sorted_rows(name, index, npartitions):
    plain = PLAIN.set_axis(index, axis=0)
    lazy = gd.from_pandas(plain, npartitions=npartitions, sort=False)
    assert_same(SET[name](lazy).compute(**INLINE), SET[name](plain))


def test_rows_stay_where_they_are_and_have_one_dtype_in_all_partitions():
    lazy = gd.from_pandas(PLAIN, npartitions=4)
    made = lazy.assign(z=lazy.sort_values("t")[lambda f: f.t != 7].t)
    assert made.divisions == lazy.divisions
    assert [len(block) for block in blocks_of(made)] == [len(block) for block in blocks_of(lazy)]
    assert {block.z.dtype for block in blocks_of(made)} == {np.dtype("float64")}
    assert any(isinstance(node, Returned) for node in walk([made.expr]))
    beside = lazy.assign(z=gd.from_pandas(PLAIN, npartitions=3).t)  # is cut alike, and doesn't move
    assert not any(isinstance(node, Returned) for node in walk([beside.expr]))


def test_labels_of_several_values_are_an_error_as_in_pandas():
    plain = PLAIN.set_axis([0, *range(59)])
    lazy = gd.from_pandas(plain, npartitions=3)
    with pytest.raises(ValueError, match="cannot reindex on an axis with duplicate labels"):
        SET["gap"](plain)
    with pytest.raises(
        ValueError, match="cannot reindex on an axis with duplicate labels.*several values for the label 0"
    ):
        SET["gap"](lazy).compute(**INLINE)


TIMES = pd.date_range("2020", periods=4)
PAIRS = [(1, 2), (3, 4), (5, 6), (7, 8)]
UNLIKE = {
    "dates": (pd.Index([time.date() for time in TIMES]), TIMES),
    "dates as a level": (pd.MultiIndex.from_product([[1], list(TIMES.date)]), pd.MultiIndex.from_product([[1], TIMES])),
    "tuples": (pd.Index(PAIRS, tupleize_cols=False), pd.MultiIndex.from_tuples(PAIRS)),
    "periods": (pd.Index(list(TIMES.to_period("D")), dtype=object), TIMES.to_period("D")),
}
LIKE = {
    "numbers": (pd.Index([3, 1, 2, 0]), pd.Index([0.0, 1, 2, 3])),
    "nullable numbers": (pd.Index([3, 1, 2, 0]), pd.Index([0, 1, 2, 3], dtype="Int64")),
    "texts": (pd.Index(list("dbca"), dtype=object), pd.Index(list("abcd"))),
    "categories": (pd.CategoricalIndex(list("dbca")), pd.Index(list("abcd"))),
    "times": (TIMES[::-1].as_unit("ns"), TIMES),
}


@pytest.mark.parametrize("name", [*UNLIKE, *LIKE])
def test_labels_that_are_equal_in_other_dtypes_are_refused_unless_their_hashes_are_equal(name):
    for indexes in (pair := (UNLIKE | LIKE)[name], pair[::-1]):
        plain = pd.DataFrame({"x": range(4)}, index=indexes[0]), pd.Series(range(4), index=indexes[1])
        frame, value = (
            gd.from_pandas(one, npartitions=count, sort=False) for one, count in zip(plain, (1, 2), strict=True)
        )
        if name in LIKE:
            assert_same(frame.assign(z=value).compute(**INLINE), plain[0].assign(z=plain[1]))
            continue
        with pytest.raises(DivisionError, match="cut differently"):
            frame.assign(z=value)


def test_objects_that_are_texts_stay_objects():
    value = pd.Series(["a", "b", None, "c"], dtype=object)
    plain = pd.DataFrame({"x": range(4)})
    for counts in ((1, 2), (2, 1), (2, 3)):
        frame, lazy = (
            gd.from_pandas(one, npartitions=count, sort=False)
            for one, count in zip((plain, value), counts, strict=True)
        )
        for one, expected in ((lazy, value), (lazy.dropna(), value.dropna())):
            assert_same(frame.assign(z=one).compute(**INLINE), plain.assign(z=expected))


def in_place(frame, plain):
    """Return computed rows, whose labels count those of each partition, under pandas' labels."""
    return frame.compute(**INLINE).set_axis(plain.index, axis=0)


def text_file(folder):
    """Return rows in a text file, read in parts, and as pandas reads them."""
    plain = PLAIN[["k", "t", "s", "b", "d"]]
    plain.to_csv(folder / "a.csv", index=False)
    return gd.read_csv(folder / "a.csv", blocksize=300, parse_dates=["d"]), pd.read_csv(
        folder / "a.csv", parse_dates=["d"]
    )


@pytest.mark.parametrize("name", ["gap", "rank in group", "lag", "running sum", "rolling", "used later"])
def test_rows_that_are_numbered_in_each_partition_get_the_values_of_their_places(tmp_path, name):
    lazy, plain = text_file(tmp_path)
    assert lazy.npartitions > 5
    made, expected = SET[name](lazy), SET[name](plain)
    assert_same(made.compute(**INLINE) if name == "used later" else in_place(made, expected), expected)
    made = lazy[lazy.t > 20]  # in place in a filtered frame, too
    made["gap"] = made.sort_values("d").groupby("k").t.diff()
    few = plain[plain.t > 20]
    expected = few.assign(gap=few.sort_values("d").groupby("k").t.diff())
    assert_same(in_place(made, expected), expected)


BESIDE = {
    "difference": lambda f: f.t - f.sort_values("t").groupby("k").t.shift(),
    "from the left": lambda f: f.sort_values("d").t.cumsum() / f.t,
    "texts": lambda f: f.s + f.sort_values("t").s.shift(fill_value="-"),
    "conditions": lambda f: f.b & (f.sort_values("t").t > 9),
    "of filtered rows": lambda f: f[f.t > 9].t * f[f.t > 9].sort_values("d").t.diff(),
}


@pytest.mark.parametrize("name", BESIDE)
def test_operators_put_sorted_rows_beside_those_in_the_order_of_their_numbers(tmp_path, name):
    read, plain = text_file(tmp_path)
    for lazy in (read, gd.from_pandas(plain, npartitions=4), gd.concat([read], ignore_index=True)):
        expected = BESIDE[name](plain)
        assert_same(in_place(BESIDE[name](lazy), expected), expected)


def test_operators_refuse_sorted_rows_beside_those_in_another_order():
    lazy = gd.from_pandas(PLAIN, npartitions=4)
    for frame in (
        lazy.sample(frac=0.9, random_state=1),
        gd.from_pandas(PLAIN[::-1], npartitions=3, sort=False),
        lazy.set_index("s"),
    ):
        with pytest.raises(DivisionError, match="sub: the operands are cut differently"):
            frame.t - frame.sort_values("t").t.shift()
    with pytest.raises(DivisionError, match="cut differently"):  # pandas refuses to compare them
        _ = lazy.t < lazy.sort_values("t").t


def test_joined_rows_get_the_values_of_their_places():
    keys = pd.DataFrame({"k": range(5), "n": list("vwxyz")})
    lazy = gd.from_pandas(PLAIN, npartitions=4).merge(gd.from_pandas(keys, npartitions=2), on="k")
    plain = PLAIN.merge(keys, on="k")
    made, expected = (SET["gap"](frame).sort_values("t")[["t", "n", "gap"]] for frame in (lazy, plain))
    assert_same(made.compute(**INLINE).reset_index(drop=True), expected.reset_index(drop=True))


def test_rows_of_which_no_place_is_known_are_refused_and_can_be_numbered(tmp_path):
    lazy, plain = text_file(tmp_path)
    known = gd.from_pandas(plain, npartitions=3)
    ordered = lazy.sort_values("t")
    for frame, value in (
        (known, ordered.t),
        (lazy, known.sort_values("t").t),
        (lazy, ordered[ordered.t > 5].t),
        (lazy, lazy.sort_values("t", ignore_index=True).t),
        (lazy, ordered.reset_index(drop=True).t),
    ):
        with pytest.raises(
            DivisionError, match=r"count those of each partition: .*concat\(\[frame\], ignore_index=True\) numbers"
        ):
            frame.assign(z=value)
    twice = gd.concat([lazy, lazy])
    with pytest.raises(ValueError, match="cannot reindex on an axis with duplicate labels"):  # as in pandas
        SET["gap"](twice).compute(**INLINE)
    numbered = gd.concat([lazy], ignore_index=True)
    assert_same(SET["some rows"](numbered).compute(**INLINE), SET["some rows"](plain))


LATER = {
    "filtered": lambda f: f[f.t > 30],
    "filtered by the column": lambda f: f[f.gap > 3].k,
    "filtered and summed": lambda f: f[f.t > 30].gap.sum(),
    "one column": lambda f: f.gap,
    "another column": lambda f: f.x,
    "counted": lambda f: len(f[f.t % 2 == 0]),
    "first rows": lambda f: f.head(3),
    "grouped": lambda f: f[f.k < 3].groupby("k").gap.mean(),
    "joined": lambda f: (
        f.merge(f[["k"]].drop_duplicates(), on="k").sort_values("t")[["t", "gap"]].reset_index(drop=True)
    ),
    "set again": lambda f: f.assign(gap=f.sort_values("x").gap.fillna(0)),
    "labels": lambda f: f.loc[10:20, "gap"],
}


@pytest.mark.parametrize("name", LATER)
def test_what_is_made_of_such_columns_is_pandas(tmp_path, name):
    plain = PLAIN[["k", "t"]].assign(x=PLAIN.t * 7 % 60)
    plain.to_parquet(tmp_path / "a.parquet", row_group_size=13)
    plain.to_csv(tmp_path / "a.csv", index=False)
    read = gd.read_parquet(tmp_path / "a.parquet", split_row_groups=1), gd.read_csv(tmp_path / "a.csv", blocksize=99)
    for number, lazy in enumerate((gd.from_pandas(plain, npartitions=4), *read)):
        if number == 2 and name == "labels":
            continue
        expected, found = LATER[name](SET["gap"](plain)), LATER[name](SET["gap"](lazy))
        found = found.compute(**INLINE) if hasattr(found, "compute") else found
        found = found.reset_index(drop=True) if name == "joined" else found
        if isinstance(expected, (pd.DataFrame, pd.Series)):
            found = found.set_axis(expected.index, axis=0) if number == 2 and name != "grouped" else found
            assert_same(found, expected)
        else:
            assert found == expected
