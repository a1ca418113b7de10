"""Lazy values where pandas has values at hand: taken as pandas takes them, or refused by one error that says which and what to do."""

import functools

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_in_parts, partitionings
from glassloom.errors import MetaError

INLINE = {"scheduler": "inline"}
PLAIN = pd.DataFrame(
    {
        "x": [1.0, 2, 3, 4, 5, 2, 7.5],
        "y": [3, 1, 2, 2, 2, 9, 4],
        "name": [*"xyzxyz", None],
        "ts": pd.date_range("2020-01-01", periods=7),
    },
    index=pd.Index(range(10, 17), name="k"),
)


def changed(frame, key, value, how="loc"):
    own = frame.copy()
    getattr(own, how)[key] = value
    return own


SUBSCRIPTS = {
    "labels from one": lambda f: f.loc[f.index.min() + 2 :],
    "labels to one": lambda f: f.loc[: f.x.idxmax()],
    "labels in a list": lambda f: f.loc[[f.x.idxmax(), 11]],
    "one of a column": lambda f: f.loc[f.x.idxmax(), "x"],
    "one of a series": lambda f: f.x.loc[f.x.idxmax()],
    "in brackets": lambda f: f.x[f.x.idxmax()],
    "in brackets to one": lambda f: f.x[: f.y.min()],
    "rows of a frame": lambda f: f[f.y.min() : 3],
    "at": lambda f: f.at[f.x.idxmax(), "x"],
    "at of a series": lambda f: f.x.at[f.x.idxmax()],
    "position": lambda f: f.iloc[f.y.min()],
    "positions to one": lambda f: f.iloc[: f.y.min()],
    "positions in a list": lambda f: f.iloc[[f.y.min(), 0]],
    "position of a series": lambda f: f.x.iloc[f.y.min()],
    "iat": lambda f: f.iat[f.y.min(), 0],
    "a column": lambda f: f[f.name.min()],
    "columns": lambda f: f[[f.name.min(), "y"]],
    "column of groups": lambda f: f.groupby("y")[f.name.min()].sum(),
    "labels of an index": lambda f: f.index[: f.y.min()],
    "set at a label": lambda f: changed(f, (f.x.idxmax(), "y"), 50),
    "set between labels": lambda f: changed(f, (slice(f.x.idxmin() + 1, f.x.idxmax()), "y"), 50),
    "set at": lambda f: changed(f, (f.x.idxmax(), "y"), 50, "at"),
    "set at a position": lambda f: changed(f, (f.y.min(), 1), 50, "iloc"),
    "number of intervals": lambda f: (gd if hasattr(f, "compute") else pd).cut(f.x, f.y.min() + 1).astype(str),
    "rounded": lambda f: f.x.sum().round(f.y.min()),
    "method of a time": lambda f: f.ts.max().floor("2D"),
    "method of text": lambda f: f.name.max().upper(),
    "quantile": lambda f: f.x.quantile(f.y.min() / 10),
    "decimals": lambda f: f.x.round(f.y.min()),
    "limits": lambda f: f.x.clip(f.x.min() + 1, f.y.max()),
}


@pytest.mark.more
@pytest.mark.parametrize("case", SUBSCRIPTS)
def test_lazy_values_choose_as_their_values_do(case):
    check_in_parts(PLAIN.assign(name=["x", "y", "z", "x", "y", "z", "z"]), SUBSCRIPTS[case])


def test_lazy_whole_numbers_count():
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    least = lazy.y.min()
    assert list(range(least)) == [0]
    assert [5, 6, 7][least] == 6
    with pytest.raises(TypeError, match="'numpy.float64' object cannot be interpreted as an integer"):
        range(lazy.x.min())


REFUSED = {
    "truncate: before=": lambda f: f.truncate(before=f.x.idxmin()),
    "nlargest: n=": lambda f: f.nlargest(f.y.min(), "x"),
    "head: n=": lambda f: f.head(f.y.min()),
    "rolling: window=": lambda f: f.x.rolling(f.y.min()),
    "shift: periods=": lambda f: f.shift(periods=f.y.min()),
    "var: ddof=": lambda f: f.x.var(ddof=f.y.min()),
    "sort_values: ascending=": lambda f: f.sort_values("x", ascending=f.x.max() > 3),
    "sample: frac=": lambda f: f.sample(frac=f.y.min()),
    "repartition: npartitions=": lambda f: f.repartition(npartitions=f.y.min()),
    "drop: labels=": lambda f: f.drop(f.x.idxmax()),
    "set_index: keys=": lambda f: f.set_index(f.name.min()),
    "groupby: by=": lambda f: f.groupby(f.name.min()),
    "xs: key=": lambda f: f.xs(f.x.idxmax()),
    "GroupBy.head: n=": lambda f: f.groupby("y").head(f.y.min()),
    "GroupBy.filter: kwargs=": lambda f: f.groupby("y").filter(lambda g, least: len(g) > least, least=f.y.min()),
    "Expanding.var: ddof=": lambda f: f.x.expanding().var(ddof=f.y.min()),
}


@pytest.mark.parametrize("case", REFUSED)
def test_lazy_arguments_that_the_plan_needs_are_refused_by_name(case):
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    with pytest.raises(
        TypeError, match=rf"{case}.* is a .*takes the values? (itself|themselves): compute\(\) (it|them) before"
    ):
        REFUSED[case](lazy)


def test_lazy_labels_in_lists_are_never_labels_themselves():
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    with pytest.raises(
        TypeError, match=r"DataFrame.reindex: labels= is a list of lazy values; .*compute\(\) them before"
    ):
        lazy.reindex([lazy.x.idxmax(), 11])
    with pytest.raises(TypeError, match="DataFrame.rename: columns= is a dict of lazy values"):
        lazy.rename(columns={"x": lazy.name.max()})


def test_a_label_that_occurs_several_times_has_no_one_value():
    repeated = PLAIN.set_axis([1, 2, 2, 3, 4, 5, 6])
    for lazy in partitionings(repeated):
        for value in (lazy.x.loc[2], lazy.x[2], lazy.loc[2, "x"], lazy.at[2, "x"], lazy.x - lazy.x.loc[2]):
            with pytest.raises(
                ValueError, match=r"the label 2 occurs 2 times: loc\[\[2\]\] gives all of its values, as a series"
            ):
                value.compute(**INLINE)
        assert_same(lazy.x.loc[[2]].compute(**INLINE), repeated.x.loc[2])
        assert_same((lazy.x - lazy.x.loc[3]).compute(**INLINE), repeated.x - repeated.x.loc[3])
    counts = gd.from_pandas(PLAIN, npartitions=2).y.value_counts()
    assert_same((counts / counts.loc[2]).compute(**INLINE), PLAIN.y.value_counts() / 3)


def test_in_asks_for_labels_as_pandas_does():
    times = PLAIN.set_index("ts")
    for frame, labels in ((PLAIN, (12, 99, "x")), (times, (times.index[2], "2020-01-03", "1999"))):
        for lazy in partitionings(frame):
            for label in labels:
                assert (label in lazy.x) is (label in frame.x)
                assert (label in lazy.index) is (label in frame.index)


TEXTS = PLAIN.set_index("name")
ARRAYS = {
    "isin": lambda f: f.index.isin([11, 14, "x"]),
    "isin of labels": lambda f: f.index.isin(f.index[f.x > 3]),
    "isna": lambda f: f.index.isna(),
    "notna": lambda f: f.index.notna(),
    "duplicated": lambda f: f.index.duplicated(),
    "compared": lambda f: f.index == f.index.max(),
    "inverted": lambda f: ~f.index.isin([11]) | f.index.isna(),
    "converted": lambda f: f.index.isin([11]).astype("int64"),
}
OF_ARRAYS = {
    "sum": lambda a: a.sum(),
    "mean": lambda a: a.mean(),
    "any": lambda a: a.any(),
    "all": lambda a: a.all(),
    "max": lambda a: a.max(),
    "std": lambda a: a.std(),
    "number": lambda a: len(a),
    "list": lambda a: a.tolist(),
    "sum and one": lambda a: a.sum() + 1,
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_of_labels_are_numpys(case):
    for frame in (PLAIN, PLAIN[:1]):
        expected = ARRAYS[case](frame)
        for lazy in partitionings(frame):
            got = ARRAYS[case](lazy).compute(**INLINE)
            assert type(got) is np.ndarray
            assert got.dtype == expected.dtype
            assert got.tolist() == expected.tolist()
            for name, function in OF_ARRAYS.items():
                value = function(ARRAYS[case](lazy))
                value = value.compute(**INLINE) if hasattr(value, "compute") else value
                assert value == pytest.approx(function(expected)), name


@pytest.mark.more
def test_arrays_of_labels_choose_set_and_group_rows():
    operations = (
        lambda f: f[f.index.isin([11, 14])],
        lambda f: f[~f.index.isin([11, 14]) & (f.x > 2)],
        lambda f: f.assign(z=f.index.isin([11])),
        lambda f: f.x.where(f.index.isin([11, 12]), 0),
        lambda f: f.groupby(f.index.isin([11, 12])).x.sum(),
        lambda f: f.query("index.isin([11, 12])"),
    )
    for operation in operations:
        check_in_parts(PLAIN, operation)
    days = PLAIN.set_index("ts")
    check_in_parts(days, lambda f: f[f.index.is_month_start])
    for lazy in partitionings(days):
        assert lazy.index.is_month_start.sum().compute(**INLINE) == 1
        assert lazy.index.date.compute(**INLINE).tolist() == days.index.date.tolist()
    with pytest.raises(
        AttributeError, match=r"a lazy RowArray has no attribute 'nonzero'; compute\(\) returns a NumPy array"
    ):
        gd.from_pandas(PLAIN, npartitions=2).index.isin([11]).nonzero()


COMMON = None
"""A variable of the module that a function of a test names."""


def with_common(value):
    return value - COMMON


def closures(f, mean):
    kept = {"mean": mean}
    return {
        "map": lambda: f.x.map(lambda v: v - mean),
        "map of a default": lambda: f.x.map(lambda v, m=mean: v - m),
        "map of a partial": lambda: f.x.map(functools.partial(lambda m, v: v - m, mean)),
        "map of a dict": lambda: f.x.map(lambda v: v - kept["mean"]),
        "map of a global": lambda: f.x.map(with_common),
        "apply": lambda: f.x.apply(lambda v: v > mean),
        "apply of rows": lambda: f[["x", "y"]].apply(lambda row: row.x - mean, axis=1),
        "agg": lambda: f.groupby("y").x.agg(lambda s: s.sum() - mean),
        "agg of a dict": lambda: f.groupby("y").agg({"x": lambda s: s.sum() - mean}),
        "apply of groups": lambda: f.groupby("y").x.apply(lambda s: s.sum() - mean),
        "map_partitions": lambda: f.map_partitions(lambda block: block.x - mean),
        "map_overlap": lambda: f.x.map_overlap(lambda block: block - mean, 1, 0),
        "reduction": lambda: f.x.reduction(lambda block: (block - mean).sum()),
        "combine": lambda: f.x.combine(f.y, lambda one, other: one + other - mean),
        "rename": lambda: f.rename(index=lambda label: label + mean),
        "labels": lambda: f.index.map(lambda label: label + mean),
        "from_map": lambda: gd.from_map(lambda n: pd.DataFrame({"x": [n - mean]}), [1, 2]),
        "resample": lambda: f.set_index("ts").x.resample("2D").apply(lambda s: s.sum() - mean),
    }


CLOSURES = list(closures(gd.from_pandas(PLAIN, npartitions=1), 1))


@pytest.mark.parametrize("case", [case for case in CLOSURES if case not in ("map of a dict", "from_map")])
def test_functions_that_name_lazy_scalars_get_their_values(case, monkeypatch):
    lazy, mean = gd.from_pandas(PLAIN, npartitions=2), PLAIN.x.mean()
    monkeypatch.setitem(globals(), "COMMON", mean)
    expected = closures(lazy, mean)[case]().compute(**INLINE)
    monkeypatch.setitem(globals(), "COMMON", lazy.x.mean())
    assert_same(closures(lazy, lazy.x.mean())[case]().compute(**INLINE), expected)


@pytest.mark.parametrize("case", CLOSURES)
def test_functions_that_make_lazy_values_of_computed_ones_are_refused(case, monkeypatch):
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    monkeypatch.setitem(globals(), "COMMON", lazy.y)
    with pytest.raises(
        TypeError,
        match=r"the function gets computed values and returned a lazy one, since .*compute\(\) it before the call",
    ):
        closures(lazy, lazy.y)[case]()


def test_functions_keep_lazy_scalars_of_which_they_ask_what_values_have_not():
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    mean, seen = lazy.x.mean(), 0

    def counted(value):
        nonlocal seen
        seen += 1
        return value - float(mean)

    assert_same(lazy.x.map(lambda value: value - mean.compute(**INLINE)).compute(**INLINE), PLAIN.x - PLAIN.x.mean())
    assert_same(lazy.x.map(counted).compute(**INLINE), PLAIN.x - PLAIN.x.mean())
    assert seen >= len(PLAIN)


def test_scalars_stay_lazy_in_functions_of_lazy_columns():
    read = []
    lazy = gd.from_map(lambda number: read.append(number) or PLAIN, [0, 1], meta=PLAIN[:0])
    most = lazy.x.max()
    made = [lazy[["x", "y"]].apply(lambda column: column - most, **axis) for axis in ({}, {"axis": "index"})]
    assert not read
    for one in made:
        assert_same(one.compute(**INLINE), pd.concat([PLAIN, PLAIN])[["x", "y"]] - 7.5)


def test_scalars_that_functions_name_are_computed_once_together():
    lazy = gd.from_map(lambda number: read.append(number) or PLAIN, [0, 1], meta=PLAIN[:0])
    least, most = lazy.x.min(), lazy.x.max()
    read = []
    made = lazy.groupby("y").agg(
        a=("x", lambda values: (values.sum() - least) / most), b=("x", lambda values: values.max() == most)
    )
    assert sorted(read) == [0, 1]
    plain = pd.concat([PLAIN, PLAIN]).groupby("y").x
    expected = pd.DataFrame({"a": (plain.sum() - 1) / 7.5, "b": plain.max() == 7.5})
    assert_same(made.compute(**INLINE), expected)


def test_scalars_of_the_name_of_an_attribute_stay_lazy():
    seen: list[int] = []
    lazy = gd.from_pandas(pd.DataFrame({"x": [1.0, 2, 3]}), npartitions=2)
    counted = lazy.map_partitions(lambda block: seen.append(len(block)) or block, meta=lazy._meta)  # type: ignore[func-returns-value]
    seen.clear()
    variables = {"mean": counted.x.mean(), "x": counted.x.max(), "counted": counted}
    function = eval("lambda block: block.x + block.x.mean()", variables)
    counted.map_partitions(function, meta=("y", "f8"))
    assert not seen
    named = eval("lambda block: block.x + x", variables)
    assert_same(lazy.map_partitions(named, meta=("x", "f8")).compute(**INLINE), pd.Series([4.0, 5, 6], name="x"))
    assert seen


def test_the_lazy_values_that_functions_name_are_named():
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    mean = lazy.y
    with pytest.raises(TypeError, match="map: the function .* since 'mean' is a lazy Series"):
        lazy.x.map(lambda value: value - mean)
    with pytest.raises(
        MetaError, match=r"'mean' is a lazy Series; .*: compute\(\) it before.*the truth of a lazy Series isn't known"
    ):
        lazy.x.map(lambda value: 1 if value > mean else 0)
    with pytest.raises(MetaError, match=r"groupby-transform.*'mean' is a lazy Series|since 'mean' is a lazy Series"):
        lazy.groupby("y").x.transform(lambda values: values - mean)
    with pytest.raises(TypeError, match="sort_values|key="):
        lazy.sort_values("x", key=lambda values: (values - mean).abs()).compute(**INLINE)


def test_functions_with_meta_are_refused_too():
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    mean = lazy.y
    with pytest.raises(TypeError, match="since 'mean' is a lazy Series"):
        lazy.groupby("y").x.agg(lambda values: values.sum() - mean, meta=("x", "f8"))
    for made in (
        lazy.x.map(lambda value: value - mean, meta=("x", "f8")),
        lazy.map_partitions(lambda block: pd.Series([mean]), meta=("x", "f8")),
    ):
        with pytest.raises(TypeError, match="the function gets computed values and returned a lazy one"):
            made.compute(**INLINE)


def texts_and_lookups(f, mean, **meta):
    return {
        "f-string": lambda: f.x.map(lambda v: f"{v}{mean}", **meta),
        "str": lambda: f.x.apply(lambda v: str(mean), **meta),
        "%": lambda: f.x.map(lambda v: "%s" % mean, **meta),  # noqa: UP031
        "format": lambda: f[["x", "y"]].apply(lambda row: "{}".format(mean), axis=1, **meta),  # noqa: UP032
        "isin": lambda: f.map_partitions(lambda block: block.x.isin([mean]), **meta),
        "set": lambda: f.x.map(lambda v: v in {mean}, **meta),
        "overlap": lambda: f.x.map_overlap(lambda block: block.isin([mean]), 1, 0, **meta),
        "groups": lambda: f.groupby("y").x.transform(lambda values: values.isin([mean]), **meta),
        "groups' rows": lambda: f.groupby("y").filter(lambda rows: len(f"{mean}") > 0),
        "windows": lambda: f.x.rolling(2).apply(lambda values: len(f"{mean}")),
        "keys": lambda: f.sort_values("x", key=lambda values: values.isin([mean])),
        "labels": lambda: f.index.map(lambda label: f"{label}{mean}"),
        "a list": lambda: f.x.map(lambda v: [v, mean], **meta),
        "a dict in a list": lambda: f.x.map(lambda v: [{"mean": mean}], **meta),
    }


TEXTS_AND_LOOKUPS = list(texts_and_lookups(gd.from_pandas(PLAIN, npartitions=1), 1))


@pytest.mark.parametrize("case", TEXTS_AND_LOOKUPS)
def test_the_text_and_the_hash_of_a_lazy_scalar_are_those_of_its_value(case):
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    found, expected = (
        texts_and_lookups(lazy, mean)[case]().compute(**INLINE) for mean in (lazy.x.mean(), PLAIN.x.mean())
    )
    assert_same(found, expected)


@pytest.mark.parametrize("meta", [{}, {"meta": ("x", object)}])
@pytest.mark.parametrize("case", TEXTS_AND_LOOKUPS)
def test_the_text_and_the_hash_of_a_lazy_value_are_no_data(case, meta):
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    with pytest.raises((TypeError, MetaError), match=r"a lazy .*compute\(\) it before"):
        texts_and_lookups(lazy, lazy.y, **meta)[case]().compute(**INLINE)


def test_lazy_values_have_text_and_hash_elsewhere():
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    mean = lazy.x.mean()
    assert f"{mean}" == str(mean) == repr(mean) and mean in {mean}
    assert lazy.x.map(lambda value: f"{mean:.3f}").compute(**INLINE).tolist() == [f"{PLAIN.x.mean():.3f}"] * len(PLAIN)
    inside = lazy.map_partitions(lambda block: block.x - lazy.x.map(lambda v: v + 1).mean().compute(**INLINE))
    assert_same(inside.compute(**INLINE), PLAIN.x - (PLAIN.x + 1).mean())


def test_functions_may_compute_lazy_values_and_ask_what_is_known():
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    mean = lazy.x.mean()
    assert_same(lazy.x.map(lambda value: value - float(mean)).compute(**INLINE), PLAIN.x - PLAIN.x.mean())
    kept = lazy.map_partitions(lambda block: block[list(lazy.columns[:2])]).compute(**INLINE)
    assert_same(kept, PLAIN[["x", "y"]])
    assert_same(lazy.pipe(lambda frame: frame.x - mean).compute(**INLINE), PLAIN.x - PLAIN.x.mean())
    assert_same(lazy.assign(z=lambda frame: frame.x - mean).compute(**INLINE), PLAIN.assign(z=PLAIN.x - PLAIN.x.mean()))


def test_lazy_scalars_with_which_functions_fill_values_are_computed():
    """The made-up rows miss no value, so that none is filled in there. A scalar in a dict isn't one that the function names."""
    frame = pd.DataFrame({"k": [1, 2, 1, 2], "x": [1.0, np.nan, 3.0, np.nan]})
    lazy, kept = gd.from_pandas(frame, npartitions=2), {}

    def filled(values):
        return values.fillna(kept["mean"])

    for of in (
        lambda f: f.groupby("k").x.transform(filled),
        lambda f: f.groupby("k")[["x"]].apply(filled),
    ):
        kept["mean"] = frame.x.mean()
        expected = of(frame)
        kept["mean"] = lazy.x.mean()
        assert_same(of(lazy).compute(**INLINE), expected)


def test_what_is_changed_after_a_call_changes_no_result():
    lazy = gd.from_pandas(PLAIN, npartitions=3)
    listed, mapped, array = [1, 2], {"x": 1}, np.array([2, 9])
    series, nested = pd.Series([1.0], index=["x"]), {"x": {1.0: 10.0}}
    made = {
        "list": lazy[lazy.y.isin(listed)].y,
        "variable": lazy.query("y in @listed").y,
        "dict": lazy.name.map(mapped),
        "array": lazy[lazy.y.isin(array)].y,
        "series": lazy.name.map(series),
        "nested": lazy.replace(nested).x,
    }
    want = [one.compute(**INLINE) for one in made.values()]
    listed.append(9)
    mapped["y"] = 2
    array[0] = 4
    series.iloc[0] = 5.0
    nested["x"][2.0] = 20.0
    for one, before in zip(made.values(), want, strict=True):
        assert_same(one.compute(**INLINE), before)
    assert_same(made["dict"].compute(**INLINE), PLAIN.name.map({"x": 1}))


@pytest.mark.parametrize("npartitions", [1, 3, 7])
def test_values_are_looked_up_in_all_rows_of_a_lazy_series(npartitions):
    lazy = gd.from_pandas(PLAIN, npartitions=3)
    table = pd.Series([30.0, 10.0, 20.0, 40.0], index=[9, 1, 2, 3])
    other = gd.from_pandas(table, npartitions=npartitions, sort=False)
    assert_same(lazy.y.map(other).compute(**INLINE), PLAIN.y.map(table))
    assert_same(lazy.query("y.map(@other) > 15").compute(**INLINE), PLAIN[PLAIN.y.map(table) > 15])


def test_lazy_values_are_computed_and_persisted_inside_functions():
    series = gd.from_pandas(pd.Series(range(4)), npartitions=2)
    total = series.sum()
    text = gl.delayed(lambda: 6 * bool(str(total)))()  # gets no computed values: it may ask for the text of a lazy one
    for value_of in (
        lambda: total.compute(),
        lambda: gl.compute({"total": total})[0]["total"],
        lambda: gl.persist(total)[0].compute(),
        lambda: text.compute(scheduler="synchronous"),
        lambda: gl.persist(text, scheduler="synchronous")[0].compute(),
    ):
        made = series.map(lambda value, value_of=value_of: value + value_of(), meta=(None, "int64"))
        assert_same(made.compute(scheduler="synchronous"), pd.Series(range(6, 10)))


def test_users_functions_may_have_arguments_of_any_name():
    frame = gd.from_pandas(PLAIN, npartitions=2)
    options = {"function": 2, "args": 3, "kwargs": 4, "call": 5}

    def times(block, function, args, kwargs, call):
        return block[["y"]] * function * args * kwargs * call

    for meta in ({}, {"meta": {"y": PLAIN.y.dtype}}):
        assert_same(frame.map_partitions(times, **options, **meta).compute(**INLINE), PLAIN[["y"]] * 120)
    called = frame.y.apply(lambda value, block: value * block, block=3, meta=("y", PLAIN.y.dtype))
    assert_same(called.compute(**INLINE), PLAIN.y * 3)
    assert gl.delayed(lambda self, function, key: (self, function, key))(self=1, function=2, key=3).compute(
        **INLINE
    ) == (1, 2, 3)
