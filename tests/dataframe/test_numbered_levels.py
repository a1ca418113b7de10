"""Levels and columns whose names are numbers of other places: each keeps its own values. The oracle is pandas with texts as names,
since pandas itself takes one such level for another in places.
"""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same

_random = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "0": _random.integers(0, 3, 40),
        "1": _random.integers(10, 13, 40),
        "2": _random.choice(list("xyz"), 40),
        "3": _random.integers(0, 9, 40) / 2,
        "4": _random.integers(0, 5, 40),
    }
)
ONE_EACH = FRAME.drop_duplicates(["1", "0"]).reset_index(drop=True)
BY_NUMBERS = {name: int(name) for name in FRAME}


def _distance(values):
    return values.max() - values.min()


OPERATIONS = {
    "sum": lambda f, a, b, t, v, n: f.groupby([b, a])[[v, n]].sum(),
    "median": lambda f, a, b, t, v, n: f.groupby([b, a])[[v]].median(),
    "several": lambda f, a, b, t, v, n: f.groupby([b, a]).agg({v: ["sum", "median"]}),
    "a function": lambda f, a, b, t, v, n: f.groupby([b, a])[v].agg(_distance),
    "transform": lambda f, a, b, t, v, n: f.groupby([b, a])[v].transform("sum"),
    "numbers": lambda f, a, b, t, v, n: f.groupby([b, a]).ngroup(),
    "largest": lambda f, a, b, t, v, n: f.groupby([b, a])[v].nlargest(1),
    "distinct": lambda f, a, b, t, v, n: f.groupby([b, a])[t].nunique(),
    "counts": lambda f, a, b, t, v, n: f.groupby([b, a])[t].value_counts(normalize=True),
    "counts as columns": lambda f, a, b, t, v, n: f.groupby([b, a], as_index=False)[t].value_counts(),
    "windows": lambda f, a, b, t, v, n: f.groupby([b, a])[[v]].rolling(2).sum(),
    "rows": lambda f, a, b, t, v, n: f[[t, a, b]].value_counts(sort=False),
    "a level": lambda f, a, b, t, v, n: f.set_index([b, a])[[v]].groupby(level=a).median(),
    "sorted": lambda f, a, b, t, v, n: f.set_index([b, a]).sort_index(),
    "sorted by a level": lambda f, a, b, t, v, n: f.set_index([b, a]).sort_index(level=a),
    "a label": lambda f, a, b, t, v, n: f.set_index([b, a]).loc[(11, 1)],
    "part of a label": lambda f, a, b, t, v, n: f.set_index([b, a])[v].loc[(slice(None), 2)],
    "from label to label": lambda f, a, b, t, v, n: f.set_index([b, a]).sort_index().loc[(10, 1) : (11, 1)],
    "crosstab": lambda f, a, b, t, v, n: (pd if isinstance(f, pd.DataFrame) else gd).crosstab([f[b], f[a]], f[t]),
    "pivot table": lambda f, a, b, t, v, n: f.pivot_table(v, [b, a], t, "sum"),
    "pivot table with margins": lambda f, a, b, t, v, n: f.pivot_table([v], [b, t], a, "sum", margins=True),
    "pivot table of two levels of columns": lambda f, a, b, t, v, n: f.pivot_table([v, n], t, [b, a], "sum"),
    "pivot table in order of appearance": lambda f, a, b, t, v, n: f.pivot_table(v, [b, a], t, "sum", sort=False),
}


@pytest.mark.parametrize("npartitions", [1, 3])
@pytest.mark.parametrize("name", OPERATIONS)
def test_levels_named_by_numbers_are_not_taken_for_one_another(name, npartitions):
    expected = OPERATIONS[name](FRAME, *FRAME)
    lazy = gd.from_pandas(FRAME.rename(columns=BY_NUMBERS), npartitions=npartitions)
    assert_same(_named_by_texts(OPERATIONS[name](lazy, *BY_NUMBERS.values()).compute(scheduler="inline")), expected)


@pytest.mark.parametrize("npartitions", [1, 3])
def test_pivoted_levels_named_by_numbers_keep_their_order(npartitions):
    expected = ONE_EACH.pivot(index=["1", "0"], columns="2", values="3")
    lazy = gd.from_pandas(ONE_EACH.rename(columns=BY_NUMBERS), npartitions=npartitions)
    made = lazy.pivot(index=[1, 0], columns=2, values=3).compute(scheduler="inline")
    assert_same(_named_by_texts(made), expected)


@pytest.mark.parametrize("names", [[1, 0], ["a", 0], [1, "b"], [None, 0]])
def test_groups_by_levels_named_by_numbers_have_the_names_that_pandas_gives_them(names):
    index = pd.MultiIndex.from_arrays([[1, 1, 2, 2], [3, 4, 3, 3]], names=names)
    plain = pd.DataFrame({"x": [1, 2, 3, 4]}, index=index)
    lazy = gd.from_pandas(plain, npartitions=2)
    both = [pd.Grouper(level=0), pd.Grouper(level=1)]
    for given in (
        {"level": [0, 1]},
        {"level": [1, 0]},
        {"level": 0},
        {"level": [1]},
        {"by": both[0]},
        {"by": both[:1]},
        {"by": both},
    ):
        assert_same(lazy.groupby(**given).sum().compute(scheduler="inline"), plain.groupby(**given).sum())
        assert_same(lazy.groupby(**given).x.median().compute(scheduler="inline"), plain.groupby(**given).x.median())
    named = [name for name in names if isinstance(name, int)]
    assert_same(lazy.groupby(named).sum().compute(scheduler="inline"), plain.groupby(named).sum())
    if names == [1, 0]:
        with pytest.raises(NotImplementedError, match=r"numbers of other places, \[1, 0\]: rename_axis\(\)"):
            lazy.groupby(level=[0, 1], as_index=False)


def _named_by_texts(made):
    """Return a result with texts in place of the numbers of columns, in names and in labels of columns."""
    texts = {number: text for text, number in BY_NUMBERS.items()}
    made = made.set_axis(made.index.set_names([texts.get(name, name) for name in made.index.names]), axis=0)
    if isinstance(made, pd.Series):
        return made.rename(texts.get(made.name, made.name))
    names = [texts.get(name, name) for name in made.columns.names]
    if not any(isinstance(name, str) and name.isdigit() for name in names) or made.columns.nlevels > 1:
        columns = made.columns.map(
            lambda label: (
                (texts.get(label[0], label[0]), *label[1:]) if isinstance(label, tuple) else texts.get(label, label)
            )
        )
        made = made.set_axis(columns, axis=1)
    return made.set_axis(made.columns.set_names(names), axis=1)
