"""`agg` and `transform` by functions of the user's, which get whole columns as lazy series."""

from __future__ import annotations

from functools import partial

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION


def span(column):
    return column.max() - column.min()


@pytest.fixture
def frame():
    return pd.DataFrame({"a": [1, 5, 2, 8, 3], "b": [1.5, None, 2.0, -1.0, 0.0], "c": [3, 3, 3, 4, 4]})


def lazy(frame):
    return gd.from_pandas(frame, npartitions=3)


AGGREGATIONS = {
    "a value of an array": lambda frame: frame.agg(lambda column: np.sum(column.values**2)),
    "a value of an array, applied": lambda frame: frame.apply(lambda column: np.abs(column.values).max()),
    "a function": lambda frame: frame.agg(span),
    "with arguments": lambda frame: frame.agg(lambda column, k, *, plus: column.sum() * k + plus, 0, 3, plus=1),
    "a function and names": lambda frame: frame.agg(["sum", span]),
    "by column": lambda frame: frame.agg({"a": span, "b": "sum"}),
    "lists by column": lambda frame: frame.agg({"a": [span, "min"], "b": [span, "max"]}),
    "named": lambda frame: frame.agg(x=("a", span), y=("b", "max")),
    "of a series": lambda frame: frame.b.agg(span),
    "several of a series": lambda frame: frame.a.agg([span, "sum"]),
    "a constant": lambda frame: frame.agg(lambda column: 1),
    "a reduction that is named": lambda frame: frame.a.apply("sum"),
    "reductions that are listed": lambda frame: frame.a.apply(["sum", "min"]),
    "a function of NumPy": lambda frame: frame.agg(np.max),
    "NumPy's own deviations": lambda frame: frame.agg(np.std),
    "NumPy's variance and the method": lambda frame: frame.b.agg([np.var, "var"]),
    "missing values as NumPy and Python have them": lambda frame: frame.b.agg([np.median, sum, np.sum]),
    "Python's functions": lambda frame: frame.agg([max, min, sum, all, any]),
    "Python's functions of narrow numbers": lambda frame: frame.astype({"a": "int8", "c": "float32"}).agg(max),
    "Python's and pandas' by column": lambda frame: frame.astype({"c": "float32"}).agg({"b": max, "c": [min, "mean"]}),
    "Python's function where the first value is missing": lambda frame: frame.b[1:].agg([max, min]),
    "a partial function and an object": lambda frame: frame.agg([partial(scaled, by=2), Span(), "min"]),
    "two of a name of a series": lambda frame: frame.a.agg([lambda column: column.max(), lambda column: column.min()]),
}


def scaled(column, by):
    return column.sum() * by


class Span:
    def __call__(self, column):
        return span(column)


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 calls functions with each value, and methods for NumPy's")
@pytest.mark.parametrize("aggregate", AGGREGATIONS.values(), ids=AGGREGATIONS)
def test_aggregations_are_those_of_pandas(frame, aggregate):
    assert_same(aggregate(lazy(frame)).compute(), aggregate(frame))


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 calls methods for NumPy's functions")
@pytest.mark.parametrize("function", [np.max, np.sum, np.mean, np.std, np.median])
def test_functions_of_numpy_make_numbers_of_missing_values_dtypes(frame, function):
    frame = frame.assign(
        a=pd.array([1, 2, None, 4, 5], "Int64"),
        d=pd.array([1, 2, 3, 4, 5], "Int8"),
        e=frame.b.astype("double[pyarrow]"),
    )
    calls = [
        lambda f: f.agg(function),
        lambda f: f.agg({"a": function, "d": function}),
        lambda f: f.agg({"a": function}),
    ]
    calls.append(lambda f: f.agg([function]))
    for call in calls:
        assert_same(call(lazy(frame)).compute(), call(frame))
    for one in (frame, lazy(frame)):
        if function is np.median:
            with pytest.raises(TypeError, match="boolean"):
                (one.a > 1).agg(np.median).compute()


@pytest.mark.parametrize(
    ("call", "refused_since"),
    [
        (lambda f: f[["a", "b"]].agg(["mean", "mean"]), (2, 0)),
        (lambda f: f.a.transform(["cumsum", "cumsum"]), (3, 1)),  # earlier ones have one column of both
        (lambda f: f.a.ewm(alpha=0.5).agg(["mean", "std", "mean"]), (3, 0)),
        (lambda f: f[["a"]].expanding().agg({"a": ["sum", "sum"]}), (3, 0)),
    ],
)
def test_functions_of_one_name_side_by_side_are_refused_as_by_pandas(frame, call, refused_since):
    for one in (frame, lazy(frame)) if refused_since <= PANDAS_VERSION else [lazy(frame)]:
        with pytest.raises(pd.errors.SpecificationError, match="Function names must be unique"):
            call(one)


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 calls the methods")
def test_functions_of_python_are_told_apart_from_methods(frame):
    with pytest.raises(ValueError, match=r"'max' is missing without rows"):
        lazy(frame[frame.a > 9]).a.agg(max).compute()
    with pytest.raises(TypeError, match=r"agg\(sum\): Python's function adds no values"):
        gd.from_pandas(pd.Series(["a", "b"]), npartitions=2).agg(sum)


TRANSFORMATIONS = {
    "a function": lambda frame: frame.transform(lambda column: column - column.mean()),
    "with arguments": lambda frame: frame.transform(lambda column, k: column * k, 0, 3),
    "of a series": lambda frame: frame.a.transform(lambda column: column - column.mean()),
    "of values": lambda frame: frame.a.transform(lambda value: value if value > 2 else 0),
    "several": lambda frame: frame.transform([np.sqrt, "abs"]),
    "several of a series": lambda frame: frame.a.transform([np.sqrt, "cumsum"]),
    "by column": lambda frame: frame.transform({"b": span_of_rows, "a": "cumsum"}),
    "several by column": lambda frame: frame.transform({"a": ["cumsum", np.sqrt], "c": ["abs"]}),
    "several, and one, by column": lambda frame: frame.transform({"a": ["cumsum", np.sqrt], "c": "abs"}),
    "several of a series by name": lambda frame: frame.a.transform({"x": np.sqrt, "y": "abs"}),
    "a partial function and an object": lambda frame: frame.a.transform([partial(np.add, 1), Less()]),
    "functions of NumPy's": lambda frame: frame.a.apply([np.sqrt, np.exp]),
    "with a lazy value": lambda frame: frame.a.transform(less(frame.a.min())),
    "a name": lambda frame: frame.a.apply("cumsum"),
}


def less(least):
    return lambda column: column - least


class Less:
    def __call__(self, value):
        return value - 1


def span_of_rows(column):
    return column - column.min()


@pytest.mark.parametrize("transform", TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)
@pytest.mark.filterwarnings("ignore:invalid value encountered in sqrt")
def test_transformations_are_those_of_pandas(frame, transform):
    assert_same(transform(lazy(frame)).compute(), transform(frame))


def test_nothing_is_computed_before_it_is_asked_for(frame):
    made = lazy(frame).agg(span)
    assert "agg" in repr(made)
    assert made.dtype == frame.agg(span).dtype


def test_functions_that_give_something_else_are_refused(frame):
    with pytest.raises(TypeError, match="agg: the function should return a value for a column; it returned a list"):
        lazy(frame).a.agg(lambda column: [1])
    with pytest.raises(TypeError, match=r"agg\(axis=0\): the function should return a value, or a lazy series"):
        lazy(frame).agg(lambda column: [1])
    for function in (str, repr):
        with pytest.raises(TypeError, match="it returned the text of the lazy series"):
            lazy(frame).a.agg([function])
    with pytest.raises(TypeError, match="it returned a NoneType"):
        lazy(frame).agg([lambda column: None])
    with pytest.raises(KeyError) as caught:
        lazy(frame).a.transform(lambda value: {-99: 2}[value])
    assert "Before, it was called with values" in "".join(caught.value.__notes__)
    with pytest.raises(ValueError, match="Function did not transform"):
        lazy(frame).transform(span)
    with pytest.raises(ValueError, match="Function did not transform"):
        lazy(frame).transform("sum")
    with pytest.raises(pd.errors.SpecificationError, match="agg: Function names must be unique .* they are"):
        lazy(frame).agg([lambda column: 1, lambda column: 2])


def test_what_a_function_raises_says_how_it_was_called(frame):
    def wrong(column):
        raise RuntimeError("mine")

    for method in ("agg", "transform", "apply"):
        with pytest.raises(RuntimeError, match="mine") as caught:
            getattr(lazy(frame), method)(wrong)
        assert f"{method}(axis=0) calls the function with each column as a lazy series" in caught.value.__notes__[0]


SEVERAL = {
    "numeric_only": lambda f: f.agg(["sum", "mean"], numeric_only=True),
    "bool_only": lambda f: f.agg(["any", "all"], bool_only=True),
    "ddof": lambda f: f[["a", "b"]].agg(["std", np.var if HAS_COPY_ON_WRITE else "var"], ddof=0),
    "ddof of a series": lambda f: f.a.agg(["std", "var"], ddof=0),
    "min_count": lambda f: f.a.agg(["sum", "prod"], min_count=9),
    "arguments": lambda f: f.a.agg([lambda s, k: s.sum() + k], 0, 5),
    "arguments of a frame": lambda f: f[["a", "b"]].agg([lambda s, k: s.sum() + k], 0, k=5),
    "size": lambda f: f.agg("size"),
    "apply size": lambda f: f.apply("size"),
    "apply size of a series": lambda f: f.a.apply("size"),
    "array": lambda f: f[["a", "b"]].agg(np.array([np.sum])),
    "tuple": lambda f: f[["a", "b"]].agg(("sum", "mean")),
    "series of names": lambda f: f.agg(pd.Series({"a": "sum"})),
    "array for a series": lambda f: f.a.apply(np.array([np.sum])),
    "dict for a series": lambda f: f.a.agg({"x": "sum", "y": np.max}),
    "named for a series": lambda f: f.a.agg(x="sum", y="max"),
    "NamedAgg": lambda f: f.agg(x=pd.NamedAgg("a", "sum"), y=pd.NamedAgg("b", "max")),
    "apply ufuncs": lambda f: f[["a", "b"]].apply([np.sqrt]),
    "transform by an array": lambda f: f[["a", "b"]].transform(np.array([np.sqrt])),
    "transform by a series": lambda f: f[["a", "b"]].transform(pd.Series({"a": np.sqrt})),
    "whole series": lambda f: f.a.apply(lambda s: s / s.max(), by_row=False),
    "value of a whole series": lambda f: f.a.apply(lambda s, k: s.max() + k, args=(5,), by_row=False),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_arguments_and_lists_of_functions_are_taken_as_pandas_takes_them(name):
    plain = pd.DataFrame({"a": [1, 2, 3], "b": [1.5, 2, 4], "t": list("xyz"), "z": [True, False, True]})
    lazy_frame = gd.from_pandas(plain, npartitions=2)
    try:
        expected = SEVERAL[name](plain)
    except (TypeError, ValueError) as refused:  # options that pandas before 3.1 leaves to the method of each column
        assert PANDAS_VERSION < (3, 1)
        with pytest.raises(type(refused)):
            SEVERAL[name](lazy_frame).compute(scheduler="inline")
        return
    assert_same(SEVERAL[name](lazy_frame).compute(scheduler="inline"), expected)


def test_aggregations_by_column_of_columns_of_one_name_are_refused():
    plain = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"])
    lazy = gd.from_pandas(plain, npartitions=1)
    assert_same(lazy.agg({"b": "sum"}).compute(scheduler="inline"), plain.agg({"b": "sum"}))
    with pytest.raises(NotImplementedError, match=r"agg of a frame with equal names of columns \(\['a'\]\)"):
        lazy.agg({"a": "sum"})


def test_functions_of_a_series_whose_results_would_be_stacked_or_at_hand_are_refused():
    lazy = gd.from_pandas(pd.Series([1, 2]), npartitions=1)
    with pytest.raises(
        NotImplementedError, match=r"apply\(func={'x': <ufunc 'sqrt'>}\) isn't supported: transform\(\)"
    ):
        lazy.apply({"x": np.sqrt})
    for function, returned in ((str, "the text of the lazy series"), (pd.to_timedelta, "a TimedeltaIndex")):
        with pytest.raises(TypeError, match=f"should return a value, or a lazy object; it returned {returned}"):
            lazy.apply(function, by_row=False)


TEXTS = pd.DataFrame({"a": ["2020-01-02", "2021-03-04", None], "b": ["2022-01-01"] * 3}, index=[5, 3, 4])
OF_PANDAS = {
    "times": (TEXTS, pd.to_datetime, {}),
    "times of a format": (TEXTS, pd.to_datetime, {"format": "%Y-%m-%d"}),
    "times by a function": (TEXTS, lambda column: pd.to_datetime(column), {}),
    "durations": (TEXTS.notna() * 60, pd.to_timedelta, {"unit": "s"}),
    "durations by a function": (TEXTS.notna() * 60, lambda column: pd.to_timedelta(column, unit="s"), {}),
    "numbers": (TEXTS, pd.to_numeric, {"errors": "coerce"}),
    "intervals": (TEXTS.notna() * 1, pd.cut, {"bins": [-1, 0, 1]}),
    "what misses": (TEXTS, pd.isna, {}),
}


@pytest.mark.parametrize("name", OF_PANDAS)
def test_functions_of_pandas_are_applied_to_columns(name):
    plain, function, options = OF_PANDAS[name]
    for npartitions in (1, 2):
        lazy = gd.from_pandas(plain, npartitions=npartitions, sort=False).apply(function, **options)
        pd.testing.assert_frame_equal(lazy.compute(), plain.apply(function, **options))


def test_times_of_columns_are_made_lazily():
    read = []

    def block(number):
        read.append(number)
        return TEXTS

    lazy = gd.from_map(block, range(2), meta=TEXTS[:0])
    made = lazy.apply(pd.to_datetime, format="%Y-%m-%d")
    assert not read
    pd.testing.assert_frame_equal(made.compute(scheduler="inline"), pd.concat([TEXTS] * 2).apply(pd.to_datetime))
    with pytest.raises(TypeError, match=r"for every column; it returned \['MultiIndex'\]"):
        lazy.apply(lambda column: pd.MultiIndex.from_arrays([column.compute(scheduler="inline")]))
