"""Columns that nothing is made of aren't read, whatever lies between the file and the choice of the others."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, labels, reads
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}


def rows():
    random = np.random.default_rng(5)
    frame = pd.DataFrame({name: random.integers(0, 9, 40) + 0.5 for name in "abcd"})
    frame.loc[random.random(40) < 0.3, "a"] = np.nan
    frame["flag"] = random.random(40) < 0.5
    frame["s"] = random.choice(["x", "y", "z"], 40)
    return frame


FRAME = rows()


@pytest.fixture(scope="module")
def lazy(tmp_path_factory):
    path = tmp_path_factory.mktemp("needed") / "rows.parquet"
    FRAME.to_parquet(path, row_group_size=10)
    return gd.read_parquet(path, split_row_groups=True)


OTHER = pd.DataFrame({"a": [0.5, 1.5], "z": [1, 2]})
NARROWED = {
    "renamed": (lambda f: f.rename(columns={"a": "A"})[["b", "A"]], "ab"),
    "renamed crosswise": (lambda f: f.rename(columns={"a": "b", "b": "a"})[["a"]], "b"),
    "renamed by a function": (lambda f: f.rename(columns=str.upper).B, "b"),
    "renamed twice": (lambda f: f.rename(columns={"a": "A"}).rename(columns={"A": "B"})[["B", "c"]], "ac"),
    "with a prefix": (lambda f: f.add_prefix("p_")[["p_a"]], "a"),
    "with a suffix": (lambda f: f.add_suffix("_s").a_s.sum(), "a"),
    "as a dict says": (lambda f: f.astype({"b": "float32", "c": "int64"})[["b", "d"]], "bd"),
    "one as a dict says": (lambda f: f.astype({"b": "float32", "c": "int64"}).b, "b"),
    "none as a dict says": (lambda f: f.astype({"b": "float32"})[["c"]], "c"),
    "filled": (lambda f: f.fillna({"a": 0.0, "s": ""})[["a", "b"]], "ab"),
    "rounded": (lambda f: f.round({"a": 0, "b": 0}).b.max(), "b"),
    "rounded by a series": (lambda f: f[["a", "b"]].round(pd.Series({"a": 0})).b, "ab"),
    "without missing values": (lambda f: f.dropna(subset=["a"])[["b"]], "b"),
    "without missing values of several": (lambda f: f.dropna(subset=["a", "c"], how="all")[["b"]], "abc"),
    "without the index": (lambda f: f.reset_index(drop=True)[["b"]], "b"),
    "with another index": (lambda f: f.set_index("a")[["b"]], "ab"),
    "with two levels": (lambda f: f.set_index(["a", "b"], drop=False).c.min(), "abc"),
    "distinct": (lambda f: f.drop_duplicates("a")[["b"]], "ab"),
    "largest": (lambda f: f.nlargest(5, "c")[["b"]], "bc"),
    "smallest by two": (lambda f: f.nsmallest(7, ["c", "a"], keep="last").b, "abc"),
    "distinct counted": (lambda f: f.drop_duplicates(["a", "b"]).shape[0], "ab"),
    "joined and counted": (lambda f: f.merge(f[["b", "d"]], on="b").shape[0], "b"),
    "concatenated and counted": (lambda f: gd.concat([f[f.b > 2], f]).shape[0], "ab"),
    "sorted": (lambda f: f.sort_values("c", npartitions=3)[["b"]], "bc"),
    "sampled": (lambda f: f.sample(frac=0.5, random_state=1)[["b"]], "b"),
    "concatenated": (lambda f: gd.concat([f, f])[["b"]], "b"),
    "in fewer partitions": (lambda f: f.repartition(npartitions=2)[["b"]], "b"),
    "melted": (lambda f: f.melt(id_vars="s", value_vars=["a", "b"]), "abs"),
    "joined": (lambda f: f.rename(columns={"b": "B"}).merge(OTHER, on="a")[["B", "z"]], "ab"),
    "grouped": (lambda f: f.rename(columns={"s": "key", "b": "B"}).groupby("key").B.sum(), "bs"),
    "clipped": (lambda f: f[["a", "b"]].clip(1, 5).b, "b"),
    "one aggregated": (lambda f: f.groupby("s").mean(numeric_only=True)["b"], "bs"),
    "some aggregated": (lambda f: f.groupby("s").agg({"a": "sum", "b": "max", "c": "var"})[["c", "b"]], "bcs"),
    "one by a name": (lambda f: f.groupby(["s", "a"]).agg(m=("b", "sum"), n=("c", "nunique"), v=("d", "var")).n, "acs"),
    "counted": (lambda f: f.groupby("s").agg(n=("b", "size"), m=("c", "max")).n, "s"),
    "rows counted": (lambda f: f.groupby(["s", "a"]).size(), "as"),
    "rows counted by a condition": (lambda f: f.groupby(f.b > 3).size(), "ab"),
    "rows numbered": (lambda f: f.groupby("s").cumcount(), "s"),
    "by a function": (lambda f: f.groupby("s")[["a", "b"]].apply(lambda rows: rows.b.max()), "abs"),
    "by a condition": (lambda f: f.groupby(f.a > 2, sort=False).agg({"b": "first", "c": "mean"}).c, "ac"),
    "rows between labels": (lambda f: f.loc[5:20].b.sum(), "b"),
    "rows between labels, of a condition": (lambda f: (lambda g: g[g.b > 2].a.sum())(f.loc[5:30]), "ab"),
    "first rows": (lambda f: f.truncate(before=3)[["b"]], "b"),
    "beside another frame": (lambda f: (f[["a", "b", "c"]] + f[["c", "b", "a"]])[["c"]].c.sum(), "c"),
    "compared with another frame": (lambda f: (f[["a", "b"]] > f[["a", "b"]].shift(1)).b.sum(), "b"),
    "where a table is true": (lambda f: (lambda g: g.where(g > 2))(f[["a", "b", "c"]])[["b"]], "b"),
    "where a series is true": (lambda f: f[["a", "b", "c"]].mask(f.c > 4, 0.0).b, "bc"),
    "times a series": (lambda f: f[["a", "b", "c"]].mul(f.d, axis=0)[["a"]], "ad"),
    "replaced": (lambda f: f.replace(0.5, 9.0).b.sum(), "b" if HAS_COPY_ON_WRITE else ""),  # beside objects all
    "several replaced": (lambda f: f.replace([0.5, np.inf], np.nan)[["b"]], "b" if HAS_COPY_ON_WRITE else ""),
    "replaced by column": (lambda f: f.replace({"b": {0.5: 9.0}, "c": {1.5: 0.0}}).b, "b" if HAS_COPY_ON_WRITE else ""),
    "replaced by None": (lambda f: f.replace([0.5], [None]).b.isna().sum(), ""),
    "under an index of another name": (lambda f: f.rename_axis("row").b, "b"),
    "under other labels of columns": (lambda f: f[["a", "b", "c"]].set_axis(["x", "y", "z"], axis=1)[["z", "x"]], "ac"),
    "reindexed": (lambda f: f.reindex(columns=["c", "a"]), "ac"),
    "exploded": (lambda f: f.explode("a").c, "ac"),
    "filtered": (lambda f: (lambda g: g[g.A > 2][["b"]])(f.rename(columns={"a": "A"})), "b"),
}


def with_pandas(make):
    """Return what a function of `NARROWED` makes of the whole frame."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gd, "concat", pd.concat)
        return make(FRAME)


@pytest.mark.parametrize("make, needed", NARROWED.values(), ids=NARROWED)
def test_columns_that_are_not_needed_are_not_read(lazy, make, needed):
    found = make(lazy)
    assert {name for read in reads(found) for name in read.columns or ()} == set(needed)


COMPARED = {
    name: make
    for name, (make, _) in NARROWED.items()
    if name not in ("sampled", "sorted", "melted", "in fewer partitions")
}


@pytest.mark.parametrize("make", COMPARED.values(), ids=COMPARED)
def test_results_are_those_of_pandas(lazy, make):
    got, expected = make(lazy).compute(**INLINE), with_pandas(make)
    if isinstance(expected, (pd.DataFrame, pd.Series)):
        order = list(expected.columns) if isinstance(expected, pd.DataFrame) else None
        got, expected = (
            one.reset_index(drop=True).sort_values(order, ignore_index=True) if order else one.reset_index(drop=True)
            for one in (got, expected)
        )
    assert_same(got, expected)


def test_rows_are_sorted_sampled_and_divided_as_with_all_columns(lazy):
    assert_same(
        lazy.sort_values("c", npartitions=3)[["b"]].compute(**INLINE), FRAME.sort_values("c", kind="stable")[["b"]]
    )
    halves = lazy.repartition(npartitions=2)
    assert_same(halves[["b"]].partitions[1].compute(**INLINE), halves.partitions[1].compute(**INLINE)[["b"]])
    sampled = lazy.sample(frac=0.5, random_state=1)
    assert_same(sampled[["b"]].compute(**INLINE), sampled.compute(**INLINE)[["b"]])
    assert_same(sampled.b.compute(**INLINE), sampled.compute(**INLINE).b)


def test_conditions_on_renamed_columns_are_those_of_the_file(lazy):
    renamed = lazy.rename(columns={"a": "b", "b": "a", "flag": "is_new"})
    expected = FRAME.rename(columns={"a": "b", "b": "a", "flag": "is_new"})
    for choose in (lambda f: f[f.a > 3], lambda f: f[f.is_new & (f.b < 5)], lambda f: f[f.a.isin([0.5, 2.5])]):
        (read,) = reads(choose(renamed))
        assert read.condition
        assert_same(choose(renamed).compute(**INLINE).reset_index(drop=True), choose(expected).reset_index(drop=True))
    (read,) = reads(renamed[renamed.a > 3])
    assert read.condition[0].column == "b"


def test_missing_values_are_left_out_while_reading(lazy):
    for choose in (lambda f: f.dropna(subset=["a", "b"]), lambda f: f.dropna(subset="a").dropna(subset="s")):
        (read,) = reads(choose(lazy))
        assert [one.operator for one in read.condition] == ["notna", "notna"]
        assert_same(choose(lazy).compute(**INLINE).reset_index(drop=True), choose(FRAME).reset_index(drop=True))


WHOLE = {
    "labels that occur twice": lambda f: f.rename(columns={"a": "b"})["b"],
    "a label twice": lambda f: f.rename(columns={"a": "A"})[["A", "A"]],
    "labels of two levels": lambda f: f.set_axis(pd.MultiIndex.from_product([["x", "y"], [1, 2, 3]]), axis=1)["x"],
    "named labels": lambda f: f.rename_axis(columns="of").rename(columns={"a": "A"})[["A", "b"]],
    "an index called index": lambda f: f.rename(columns={"a": "index"}).reset_index()[["level_0", "b"]],
    "the index as a column": lambda f: f.reset_index()[["index"]],
    "the index of two levels": lambda f: f.set_index(["a", "b"]).reset_index()[["b", "c"]],
    "an index beside another": lambda f: f.set_index("a", append=True)[["b"]],
    "all columns in another order": lambda f: f.rename(columns={"a": "A"})[["s", "flag", "d", "c", "b", "A"]],
    "all of a dict": lambda f: f[["a", "b"]].astype({"a": "float32", "b": "float32"})[["b", "a"]],
    "a column alone": lambda f: f[["b"]].rename(columns={"b": "B"}).B,
    "rows by all columns": lambda f: f.dropna()[["b"]],
    "rows with enough values": lambda f: f.dropna(subset=["a", "b"], thresh=1)[["c"]],
    "frames of other columns": lambda f: gd.concat([f[["a", "b"]], f[["b", "c"]]])[["b"]],
    "frames in part": lambda f: gd.concat([f, f], join="inner")[["c", "a"]],
}


DIVIDED = {
    "by a frame": lambda f: (f // f)["a"],
    "the rest": lambda f: (f % f)[["a"]],
    "a number by a frame": lambda f: (5 // f)["a"],
    "by a method": lambda f: f.rmod(5)["a"],
    "by a series": lambda f: f.rfloordiv(f.b, axis=0)[["a"]],
}


@pytest.mark.parametrize("make", DIVIDED.values(), ids=DIVIDED)
def test_whole_numbers_are_divided_beside_the_columns_on_which_their_dtype_depends(make):
    frame = pd.DataFrame({"a": [4, 5, 6, 7], "b": [1, 0, 2, 1]})
    assert_same(make(gd.from_pandas(frame, npartitions=1)).compute(**INLINE), make(frame))


def test_columns_that_others_make_objects_of_stay_beside_them():
    frame = pd.DataFrame({"a": [1.5, 2.0], "b": [1.0, 2.0]})
    choose = lambda f, other: f.where(f > 9, other)["a"]  # noqa: E731
    texts = frame.assign(b=["u", "v"])
    lazy, other = gd.from_pandas(frame, npartitions=1), gd.from_pandas(texts, npartitions=1)
    assert_same(choose(lazy, other).compute(**INLINE), choose(frame, texts))
    objects = pd.DataFrame({"b": pd.Series([1, 2, pd.NA], dtype=object), "d": pd.Series([1, "q", None], dtype=object)})
    got = gd.from_pandas(objects, npartitions=1).mul(2)["b"].compute(**INLINE)
    assert list(map(repr, got)) == list(map(repr, objects.mul(2)["b"]))


def test_rows_chosen_by_other_labels_of_the_same_rows_are_others():
    times = pd.date_range("2020", periods=40, freq="3h", tz="UTC")
    frame = pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40.0)}, index=times)
    both = lambda f: f.at_time("03:00").x + f.tz_convert("Asia/Tokyo").at_time("03:00").y  # noqa: E731
    assert len(both(gd.from_pandas(frame, npartitions=1, sort=False))) == len(both(frame)) == 10


def test_frames_are_reindexed_to_labels_as_they_are_given():
    for columns, names in (
        ([1, 2], [1.0]),
        ([1, 2], [True]),
        (pd.CategoricalIndex(["a", "b"]), ["b"]),
        (["a", 1], [1]),
    ):
        frame = pd.DataFrame([[1, 2], [3, 4]], columns=columns)
        got = gd.from_pandas(frame, npartitions=2).reindex(columns=names).compute(**INLINE)
        pd.testing.assert_frame_equal(got, frame.reindex(columns=names))


def test_columns_that_are_computed_one_by_one_share_what_lies_below():
    frame = pd.DataFrame(np.arange(60.0).reshape(6, 10), columns=list("abcdefghij"))
    lazy = gd.from_pandas(frame, npartitions=2)
    chosen = (lambda f: f.where(f > 3).loc[1:4])(lazy.add(lazy.shift(1)))
    assert labels(*[chosen[name].sum() for name in frame.columns]).count("loc") == 1
    assert labels(chosen.a.sum(), chosen.b.sum()).count("where") == 1


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_what_is_harder_to_tell_apart_is_as_in_pandas(make):
    """From memory: each partition of a file has labels of its own."""
    got = make(gd.from_pandas(FRAME, npartitions=4)).compute(**INLINE)
    expected = with_pandas(make)
    if isinstance(expected.index, pd.RangeIndex) and "index" in getattr(expected, "columns", ()):
        got = got.reset_index(drop=True)  # numbers each partition
    assert_same(got.reset_index(drop=True), expected.reset_index(drop=True))


def test_two_columns_of_groups_share_their_aggregation(lazy):
    groups = lazy.groupby("s").mean(numeric_only=True)
    assert labels(groups.a, groups.b).count("groupby-mean") == 1


@pytest.mark.parametrize("observed", [True, False])
def test_one_column_of_groups_by_categories_and_of_no_rows(observed):
    for frame in (FRAME, FRAME[:0]):
        frame = frame.assign(s=frame.s.astype(pd.CategoricalDtype(["z", "x", "w", "y"])))
        one = lambda f: f.groupby("s", observed=observed).agg({"a": "sum", "b": "max"}).b  # noqa: E731
        assert_same(one(gd.from_pandas(frame, npartitions=3)).compute(**INLINE), one(frame))


def test_an_index_of_a_series_takes_no_column():
    by_series = lambda f: f.set_index(f.a.fillna(0) + 1)[["b"]]  # noqa: E731
    got = by_series(gd.from_pandas(FRAME, npartitions=4)).compute(**INLINE)
    assert_same(got, by_series(FRAME).sort_index(kind="stable"))
    with_another = lambda f: f.set_index(["s", f.b + 1])[["c"]]  # noqa: E731
    assert_same(with_another(gd.from_pandas(FRAME, npartitions=1)).compute(**INLINE), with_another(FRAME))


def test_two_choices_of_distinct_rows_share_them():
    rows = gd.from_pandas(FRAME, npartitions=4).drop_duplicates("a")
    both = labels(rows[["b"]], rows[["c"]])
    assert both.count("drop-duplicates") == 1


STEPS = {
    "rename": lambda f: f.rename(columns=dict(zip(f.columns, [*f.columns[1:], f.columns[0]], strict=True))),
    "prefix": lambda f: f.add_prefix("p"),
    "cast": lambda f: f.astype({f.columns[-1]: object}),
    "fill": lambda f: f.fillna({f.columns[0]: 7}),
    "round": lambda f: f.round({f.columns[0]: 0}),
    "dropna": lambda f: f.dropna(subset=list(f.columns[:1])),
    "reset": lambda f: f.reset_index(drop=True),
    "index as a column": lambda f: f.rename_axis(index=f"i{len(f.columns)}").reset_index(),
    "distinct": lambda f: f.drop_duplicates(list(f.columns[:2])),
    "concat": lambda f: gd.concat([f, f]),
    "concat of parts": lambda f: gd.concat([f, f[list(f.columns[:-1])]]),
    "filter": lambda f: f[f[f.columns[0]].notna()],
    "assign": lambda f: f.assign(**{str(f.columns[0]): f[f.columns[-1]], "new": 1}),
    "group": lambda f: f.groupby(f.columns[0]).agg({name: "count" for name in f.columns[1:]}),
    "group by two": lambda f: f.groupby([f.columns[0], f.columns[-1]], as_index=False).agg(
        {name: "max" for name in f.columns[1:-1]}
    ),
    "repartition": lambda f: f.repartition(npartitions=2),
    "sample": lambda f: f.sample(frac=0.5, random_state=3),
    "sort": lambda f: f.sort_values([f.columns[0], f.columns[-1]]),
    "merge": lambda f: f.merge(
        f[list(f.columns[:2])].drop_duplicates(f.columns[0]).rename(columns={f.columns[1]: f"n{len(f.columns)}"}),
        on=f.columns[0],
    ),
}


@settings(max_examples=examples(40), deadline=None)
@given(names=st.lists(st.sampled_from(list(STEPS)), min_size=1, max_size=5), data=st.data())
def test_chains_of_which_some_columns_are_chosen_are_as_written(lazy, names, data):
    made = lazy[["s", "b", "a", "d"]] if data.draw(st.booleans()) else lazy.drop(columns="flag")
    for name in names:
        if len(made.columns) < 3 and name in ("group", "group by two", "concat of parts", "merge"):
            continue
        made = STEPS[name](made)
    chosen = data.draw(st.lists(st.sampled_from(list(made.columns)), min_size=1, unique=True))
    some = made[chosen[0]] if len(chosen) == 1 and data.draw(st.booleans()) else made[chosen]
    assert_same(some.compute(**INLINE), some.compute(optimize_graph=False, **INLINE))
