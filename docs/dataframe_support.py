"""Writes docs/dataframe-support.md: which of pandas' methods glassloom.dataframe has. Run it after adding some.

python docs/dataframe_support.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import glassloom.dataframe as gd
import pandas as pd
from glassloom.dataframe import arguments, support

PAGE = Path(__file__).parent / "dataframe-support.md"
ON_DEVICE = Path(__file__).parent / "dataframe-on-device.json"
"""Made by dataframe_on_device.py."""

OURS: dict[str, type] = {"DataFrame": gd.DataFrame, "Series": gd.Series, "Index": gd.Index}


def page() -> str:
    """Return the page."""
    counts = [(sum(hasattr(OURS[kind], name) for name in names(kind)), len(names(kind))) for kind in OURS]
    there, all_names = (sum(count) for count in zip(*counts, strict=True))
    parts = [
        "# What of pandas is there\n",
        "Made by `python docs/dataframe_support.py` out of the code; a test fails when it is out of date.\n"
        f"{there} of {all_names} public names of pandas {version()}'s DataFrame, Series and Index are there. What isn't "
        "raises a `NotImplementedError` that says what to use instead.\n",
        "Functions: " + _functions() + ".\n",
        "The last column says whether partitions on a device are worked on there, as with cuDF on a GPU. `python docs/dataframe_on_device.py` found it out: it called each "
        "method on partitions of a library that stands in for cuDF, whose objects only their own methods reach, and counted rows that moved to the host. So it is known that our "
        "code leaves partitions there; that cuDF has a method, and gives pandas' results, is known by its documentation alone ([gpus.md](gpus.md)). *Yes*: one way "
        "at least to call it leaves them there. What has to be computed on the host moves there by itself, and its results are pandas'. *Not tried*: no call of the list fits the method.\n",
    ]
    on_device = json.loads(ON_DEVICE.read_text())
    for kind in OURS:
        parts.append(f"## {kind}\n")
        rows = [f"| `{name}` | {what} | {on_device[kind].get(name, 'not tried')} |\n" for name, what in _there(kind)]
        parts.append("| | | on a device |\n|---|---|---|\n" + "".join(rows))
        parts.append("Not there:\n")
        parts.append("| | why | use |\n|---|---|---|\n" + "".join(_missing(kind)))
    parts.append("## Arguments\n")
    parts.append(
        "Methods take the arguments of pandas' and Dask's; by position in pandas' order. Those of the next table are taken at the values that "
        "change nothing here. Others raise a `NotImplementedError` that names the argument.\n"
    )
    parts.append("| argument | of | taken | otherwise |\n|---|---|---|---|\n" + "".join(_untaken()))
    parts.append("What differs from pandas' signatures:\n")
    parts.append("| argument | of | why |\n|---|---|---|\n" + "".join(_different()))
    parts.append("What differs from pandas' results:\n")
    parts.append("| | here | pandas |\n|---|---|---|\n" + "".join(f"| {a} | {b} | {c} |\n" for a, b, c in RESULTS))
    return "\n".join(parts)


RESULTS = (
    (
        "`melt` of several partitions",
        "all columns of a partition, then those of the next one",
        "all rows of a column, then those of the next one",
    ),
    (
        "`frame.loc[label]`, `frame.loc[label, names]` and `frame.xs(label)` of a label that occurs once",
        "a frame of its rows, as in Dask, which stands for the row beside another frame",
        "the row, as a series",
    ),
    ("`series.unique()`", "a lazy series", "an array"),
    (
        "`frame.loc[text]` among labels that are times, where the text is one of them, such as a day among days",
        "a frame of its rows, which stands for the row beside another frame",
        "the row, as a series",
    ),
    (
        "`frame.loc[text]` of a stretch of time in which there is no row, with known divisions",
        "KeyError, unless the partitions that may have such rows have others before and after it",
        "KeyError if all rows are before or after it, or the text is as fine as all labels; else a frame without rows",
    ),
    (
        "`ewm(alpha=...).var()` of one value after which rows miss theirs, with an `alpha` below 0.003",
        "missing",
        "0 or missing, as sums of weights are rounded",
    ),
    (
        "`concat` of columns, and `merge` by columns, whose categories aren't known before",
        "categories, the union of all",
        "values, unless the categories are equal",
    ),
    (
        "`concat(axis=1)` of unlike rows whose divisions are known",
        "in the order of the labels",
        "in order of appearance, unless `sort=True`",
    ),
    (
        "`merge` and `join` that move rows: neither side is small, and divisions aren't known, or columns are the keys",
        "each partition's rows in pandas' order; which rows a partition has depends on a hash of the keys. `sort=True` sorts all",
        'in the order of the left side (`how="right"`: of the right one)',
    ),
    (
        "`pivot_table` without `columns=` and `margins=`",
        "lazy: a column of nothing but missing values stays",
        "it is left out, unless `dropna=False`",
    ),
    (
        "`reset_index`, `merge` by columns, and `read_csv` without `index_col=`",
        "each partition counts its rows from 0",
        "labels from 0 on",
    ),
    (
        "`str.split(n=..., expand=True)`",
        "`n` + 1 columns",
        "as many columns as the text with most parts needs",
    ),
    (
        "sums and means of floats by groups, over several partitions",
        "rounding errors are compensated within each partition, and sums of partitions are added: of values that cancel each other, "
        "digits of the size of one rounding a partition differ",
        "rounding errors are compensated over all rows",
    ),
    (
        "`where`, `mask`, and whole numbers that may be replaced by missing values",
        "floats in any case",
        "whole numbers if none is replaced",
    ),
    (
        "`replace` of texts of a named column by values of another kind, such as numbers, of which no row has one",
        "`dtype` says objects before computing; so are all rows, if in some partition all values are missing",
        "the column's dtype",
    ),
    (
        "`replace` of numbers and times by None, text or others that their dtype can't hold, and `where` and `mask` by such",
        "`dtype` says before computing that they are numbers, and what follows takes them for such: partitions in which none is replaced are computed on as they are (`u8.replace({1: None}) + 100` wraps there); `astype(object)` or `astype(float)` before makes all alike",
        "objects or larger numbers if one is replaced; so are all computed rows here",
    ),
    (
        "`merge` on the name of the left side's labels, which are whole numbers, with floats, over several partitions, where the keys of both are unlike",
        "the key has the dtype that the partitions' joins have together",
        "whole numbers or floats, depending on which keys have no partner and whether all are whole",
    ),
    (
        "whole numbers and booleans of which some rows miss values (`str.len()`, `groupby().cumcount()`, sums of frames of other rows, columns set by series of other rows, rows without a partner in `merge`, `join` and `concat(axis=1)`, `cut` with edges and `labels=False`)",
        "`dtype` says before computing what they are if none is missing; rows of some partitions alone, as `head()` has them, or those that a condition leaves, may be such",
        "floats or objects where any row misses one; so are all computed rows here",
    ),
    (
        "`drop` of times as text from labels with a time zone that are repeated",
        "the rows of those times are dropped",
        "they stay, without an error",
    ),
    (
        "`groupby(group_keys=False).apply` of a function that keeps the labels of all groups, some of which are repeated",
        "rows at their places",
        "rows of one label together, where its first one was",
    ),
    (
        "`combine_first` of several partitions and a column that one frame alone has, and `groupby.apply` of text: if all values are missing",
        "the dtype that the values would have",
        "float64",
    ),
    (
        "`frame[name] = series`, `assign`, `insert`, `frame.loc[:, name] = series` of other rows, in a frame that is found to have no rows only when it is computed",
        "no rows: whether there are any isn't asked of all partitions",
        "the rows of the series, in which the other columns are missing",
    ),
    (
        "`combine` of frames of unlike columns of which one is found to have no rows only when it is computed",
        "the columns of both",
        "those of the other frame",
    ),
    (
        "`loc[label, names] = value` of a label that no row has, if the divisions don't leave it out; `series.loc[label] = value` if it is between known ones",
        "an error when computing, unless the dtypes of all columns stay",
        "a new row",
    ),
    (
        "`loc[label, names] = ` a dict or series with a value for each column, of a label that several rows have",
        "an error when computing",
        "missing values",
    ),
    (
        "operators and methods of two frames of other rows (`f + f[f.x > 0]`) whose divisions aren't known",
        "rows in the order of the partitions; an error if equal labels are in several partitions",
        "rows in the order of their labels",
    ),
    (
        "`frame.div(series, axis=0)` and the like, where labels of one of both repeat, and the other's don't in the same partitions",
        "each row of a label with each",
        "the same, or ValueError, depending on how all labels are joined",
    ),
    (
        "`frame[condition]` and `series[condition]` of a condition with other labels, of which some of the frame's repeat",
        "an error: the condition says several things of a label",
        "an error, or rows at other places",
    ),
    (
        "`frame.loc[condition, name] = series` of labels that repeat, if the series has all labels of the frame, in their order",
        "each row gets the value at its place",
        "ValueError, unless all rows are set",
    ),
    (
        '`sort_values(ascending=False, na_position="first")` by several keys of which one has infinite values and missing ones',
        "missing ones, then infinite ones",
        "both as if they were equal",
    ),
    (
        "`groupby([pandas.Grouper(key=...), ...])` by a column of categories beside other keys",
        "its name and all its categories, as for `groupby([name, ...])`",
        "categories that occur, in order of appearance, and in some cases no name",
    ),
    (
        "labels of groups by a dict or `map` of whole numbers, which has no number for any row of some partitions",
        "whole numbers",
        "floats",
    ),
    (
        "`groupby` by a series that was a column of the frame before `fillna`, `dropna` and others that copy only what has missing values",
        "the column is among the results",
        "it is left out if none was missing",
    ),
    (
        "`reindex` of labels of which others, that aren't asked for, occur several times",
        "the rows: partitions without them aren't read",
        "ValueError",
    ),
)
"""Known differences of results: of what, here, and in pandas."""


def version() -> str:
    """Return the version of pandas as the page shows it."""
    return ".".join(pd.__version__.split(".")[:2])


def names(kind: str) -> list[str]:
    """Return the public names of pandas' class."""
    return [name for name in dir(support.PANDAS[kind]) if not name.startswith("_")]


def _there(kind: str) -> Iterator[tuple[str, str]]:
    for name in names(kind):
        if hasattr(OURS[kind], name):
            yield name, _first_line(getattr(OURS[kind], name))


def _missing(kind: str) -> Iterator[str]:
    for name in names(kind):
        if not hasattr(OURS[kind], name):
            why = support.NOT_THERE[kind, name]
            yield f"| `{name}` | {why.reason} | {why.instead} |\n"


def _untaken() -> Iterator[str]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for (kind, method), untaken in arguments.UNTAKEN.items():
        for name, rule in untaken.items():
            taken = "any value" if rule.usual is arguments.ANY else ", ".join(f"`{value!r}`" for value in rule.usual)
            found.setdefault((name, taken, rule.instead), []).append(f"{kind}.{method}")
    for (name, taken, instead), methods in found.items():
        yield f"| `{name}` | {_listed(methods)} | {taken} | {f'nothing to do: {instead}' if taken == 'any value' else instead} |\n"


def _different() -> Iterator[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for (kind, method, name), reason in arguments.DIFFERENT.items():
        found.setdefault((name, reason), []).append(f"{kind}.{method}")
    for (name, reason), methods in found.items():
        yield f"| {f'`{name}`' if name else 'their order'} | {_listed(methods)} | {reason} |\n"


def _listed(methods: list[str]) -> str:
    """Return methods by their classes: ``DataFrame: add, sub; Series: add``."""
    classes: dict[str, list[str]] = {}
    for method in methods:
        kind, _, name = method.rpartition(".")
        classes.setdefault(kind, []).append(f"`{name}`")
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in classes.items()).replace(
        "function: ", "functions: "
    )


def _first_line(value: Any) -> str:
    text = (value.__doc__ or "").strip().splitlines()
    return text[0].replace("|", "\\|") if text else ""


def _functions() -> str:
    return ", ".join(
        f"`{name}`" for name in gd.__all__ if not isinstance(getattr(gd, name), type) and name != "datasets"
    )


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}", file=sys.stderr)
