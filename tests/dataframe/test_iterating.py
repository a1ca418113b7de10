"""What `for`, `list` and `dict` make of lazy objects: with subscripts alone, which are lazy too, Python would never come to an end."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import glassloom.dataframe as gd
import pandas as pd
import pytest

FRAME = pd.DataFrame({"x": [3, 1, 2], "s": ["a", None, "b"]}, index=list("pqr"))
INDEXES = {
    "text": FRAME.index,
    "numbers": pd.RangeIndex(3),
    "times": pd.date_range("2020", periods=3, tz="Europe/Paris"),
    "two levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
}


@pytest.mark.parametrize("name", INDEXES)
def test_an_index_yields_its_labels(name):
    lazy = gd.from_pandas(FRAME.set_axis(INDEXES[name], axis=0), npartitions=2, sort=False)
    assert list(lazy.index) == list(INDEXES[name])
    assert dict(zip(lazy.index, lazy.x, strict=True)) == dict(zip(INDEXES[name], FRAME.x, strict=True))
    assert sorted(lazy.index, reverse=True) == list(INDEXES[name])[::-1]


def test_a_dict_of_a_series_has_its_labels():
    counts = gd.from_pandas(FRAME, npartitions=2).x.value_counts()
    assert {label: int(count) for label, count in dict(counts).items()} == {3: 1, 1: 1, 2: 1}


def test_accessors_and_indexers_can_not_be_iterated():
    lazy = gd.from_pandas(FRAME, npartitions=2)
    for one in (
        lazy.s.str,
        lazy.index.str,
        lazy.loc,
        lazy.iloc,
        lazy.at,
        lazy.iat,
        lazy.x.ewm(1),
        lazy.groupby("x").nth,
    ):
        with pytest.raises(TypeError, match="object is not iterable"):
            iter(one)


def test_each_class_with_subscripts_says_what_iterating_it_gives():
    found = []
    for module in pkgutil.walk_packages(gd.__path__, "glassloom.dataframe."):
        for cls in vars(importlib.import_module(module.name)).values():
            is_own = inspect.isclass(cls) and cls.__module__.startswith("glassloom")
            if is_own and hasattr(cls, "__getitem__") and not getattr(cls, "_is_protocol", False):
                found.append(cls)
                assert hasattr(cls, "__iter__"), (
                    f"{cls.__name__} has __getitem__ alone: say __iter__, or that it is None"
                )
    assert len(found) > 10
