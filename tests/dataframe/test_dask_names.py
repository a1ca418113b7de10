"""What Dask's frames have and pandas' lack, and arguments of pandas' that frames in partitions had not."""

import itertools

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from glassloom.errors import DivisionError, MetaError, OptionError
from long_tests import LONG_TESTS

FRAME = pd.DataFrame({"x": np.arange(200.0), "k": ["a", "b"] * 100}, index=pd.RangeIndex(200, name="row"))


def lazy(npartitions=7, frame=FRAME):
    return gd.from_pandas(frame, npartitions=npartitions)


def test_a_random_split_gives_each_row_to_one_piece():
    train, test, rest = lazy().random_split([0.6, 0.3, 0.1], random_state=3)
    found = [part.compute() for part in (train, test, rest)]
    assert sorted(label for part in found for label in part.index) == list(range(200))
    assert 90 <= len(found[0]) <= 150 and 35 <= len(found[1]) <= 85
    assert all(part.index.is_monotonic_increasing for part in found)
    assert train.divisions == lazy().divisions
    again = lazy().random_split([0.6, 0.3, 0.1], random_state=3)[0]
    assert again.compute().equals(found[0])


def test_a_random_split_shuffles_within_partitions():
    (whole,) = lazy(2).x.random_split([1.0], random_state=1, shuffle=True)
    first = whole.partitions[0].compute()
    assert sorted(first) == list(range(100)) and not first.is_monotonic_increasing


def test_a_random_split_needs_fractions_of_all_rows():
    with pytest.raises(OptionError, match=r"frac=\[0.5, 0.4\] should be fractions that sum to 1"):
        lazy().random_split([0.5, 0.4])
    for wrong in ("x", None, [0.5, "half"]):
        with pytest.raises(
            OptionError, match=r"random_split: frac=.* should be a list of fractions that sum to 1, such as"
        ):
            lazy().random_split(wrong)


@pytest.mark.parametrize("replace", [False, True])
def test_a_number_of_rows_is_drawn_of_all_partitions(replace):
    drawn = lazy().sample(n=60, random_state=5, replace=replace).compute()
    assert len(drawn) == 60
    assert drawn.index.is_unique is not replace
    assert drawn.x.tolist() == drawn.index.tolist()
    assert drawn.equals(lazy().sample(n=60, random_state=5, replace=replace).compute())
    assert not drawn.equals(lazy().sample(n=60, random_state=6, replace=replace).compute())


@pytest.mark.parametrize("replace", [False, pytest.param(True, marks=pytest.mark.long)])
def test_all_rows_are_drawn_equally_often(replace):
    frame = lazy(5, pd.DataFrame({"x": range(20)})[:17])
    counts = np.zeros(17)
    for seed in range(150):
        np.add.at(counts, frame.sample(n=6, random_state=seed, replace=replace).compute().x.to_numpy(), 1)
    expected = 150 * 6 / 17
    assert ((counts - expected) ** 2 / expected).sum() < 50  # of 16 degrees of freedom; 40 is one in 1,000


def chances(weights, n):
    """Return how likely each row is among `n` drawn one after the other, by all the ways to draw them."""
    found = np.zeros(len(weights))
    for drawn in itertools.permutations(range(len(weights)), n):
        left, likely = weights.sum(), 1.0
        for row in drawn:
            likely *= weights[row] / left
            left -= weights[row]
        found[list(drawn)] += likely
    return found


@pytest.mark.more
@pytest.mark.parametrize("replace", [False, pytest.param(True, marks=pytest.mark.long)])
def test_rows_are_drawn_by_their_weights(replace):
    weights = np.array([1.0, 0.0, 4.0, 2.0, np.nan, 0.5, 2.0])
    frame = lazy(3, pd.DataFrame({"x": range(7), "w": weights}))
    counts, n_draws, n = np.zeros(7), 400 if LONG_TESTS else 130, 3
    for seed in range(n_draws):
        drawn = frame.sample(n=n, weights="w", random_state=seed, replace=replace).compute(scheduler="inline")
        np.add.at(counts, drawn.x.to_numpy(), 1)
    filled = np.nan_to_num(weights)
    expected = n_draws * (n * filled / filled.sum() if replace else chances(filled, n))
    assert counts[1] == counts[4] == 0
    some = filled > 0
    assert ((counts - expected)[some] ** 2 / expected[some]).sum() < 25  # of 4 degrees of freedom; 18.5 is one in 1,000


def test_weights_are_checked():
    frame = lazy(2, pd.DataFrame({"x": range(4), "w": [0.0, 1, 2, 0]}))
    assert sorted(frame.x.sample(n=2, weights=frame.w * 2).compute()) == [1, 2]
    with pytest.raises(ValueError, match=r"sample\(n=3\): there are 2 rows with a weight above 0; replace=True"):
        frame.sample(n=3, weights="w").compute()
    with pytest.raises(ValueError, match=r"may not include negative values, such as -[12].0"):
        frame.sample(n=1, weights=-frame.w).compute()
    with pytest.raises(ValueError, match="may not include `inf` values"):
        frame.sample(n=1, weights=1 / frame.w, replace=True).compute()
    with pytest.raises(KeyError, match="String passed to weights not a valid column: 'z'"):
        frame.sample(n=1, weights="z")
    with pytest.raises(NotImplementedError, match=r"sample\(weights='w'\) isn't supported: a fraction .* give n="):
        frame.sample(frac=0.5, weights="w")
    with pytest.raises(NotImplementedError, match="it takes the name of a column, or a lazy series"):
        frame.sample(n=1, weights=[1, 2, 3, 4])


def test_sampling_takes_what_pandas_takes():
    assert len(lazy().sample(random_state=1).compute()) == 1
    assert len(lazy().sample(n=0).compute()) == 0
    assert lazy().sample(n=3, random_state=1, ignore_index=True).compute().index.tolist() == [0, 1, 2]
    assert len(lazy().sample(n=3, random_state=np.random.RandomState(1)).compute()) == 3
    assert len(lazy().sample(frac=0.1, random_state=np.random.default_rng(1)).compute()) > 5
    with pytest.raises(ValueError, match=r"sample\(n=300\): there are 200 rows; replace=True"):
        lazy().sample(n=300).compute()
    with pytest.raises(ValueError, match="n=3 or frac=0.1, not both"):
        lazy().sample(n=3, frac=0.1)
    with pytest.raises(OptionError, match="a fraction is frac=0.1"):
        lazy().sample(0.1)
    with pytest.raises(OptionError, match="random_state='x' should be a number"):
        lazy().sample(n=1, random_state="x")


def test_products_of_rows_are_those_of_pandas():
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [1.0, np.nan, 2.0]})
    one = gd.from_pandas(frame, npartitions=2)
    assert one.x.dot(one.x).compute() == frame.x.dot(frame.x)
    assert np.isnan((one.x @ one.y).compute())
    pd.testing.assert_series_equal(one.x.dot(one).compute(), frame.x.dot(frame))
    weights = pd.Series([1.0, 10.0], index=["x", "y"])
    pd.testing.assert_series_equal(one.dot(weights).compute(), frame.dot(weights))
    pd.testing.assert_frame_equal((one @ np.eye(2)).compute(), frame @ np.eye(2))
    with pytest.raises(TypeError, match="dot needs a lazy series or frame"):
        one.x.dot([1, 2, 3])
    with pytest.raises(NotImplementedError, match="compute\\(\\) it first"):
        one.dot(one)


def test_records_are_those_of_pandas():
    for options in ({}, {"index": False}, {"index": False, "column_dtypes": {"x": "float32"}}):
        found, expected = lazy().to_records(**options), FRAME.to_records(**options)
        assert found.dtype == expected.dtype
        assert found.compute().tolist() == expected.tolist()
    assert lazy().to_records(lengths=True).shape == (200,)


def test_approximations_of_dask_are_exact():
    assert lazy().x.median_approximate().compute() == FRAME.x.median()
    assert lazy().median_approximate(numeric_only=True).compute().to_dict() == {"x": 99.5}
    assert lazy().k.nunique_approx().compute() == 2
    assert lazy()[["k"]].nunique_approx(split_every=2).compute() == 2


def test_categories_of_labels_become_known():
    labels = FRAME.set_index("k")
    frame = gd.from_pandas(labels, npartitions=3, sort=False)
    made = frame.categorize(index=True, split_every=2)
    assert made.expr.meta.index.categories.tolist() == ["a", "b"]
    assert made.compute().equals(labels.set_axis(pd.CategoricalIndex(labels.index)))
    assert not isinstance(frame.categorize().expr.meta.index, pd.CategoricalIndex)
    assert lazy().categorize("k", index=False).k.cat.known


def test_a_series_is_shuffled_by_its_values_or_labels():
    moved = lazy().k.shuffle(npartitions=3)
    assert moved.npartitions == 3 and moved.name == "k"
    assert sorted(moved.map_partitions(lambda part: part.nunique(), meta=("n", "int64")).compute()) in (
        [0, 0, 2],
        [0, 1, 1],
    )
    by_label = lazy().x.rename(None).shuffle(on_index=True)
    assert by_label.name is None
    assert by_label.compute().sort_index().equals(FRAME.x.rename(None))
    by_other = lazy().x.shuffle(lazy().k)
    assert by_other.compute().sort_index().equals(FRAME.x)


def test_squeezing_never_makes_a_scalar():
    assert lazy()[["x"]].squeeze().compute().equals(FRAME.x)
    assert lazy().squeeze().columns.tolist() == ["x", "k"]
    assert lazy().x.squeeze().compute().equals(FRAME.x)
    with pytest.raises(NotImplementedError, match="squeeze.axis=0.*number of rows isn't known"):
        lazy().squeeze(axis=0)


def test_divisions_are_computed_again():
    frame = lazy(3).clear_divisions()
    assert frame.compute_current_divisions() == lazy(3).divisions
    assert not frame.known_divisions
    assert frame.compute_current_divisions("x") == (0.0, 66.0, 133.0, 199.0)
    frame.compute_current_divisions(set_divisions=True)
    assert frame.divisions == lazy(3).divisions
    with pytest.raises(DivisionError, match="overlap|isn't sorted"):
        lazy().compute_current_divisions("k")
    assert lazy().compute_current_divisions() == lazy().divisions


def test_an_optimised_frame_is_equal():
    chosen = lazy()[lazy().x > 3].x
    assert chosen.optimize().compute().equals(FRAME.x[FRAME.x > 3])


def test_filter_takes_conditions():
    expected = FRAME[FRAME.x > 190]
    assert lazy().filter(lambda frame: frame.x > 190).compute().equals(expected)
    assert lazy().filter(cond=lazy().x > 190).compute().equals(expected)
    assert lazy().x.filter(lambda x: x > 190).compute().equals(expected.x)
    with pytest.raises(TypeError, match="mutually exclusive"):
        lazy().filter(like="x", cond=lazy().x > 190)
    for frame in (lazy(), lazy().x):
        with pytest.raises(
            TypeError, match=r"items= is a lazy Series; rows for which a condition holds are chosen by filter\(cond="
        ):
            frame.filter(lazy().x > 190)


def test_joins_take_suffixes_for_both_sides():
    made = lazy().join(FRAME, suffixes=("_l", "_r"))
    assert made.columns.tolist() == ["x_l", "k_l", "x_r", "k_r"]
    with pytest.raises(ValueError, match="not both"):
        lazy().join(FRAME, lsuffix="_l", suffixes=("_l", "_r"))


@pytest.mark.parametrize("how", ["sum", "mean", "std", "var", "min", "max", "prod", "any", "all"])
def test_numpys_reductions_stay_lazy(how):
    found = getattr(np, how)(lazy().x)
    assert isinstance(found, gd.Scalar)
    assert found.compute() == pytest.approx(getattr(np, how)(FRAME.x))


def test_numpys_functions_of_rows_stay_lazy():
    for call in (np.cumsum, lambda x: np.round(x, 1), lambda x: np.clip(x, 3, 5)):
        found = call(lazy().x)
        assert isinstance(found, gd.Series)
        pd.testing.assert_series_equal(found.compute(), call(FRAME.x))


def test_windows_take_numbers_alone_where_asked():
    frame = lazy(3)
    pd.testing.assert_frame_equal(
        frame.expanding().sum(numeric_only=True).compute(), FRAME.expanding().sum(numeric_only=True)
    )
    pd.testing.assert_frame_equal(frame.rolling(2).sum(True).compute(), FRAME.rolling(2).sum(True))
    pd.testing.assert_series_equal(frame.x.expanding().std(0).compute(), FRAME.x.expanding().std(0))
    assert frame.x.rolling(2).pipe(lambda windows, sign: sign * windows.sum(), -1).compute().iloc[1] == -1


def test_labels_take_arguments_of_pandas():
    times = pd.DataFrame({"x": range(4)}, index=pd.date_range("2000-01-01 10:30", periods=4, freq="D", name="t"))
    index = gd.from_pandas(times, npartitions=2).index
    assert index.round("D").compute().equals(times.index.round("D"))
    assert index.round(freq="h").compute().equals(times.index.round("h"))
    assert index.copy(name="u").compute().name == "u"
    assert index.to_series(name="v").compute().name == "v"
    assert index.map(lambda label: label.day).compute().equals(times.index.map(lambda label: label.day))
    assert index.map(lambda label: label.day).dtype == index.map(str, meta="int64").dtype == "int64"
    assert index.map(str).compute().equals(times.index.map(str))
    numbers = pd.Series([40, 10, 20, 30], index=[4, 2, 1, 3])
    own = pd.Series([3, 1, 2, 5, 4, 2], index=[1, 2, 3, 4, 5, 6])
    for looked_up in (numbers, own):  # another partition may have the label
        for count in (1, 2, 3):
            labels = gd.from_pandas(looked_up, npartitions=count, sort=False)
            found = gd.from_pandas(own, npartitions=3).index.map(labels).compute()
            pd.testing.assert_index_equal(found, own.index.map(looked_up))
    assert index.unique(split_out=2).npartitions == 2
    assert index.value_counts(normalize=True).compute().tolist() == [0.25] * 4
    with pytest.raises(
        NotImplementedError, match=r"Index.sum isn't supported: it is a series' method. Use index.to_series\(\).sum"
    ):
        index.sum()
    numbers = lazy().index
    assert numbers.round(-1).compute().equals(FRAME.index.round(-1))
    assert numbers.nunique(dropna=False).compute() == 200


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.apply(lambda row: row.x * 2, axis=1, meta=("q", "float64")),
        lambda f: f.x.map(lambda x: x * 2, meta=("q", "float64")),
        lambda f: f.x.apply(lambda x: x * 2, meta=("q", "float64")),
        lambda f: f.apply(lambda row: pd.Series({"q": row.x * 2}), axis=1, meta={"q": "float64"}),
        lambda f: f.map_partitions(lambda part: part[["x"]].mul(2).set_axis(["q"], axis=1), meta=[("q", "float64")]),
        lambda f: f.map_partitions(lambda part: (part.x * 2).rename("q"), meta=("q", "float64")),
        lambda f: f[["x"]].map_overlap(lambda part: part.mul(2).set_axis(["q"], axis=1), 1, 0, meta={"q": "float64"}),
    ],
)
def test_names_of_meta_are_those_of_results_with_the_labels_of_the_frame(call):
    found = call(lazy(3)).reset_index()
    assert found.columns.tolist() == ["row", "q"]
    expected = pd.DataFrame({"row": range(200), "q": FRAME.x.to_numpy() * 2})
    pd.testing.assert_frame_equal(found.compute().reset_index(drop=True), expected)
    assert found.groupby("row").q.sum().compute().tolist() == expected.q.tolist()


@pytest.mark.parametrize("npartitions", [1, 3])
def test_names_of_meta_are_those_of_functions_of_groups(npartitions):
    groups = lazy(npartitions).groupby("k")
    found = groups.apply(len, meta=("n", "int64")).reset_index()
    assert found.columns.tolist() == ["k", "n"]
    assert found.compute().to_dict("list") == {"k": ["a", "b"], "n": [100, 100]}
    changed = groups.x.transform(lambda x: x - x.min(), meta=("x", "float64")).reset_index()
    assert changed.columns.tolist() == changed.compute().columns.tolist() == ["row", "x"]


def joined(block, other, partition_info=None):
    number = None if partition_info is None else partition_info["number"]
    return block.assign(y=other.x.sum(), rows=len(other), number=number or 0)


def test_functions_of_partitions_get_rows_of_equal_labels_of_other_frames():
    other = lazy(3)
    made = lazy(2).map_partitions(lambda block, more: block.x + more.x, other, align_dataframes=True)
    pd.testing.assert_series_equal(made.compute(), FRAME.x * 2)
    info = gd.map_partitions(joined, lazy(2), other, align_dataframes=True)
    found = info.compute()
    assert (
        found.number.nunique() == info.npartitions
        and (found.groupby("number").size() == found.groupby("number").rows.first()).all()
    )
    with pytest.raises(
        DivisionError, match=r"map_partitions\(joined\): the operands are cut differently: 2 partitions"
    ):
        lazy(2).clear_divisions().map_partitions(joined, other, align_dataframes=True)
    with pytest.raises(
        DivisionError,
        match="Or give align_dataframes=True, which cuts frames of known divisions alike, or align_dataframes=False",
    ):
        lazy(2).map_partitions(joined, other)


def test_functions_of_partitions_get_those_of_one_number_without_alignment():
    other = lazy(2).clear_divisions()
    labels = lazy(2).map_partitions(
        lambda block, more: block.assign(y=more.x.to_numpy()), other, align_dataframes=False
    )
    pd.testing.assert_series_equal(labels.y.compute(), FRAME.x.rename("y"))
    with pytest.raises(DivisionError, match=r"same number of partitions or one, not 2 and 3"):
        lazy(3).map_partitions(joined, other, align_dataframes=False)


@pytest.mark.parametrize("align_dataframes", [None, False])
def test_functions_of_partitions_get_the_only_partition_of_the_frame_they_are_called_on_with_each(align_dataframes):
    small = pd.DataFrame({"k": ["a", "b"], "v": [1, 2]})
    options = {"on": "k", "how": "right", "align_dataframes": align_dataframes}
    made = gd.from_pandas(small, npartitions=1).map_partitions(pd.merge, lazy(4), **options)
    assert made.npartitions == 4
    pd.testing.assert_frame_equal(made.compute().reset_index(drop=True), small.merge(FRAME, on="k", how="right"))
    info = gd.from_pandas(small, npartitions=1).map_partitions(joined, lazy(4), align_dataframes=align_dataframes)
    assert info.number.compute().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    for options in ({"keep_divisions": True}, {"align_dataframes": True}):
        with pytest.raises(DivisionError, match=r"map_partitions\(joined\): call it on the frame with 4 partitions"):
            gd.from_pandas(small, npartitions=1).map_partitions(joined, lazy(4), **options)


@pytest.mark.parametrize(
    ("labels", "kind"), [(np.array([1, 2, 4]), int), (np.array([1.5, 2, 4]), float), (["a", "b", "c"], str)]
)
def test_divisions_are_plain_values(labels, kind):
    frame = gd.from_pandas(pd.DataFrame({"x": range(3)}, index=labels), npartitions=2)
    assert [type(label) for label in frame.divisions] == [kind] * 3


def test_functions_of_partitions_take_an_object_of_pandas_as_one():
    reverse = FRAME[::-1]
    made = gd.map_partitions(lambda block: block.x * 2, reverse)
    assert made.npartitions == 1
    pd.testing.assert_series_equal(made.compute(), reverse.x * 2)
    beside = gd.map_overlap(lambda block, more: block.x.shift(1) + more.x, reverse, 1, 0, reverse)
    pd.testing.assert_series_equal(beside.compute(), reverse.x.shift(1) + reverse.x)


def scaled(block, model, bias=None):
    return block.x * model["weight"] + (0 if bias is None else bias)


@pytest.mark.parametrize("npartitions", [1, 3])
def test_functions_of_partitions_get_what_delayed_calls_return(npartitions):
    model, bias = gl.delayed(dict)(weight=10.0), gl.delayed(float)(2)
    for made in (
        lazy(npartitions).map_partitions(scaled, model, bias=bias, meta=("x", "f8")),
        lazy(npartitions).map_overlap(scaled, 1, 0, model, bias=bias, meta=("x", "f8")),
    ):
        pd.testing.assert_series_equal(made.compute(), FRAME.x * 10 + 2)
    for call in (lambda: lazy().map_partitions(scaled, model), lambda: lazy().map_overlap(scaled, 1, 0, model)):
        with pytest.raises(
            MetaError, match=r"\(scaled\): what a Delayed returns isn't known; say what the function returns with meta="
        ):
            call()


def test_values_are_among_those_that_a_delayed_call_returns():
    few = gl.delayed(list)([1, 5])
    pd.testing.assert_series_equal(lazy(3).x.isin(few).compute(), FRAME.x.isin([1, 5]))
    pd.testing.assert_frame_equal(lazy(3)[["x"]].isin(few).compute(), FRAME[["x"]].isin([1, 5]))
