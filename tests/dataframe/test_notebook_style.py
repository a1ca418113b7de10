"""What notebooks do with frames: setters of all kinds, changes in place, slices, labels and scalars as plain values. As in pandas."""

import pickle

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
INLINE = {"scheduler": "inline"}
TIMES = pd.date_range("2024-01-01", periods=200, freq="h", name="when")
FRAME = pd.DataFrame(
    {"id": range(200), "name": ["a", "b", None, "c"] * 50, "x": np.arange(200) / 8, "y": [3, 1, 4, 1, 5] * 40},
    index=TIMES,
)


def after(change, frame=FRAME, npartitions=4):
    """Return what a change in place makes of a lazy frame, and of pandas'."""
    plain, lazy = frame.copy(), gd.from_pandas(frame, npartitions=npartitions)
    results = change(plain), change(lazy)
    assert (results[0] is None) == (results[1] is None)
    return lazy.compute(), plain


def set_item(key, value):
    return lambda frame: frame.__setitem__(key, value(frame) if callable(value) else value)


def set_loc(rows, columns, value):
    return lambda frame: frame.loc.__setitem__(
        (rows(frame) if callable(rows) else rows, columns), value(frame) if callable(value) else value
    )


@pytest.mark.parametrize(
    "change",
    [
        set_item("z", np.arange(200) * 2),
        set_item("z", [None, *range(199)]),
        set_item("z", pd.array([True, None] * 100, dtype="boolean")),
        set_item("x", pd.Index(range(200))),
        set_item("z", pd.Series(np.arange(200.0), index=TIMES[::-1])),
        set_item("z", pd.Series(range(50), index=TIMES[20:70])),
        set_loc(slice(None), "x", 0),
        set_loc(slice(None), "new", lambda frame: frame.y * 2),
        set_loc(lambda frame: frame.x > 9, "new", 1),
        set_loc(lambda frame: frame.x > 9, "label", "high"),
        set_loc(lambda frame: frame.x > 9, ["x", "y"], 0),
        set_loc(lambda frame: frame.x > 9, slice("x", "y"), 0),
        set_loc(lambda frame: frame.x > 9, ["x", "y"], [1.5, 2]),
        set_loc(lambda frame: frame.x > 9, ["x", "name"], (0.0, "none")),
        set_loc(slice(None), ["y", "x"], np.array([7, 8])),
        set_loc(lambda frame: frame.name.isna(), "name", "none"),
        set_loc("2024-01-02", "x", -1.0),
        set_loc(slice("2024-01-02", "2024-01-03 05:00"), "y", 7),
        set_loc(slice("2024-01-07", None), "x", lambda frame: frame.y * 1.0),
        lambda frame: frame.iloc.__setitem__((slice(None), 2), 5.0),
    ],
)
def test_columns_are_set_as_in_pandas(change):
    found, expected = after(change)
    pd.testing.assert_frame_equal(found, expected, check_freq=False)


def test_rows_are_set_to_as_many_values_as_columns():
    lazy = gd.from_pandas(FRAME, npartitions=4)
    with pytest.raises(ValueError, match="= 3 values: there are 2 columns, and each takes one"):
        lazy.loc[lazy.x > 9, ["x", "y"]] = [1, 2, 3]


def test_a_column_at_hand_stays_with_its_rows():
    lazy = gd.from_pandas(FRAME, npartitions=4)
    lazy = lazy[lazy.y > 1]
    plain = FRAME[FRAME.y > 1].copy()
    for frame in (lazy, plain):
        frame["z"] = np.arange(120)
    pd.testing.assert_frame_equal(lazy[lazy.x > 9].compute(), plain[plain.x > 9])
    pd.testing.assert_frame_equal(lazy.partitions[2].compute(), plain.loc[lazy.partitions[2].compute().index])
    assert lazy.z.sum().compute() == plain.z.sum() and len(lazy[["z"]]) == 120
    pd.testing.assert_frame_equal(lazy.assign(w=range(0)[:0] or list(range(120))).compute(), plain.assign(w=range(120)))
    with pytest.raises(ValueError, match=r"column 'z': Length of values \(3\) does not match length of index \(120\)"):
        lazy["z"] = [1, 2, 3]
    with pytest.raises(ValueError, match="index of a series that is assigned must be unique"):
        lazy["z"] = pd.Series([1, 2], index=[0, 0])


def test_lazy_arrays_become_columns_block_by_block():
    lazy = gd.from_pandas(FRAME, npartitions=4)
    lazy["z"] = lazy.x.values * 2
    expected = FRAME.assign(z=FRAME.x * 2)
    pd.testing.assert_frame_equal(lazy[lazy.z > 20].compute(), expected[expected.z > 20], check_freq=False)
    assert lazy.divisions == gd.from_pandas(FRAME, npartitions=4).divisions
    with pytest.raises(ValueError, match="a block for each of the 4 partitions"):
        lazy["w"] = gd.from_pandas(FRAME, npartitions=3).x.values
    with pytest.raises(ValueError, match="it needs one axis"):
        lazy["w"] = lazy[["x", "y"]].values
    lazy["w"] = gd.from_pandas(FRAME[:-1], npartitions=4).x.values
    with pytest.raises(ValueError, match="Length of values"):
        lazy.compute()


def test_labels_at_hand_become_the_index():
    lazy = gd.from_pandas(FRAME, npartitions=4)
    lazy.index = range(0, 400, 2)
    assert lazy.divisions == (0, 100, 200, 300, 398)
    assert lazy.loc[10:14].x.compute().tolist() == FRAME.x.iloc[5:8].tolist()
    lazy.index = FRAME.id.to_numpy()[::-1]
    assert not lazy.known_divisions
    assert lazy[lazy.x > 24].compute().index.tolist() == FRAME.id[::-1][(FRAME.x > 24).to_numpy()].tolist()
    series = gd.from_pandas(FRAME.x, npartitions=3)
    series.index = pd.RangeIndex(200, name="row")
    assert series.index.name == "row" and series.compute().index.equals(pd.RangeIndex(200))


def test_the_name_of_the_index_is_that_of_the_frame():
    found, expected = after(lambda frame: setattr(frame.index, "name", "time"))
    assert found.index.name == expected.index.name == "time"
    lazy = gd.from_pandas(FRAME, npartitions=2)
    lazy.index.names = ["t"]
    assert lazy.index.name == lazy.compute().index.name == "t"
    labels = lazy.index
    lazy = lazy.reset_index(drop=True)
    labels.name = "u"
    assert lazy.index.name is None


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.drop(columns="x", inplace=True),
        lambda frame: frame.rename(columns={"x": "X"}, inplace=True),
        lambda frame: frame.dropna(inplace=True),
        lambda frame: frame.fillna({"name": "none"}, inplace=True),
        lambda frame: frame.sort_values("x", ascending=False, inplace=True),
        lambda frame: frame.set_index("id", inplace=True),
        lambda frame: frame.query("x > 9", inplace=True),
        lambda frame: frame.eval("z = x + y", inplace=True),
        lambda frame: frame.rename_axis("t", inplace=True),
        lambda frame: frame.drop_duplicates("name", inplace=True),
        lambda frame: frame.mask(frame.x > 9, None, inplace=True),
        lambda frame: frame.replace("a", "A", inplace=True),
    ],
)
def test_frames_are_changed_in_place(change):
    found, expected = after(change)
    pd.testing.assert_frame_equal(found, expected, check_freq=False)


def test_only_the_frame_itself_is_changed_in_place():
    lazy = gd.from_pandas(FRAME, npartitions=2)
    other = lazy[["x"]]
    x = lazy.x
    x.fillna(0, inplace=True)
    lazy.drop(columns="x", inplace=True)
    assert list(lazy.columns) == ["id", "name", "y"] and list(other.columns) == ["x"]
    x[x > 3] = 3
    assert x.max().compute() == 3.0
    x.loc[x < 1] = 1
    assert x.min().compute() == 1.0
    with pytest.raises(ValueError, match="assigns no column"):
        lazy.eval("id + y", inplace=True)


@pytest.mark.parametrize("rows", [slice(5), slice(5, 8), slice(-3, None), slice(None, None, 2), slice(None)])
def test_slices_of_numbers_mean_positions(rows):
    frame = FRAME.reset_index(drop=True)
    lazy = gd.from_pandas(frame, npartitions=4)
    pd.testing.assert_frame_equal(lazy[rows].compute(), frame[rows])
    pd.testing.assert_series_equal(lazy.x[rows].compute(), frame.x[rows])


def test_slices_of_other_labels_mean_labels():
    lazy = gd.from_pandas(FRAME, npartitions=4)
    expected = FRAME["2024-01-02":"2024-01-03"]
    pd.testing.assert_frame_equal(lazy["2024-01-02":"2024-01-03"].compute(), expected, check_freq=False)
    pd.testing.assert_series_equal(lazy.x["2024-01-02":"2024-01-03"].compute(), expected.x, check_freq=False)


def test_labels_are_chosen_by_position_or_condition():
    index = gd.from_pandas(FRAME, npartitions=4).index
    assert index[0].compute() == TIMES[0] and index[-1].compute() == TIMES[-1]
    assert index[3:60].compute().equals(TIMES[3:60])
    assert index[index > "2024-01-05"].compute().equals(TIMES[TIMES > "2024-01-05"])
    with pytest.raises(NotImplementedError, match=r"index\['a'\]: positions"):
        index["a"]


def test_scalars_become_plain_values_where_python_asks():
    x, mean = gd.from_pandas(FRAME.x, npartitions=3), FRAME.x.mean()
    assert float(x.mean()) == mean and int(x.sum()) == int(FRAME.x.sum())
    assert f"{x.mean():.3f}" == f"{mean:.3f}" and f"{x.mean()}".startswith("Scalar(")
    rounded = round(x.mean(), 1)
    assert isinstance(rounded, gd.Scalar) and rounded.compute() == round(mean, 1)
    with pytest.raises(TypeError, match="the truth of a lazy Scalar isn't known"):
        bool(x.mean() > 3)


def test_groups_by_what_follows_from_labels():
    lazy = gd.from_pandas(FRAME, npartitions=4)
    expected = FRAME.groupby(FRAME.index.hour).x.mean()
    pd.testing.assert_series_equal(lazy.groupby(lazy.index.hour).x.mean().compute(), expected)
    expected = FRAME.groupby([FRAME.index.month, "name"]).y.sum()
    pd.testing.assert_series_equal(lazy.groupby([lazy.index.month, "name"]).y.sum().compute(), expected)
    pd.testing.assert_series_equal(
        lazy.x.groupby(lazy.index.day).max().compute(), FRAME.x.groupby(FRAME.index.day).max()
    )


def test_counts_of_one_column_are_labelled_by_it():
    lazy = gd.from_pandas(FRAME, npartitions=4)
    for subset in ("y", ["y"], ["name", "y"]):
        found, expected = lazy.value_counts(subset).compute(), FRAME.value_counts(subset)
        pd.testing.assert_series_equal(found.sort_index(), expected.sort_index())


def test_results_are_looked_into_by_label():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    assert lazy.mean(numeric_only=True)["x"].compute() == FRAME.x.mean()
    assert lazy.describe()["x"]["mean"].compute() == FRAME.x.mean()
    assert lazy.groupby("name").x.max()["b"].compute() == FRAME.groupby("name").x.max()["b"]
    assert lazy.y.value_counts()[1].compute() == 80 == lazy.y.value_counts()[1].item()
    with pytest.raises(KeyError):
        lazy.y.value_counts()[77].compute()
    with pytest.raises(KeyError, match="not all of the labels a are datetime64"):
        lazy.x[["a"]]


def test_names_that_are_nearly_right_or_of_elsewhere_say_what_is_there():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    for name, message in (
        ("colums", "DataFrame has no attribute 'colums'; did you mean 'columns'"),
        ("groupbyy", "did you mean 'groupby'"),
        ("append", r"DataFrame.append isn't supported: pandas has removed it. Use glassloom.dataframe.concat"),
        ("to_pandas", r"Use compute\(\), which returns a pandas object"),
    ):
        with pytest.raises(AttributeError, match=message):
            getattr(lazy, name)
    with pytest.raises(AttributeError, match="Series has no attribute 'summ'; did you mean 'sum'"):
        lazy.x.summ  # noqa: B018
    with pytest.raises(NotImplementedError, match=r"compute\(num_workers=2\) isn't supported: set the option threads"):
        lazy.compute(num_workers=2)


@pytest.mark.parametrize("options", [{"values": "x"}, {"values": ["y", "x"], "aggfunc": "sum"}, {}, {"fill_value": 0}])
def test_tables_without_columns_are_groups(options):
    lazy = gd.from_pandas(FRAME, npartitions=3)
    found = lazy.pivot_table(index="name", **options).compute()
    pd.testing.assert_frame_equal(found, FRAME.pivot_table(index="name", **options))
    both = lazy.pivot_table(index=["name", "id"], **options).compute()
    pd.testing.assert_frame_equal(both, FRAME.pivot_table(index=["name", "id"], **options))


def test_info_names_the_kind_of_object(capsys):
    lazy = gd.from_pandas(FRAME, npartitions=1)
    lazy.x.info()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["<class 'glassloom.dataframe.series.Series'>", "1 partition"] and lines[3].split() == [
        "0",
        "x",
        "float64",
    ]
    lazy.info(show_counts=True)
    assert "1   name             150" in capsys.readouterr().out


def test_the_name_of_the_columns_can_be_set_and_is_kept():
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [4.0, 5.0, 6.0]})
    lazy, other = (gd.from_pandas(frame, npartitions=2) for _ in range(2))
    lazy.columns.name = "field"
    assert lazy.columns.name == "field" and other.columns.name is None
    lazy["z"] = 1
    for made in (lazy, lazy.copy(), lazy.describe(), lazy.agg(["sum", "min"]), pickle.loads(pickle.dumps(lazy))):
        assert made.compute(**INLINE).columns.tolist() == ["x", "y", "z"]
        assert made.columns.name == made.compute(**INLINE).columns.name == "field"
    before = lazy.columns
    lazy.columns = ["a", "b", "c"]
    before.names = ["late"]
    assert lazy.columns.name is None and lazy.compute(**INLINE).columns.name is None
    assert lazy.a.compute(**INLINE).tolist() == [1, 2, 3]


OF_VALUES = {
    "array": lambda x, values: x + values,
    "array on the left": lambda x, values: values - x,
    "list": lambda x, values: x * values.tolist(),
    "comparison": lambda x, values: values > x,
    "function of NumPy": lambda x, values: np.maximum(values, x),
    "method": lambda x, values: x.sub(values, fill_value=0),
    "nullable": lambda x, values: x + pd.array([1, None, 3, 4, 5], dtype="Int64"),
    "filtered after": lambda x, values: (x + values)[x > 2],
    "filtered before": lambda x, values: x[x > 2] + values[:3],
    "reduced": lambda x, values: (x + values).sum(),
}


@pytest.mark.parametrize("of", OF_VALUES)
def test_operators_take_arrays_and_lists_with_a_value_for_each_row(of):
    series = pd.Series([1, 2, 3, 4, 5], index=[5, 4, 3, 2, 1], name="x")
    lazy = gd.from_pandas(series, npartitions=3, sort=False)
    found, expected = (OF_VALUES[of](one, np.arange(10, 15)) for one in (lazy, series))
    if isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(found.compute(**INLINE), expected)
    else:
        assert found.compute(**INLINE) == expected


def test_operators_say_of_arrays_that_do_not_fit_how_many_values_there_should_be():
    lazy = gd.from_pandas(pd.DataFrame({"x": range(5)}), npartitions=3)
    with pytest.raises(ValueError, match=r"add: Length of values \(3\) does not match length of index \(5\)"):
        lazy.x + np.arange(3)
    with pytest.raises(TypeError, match=r"an array of shape \(5, 2\): it takes numbers, lazy objects"):
        lazy.x + np.ones((5, 2))
    with pytest.raises(ValueError, match=r"an array of shape \(5, 2\): Unable to coerce to DataFrame, which has 1 col"):
        lazy + np.ones((5, 2))
