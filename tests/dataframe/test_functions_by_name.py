"""Users' functions are given by position or by name, and get keyword arguments of any name."""

import inspect

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

PLAIN = pd.DataFrame({"k": ["a", "b", "a", "c"], "x": [1.0, 2.0, 4.0, 8.0], "y": [3, 1, 4, 1]})
LAZY = gd.from_pandas(PLAIN, npartitions=2)
INLINE = {"scheduler": "inline"}
OWN = {"func": 3, "function": 5, "arg": 7, "self": 11}
"""Arguments of users' functions, called as those of the methods are."""
TOTAL = sum(OWN.values())


def plus(value, /, *args, **kwargs):
    """Return a value and the sum of all other arguments."""
    assert set(kwargs) <= set(OWN)
    return value + sum(args) + sum(kwargs.values())


def row_plus(row, /, **kwargs):
    return plus(row["x"], **kwargs)


def block_plus(block, /, *args, **kwargs):
    return plus(block[["x", "y"]], *args, **kwargs)


CALLS = {
    "map_partitions": (lambda f, *a, **k: f.map_partitions(*a, **k), block_plus),
    "map_partitions of a series": (lambda f, *a, **k: f.x.map_partitions(*a, **k), plus),
    "apply of rows": (lambda f, *a, **k: f.apply(*a, axis=1, **k), row_plus),
    "apply of columns": (lambda f, *a, **k: f[["x", "y"]].apply(*a, **k), plus),
    "apply of values": (lambda f, *a, **k: f.x.apply(*a, **k), plus),
    "map": (lambda f, *a, **k: f.x.map(*a, **k), plus),
    "map of a frame": (lambda f, *a, **k: f[["x", "y"]].map(*a, **k), plus),
    "pipe": (lambda f, *a, **k: f.x.pipe(*a, **k), plus),
    "apply of groups": (
        lambda f, *a, **k: f.groupby("k").apply(*a, **k),
        lambda group, /, **kwargs: plus(group["x"].sum(), **kwargs),
    ),
    "apply of grouped values": (
        lambda f, *a, **k: f.groupby("k").x.apply(*a, **k),
        lambda group, /, **kwargs: plus(group.sum(), **kwargs),
    ),
    "transform of groups": (lambda f, *a, **k: f.groupby("k").x.transform(*a, **k), plus),
    "agg of groups": (
        lambda f, *a, **k: f.groupby("k").x.agg(*a, **k),
        lambda group, /, **kwargs: plus(group.sum(), **kwargs),
    ),
    "pipe of groups": (
        lambda f, *a, **k: f.groupby("k").x.pipe(*a, **k),
        lambda groups, /, **kwargs: plus(groups.sum(), **kwargs),
    ),
    "pipe of windows": (
        lambda f, *a, **k: f.x.rolling(2).pipe(*a, **k),
        lambda windows, /, **kwargs: plus(windows.sum(), **kwargs),
    ),
}
NEW = ("map of a frame", "map")
"""Keyword arguments of the function are new in pandas 3 for `map` of series."""


@pytest.mark.parametrize("name", CALLS)
def test_functions_are_given_by_name(name):
    call, function = CALLS[name]
    expected = _by_position(name)
    got = call(LAZY, func=function)
    assert_same(_computed(got), expected)


def _by_position(name):
    call, function = CALLS[name]
    return _computed(call(LAZY, function))


def _computed(made):
    return made.compute(**INLINE)


@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_functions_have_any_names(name):
    if name in NEW and not HAS_COPY_ON_WRITE:
        pytest.skip("pandas 2 passes no arguments on")
    call, function = CALLS[name]
    expected = _by_position(name) + TOTAL
    assert_same(_computed(call(LAZY, function, **OWN)), expected)


@pytest.mark.parametrize("name", ["apply of rows", "apply of values"])
def test_dasks_name_of_a_function_is_taken_unless_it_is_given_by_position(name):
    call, function = CALLS[name]
    assert_same(_computed(call(LAZY, function=function)), _by_position(name))
    assert_same(_computed(call(LAZY, function, function=3)), _by_position(name) + 3)


def test_results_are_those_of_pandas():
    assert_same(_computed(LAZY.x.apply(func=plus, args=(2,))), PLAIN.x.apply(func=plus, args=(2,)))
    assert_same(_computed(LAZY.apply(func=row_plus, axis=1)), PLAIN.apply(func=row_plus, axis=1))
    assert_same(_computed(LAZY.groupby("k").x.agg(func="sum")), PLAIN.groupby("k").x.agg(func="sum"))
    assert_same(_computed(LAZY.groupby("k").x.agg(arg="sum")), PLAIN.groupby("k").x.agg(arg="sum"))
    assert_same(_computed(LAZY.groupby("k").agg(arg=("x", "sum"))), PLAIN.groupby("k").agg(arg=("x", "sum")))
    assert_same(_computed(LAZY.agg(func={"x": "sum"})), PLAIN.agg(func={"x": "sum"}))
    assert_same(_computed(LAZY.x.transform(func="abs")), PLAIN.x.transform(func="abs"))
    assert_same(_computed(LAZY.x.apply(plus, function=3)), PLAIN.x.apply(plus, function=3))
    at = pd.Series(range(6), index=pd.date_range("2000-01-01", periods=6, freq="h"))
    lazy = gd.from_pandas(at, npartitions=2)
    assert_same(_computed(lazy.resample("2h").agg(func="sum")), at.resample("2h").agg(func="sum"))
    assert_same(_computed(lazy.resample("2h").pipe(func=lambda bins: bins.max())), at.resample("2h").max())


def test_arguments_of_overlapping_calls_have_any_names():
    def summed(block, /, **kwargs):
        assert set(kwargs) <= {"func", "before", "after", "self"}
        return block + block.shift(fill_value=0) + sum(kwargs.values())

    expected = PLAIN.y + PLAIN.y.shift(fill_value=0)
    assert_same(_computed(LAZY.y.map_overlap(func=summed, before=1, after=0)), expected)
    assert_same(_computed(LAZY.y.map_overlap(summed, 1, after=0)), expected)
    assert_same(_computed(LAZY.y.map_overlap(summed, 1, 0, before=5, after=6, func=7, self=8)), expected + 26)
    assert_same(_computed(gd.map_overlap(func=summed, df=LAZY.y, before=1, after=0)), expected)


def test_arguments_of_reductions_have_any_names():
    def largest(found, /, **kwargs):
        return found.max() + sum(kwargs.values())

    assert _computed(LAZY.y.reduction(chunk=largest, aggregate=largest)) == 4
    assert _computed(LAZY.y.reduction(chunk=largest)) == 4
    assert _computed(LAZY.y.reduction(largest, aggregate=largest, combine=largest)) == 4
    assert _computed(LAZY.y.reduction(largest, largest, largest, chunk=1, aggregate=2, combine=3, self=4)) == 4 + 20


def test_arguments_of_functions_of_files_have_any_names():
    def made(number, /, **kwargs):
        return pd.DataFrame({"n": [number + sum(kwargs.values())]})

    for call in (lambda: gd.from_map(made, [1, 2], func=3, function=5, self=7), lambda: gd.from_map(made, [16, 17])):
        assert _computed(call()).n.tolist() == [16, 17]
    for name in ("func", "function"):
        with pytest.raises(ValueError, match="an iterable with at least one item"):
            gd.from_map(**{name: made})
    got = gd.map_partitions(plus, LAZY.y, **OWN)
    assert _computed(got).tolist() == (PLAIN.y + TOTAL).tolist()


def test_a_missing_function_is_named():
    with pytest.raises(TypeError, match=r"map_partitions\(\) missing 1 required positional argument: 'func'"):
        LAZY.map_partitions(meta=LAZY._meta)
    with pytest.raises(
        TypeError, match=r"map_overlap\(\) missing 2 required positional arguments: 'before' and 'after'"
    ):
        LAZY.map_overlap(plus, after=0)


@pytest.mark.parametrize("kind", [gd.DataFrame, gd.Series, type(LAZY.groupby("k"))])
def test_methods_with_arguments_for_functions_take_them_by_position_only(kind):
    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        places = list(inspect.signature(method).parameters.values())
        is_open = any(one.kind is one.VAR_KEYWORD for one in places)
        if is_open and places[1].name in ("func", "function", "chunk"):
            assert places[1].kind is inspect.Parameter.POSITIONAL_ONLY, name
