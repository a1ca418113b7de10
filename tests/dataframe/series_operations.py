"""Random operations of series. See `frame_differential`."""

from __future__ import annotations

from typing import Any

import glassloom.dataframe as gd
import pandas as pd
from frame_operations import AGGREGATIONS, TRANSFORMS, reduction
from pandas.api import types
from random_frames import LAST, ROWS, UNLABELLED, Draw, Operation, is_text, lazy, replacing, value_of


def series_rows(d: Draw, x: Any) -> Operation:
    value, other = value_of(d, x), value_of(d, x)
    limit = d.one((None, 1, 2))
    n = d.integer(0, 5)
    how = d.options(ascending=(True, False), na_position=("first", "last"))
    rank = d.options(method=("average", "min", "max", "first", "dense"), ascending=(True, False), pct=(True, False), na_option=("keep", "top", "bottom"))  # fmt: skip
    keep = d.one(("first", "last", False))
    periods = d.one((1, -1, 2, 0, 9))
    skipna = d.one((True, True, False))
    name = d.one(("cumsum", "cummax", "cummin", "cumprod"))
    sign = d.one(
        ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "radd", "rsub", "rtruediv", "eq", "ne", "lt", "ge")
    )
    dtype = d.one(
        (
            "float64",
            "int64",
            "str",
            "object",
            "Int64",
            "Float64",
            "bool",
            "string[pyarrow]",
            "boolean",
            "datetime64[us]",
        )
    )
    return d.one((
        Operation(f"x[x > {value!r}]", lambda v: v[v > value]),
        Operation(f"x[x == {value!r}]", lambda v: v[v == value]),
        Operation(f"x.{sign}({value!r})", lambda v: getattr(v, sign)(value)),
        Operation(f"x.{sign}(x)", lambda v: getattr(v, sign)(v)),
        Operation("-x", lambda v: -v),
        Operation("~x", lambda v: ~v),
        Operation("abs(x)", lambda v: abs(v)),
        Operation(f"x.isin([{value!r}])", lambda v: v.isin([value])),
        Operation(f"x.between({value!r}, {other!r})", lambda v: v.between(value, other)),
        Operation(f"x.fillna({value!r})", lambda v: v.fillna(value)),
        Operation(f"x.ffill({limit})", lambda v: v.ffill(limit=limit)),
        Operation(f"x.bfill({limit})", lambda v: v.bfill(limit=limit)),
        Operation("x.dropna()", lambda v: v.dropna()),
        Operation("x.isna()", lambda v: v.isna()),
        Operation(f"x.where(x == {value!r})", lambda v: replacing("where", v, v == value)),
        Operation(f"x.mask(x == {value!r}, {other!r})", lambda v: replacing("mask", v, v == value, other)),
        Operation(f"x.replace({value!r}, {other!r})", lambda v: v.replace(value, other)),
        Operation(f"x.replace({{{value!r}: {other!r}}})", lambda v: v.replace({value: other})),
        Operation(f"x.map({{{value!r}: 1}})", lambda v: v.map({value: 1})),
        Operation("x.map(str)", lambda v: v.map(str)),
        Operation(f"x.clip({value!r})", lambda v: v.clip(value)),
        Operation(f"x.astype({dtype!r})", lambda v: v.astype(dtype)),
        Operation(f"x.sort_values({how})", lambda v: v.sort_values(kind="stable", **how)),
        Operation(f"x.sort_index({how})", lambda v: v.sort_index(kind="stable", **how)),
        Operation(f"x.drop_duplicates({keep!r})", lambda v: v.drop_duplicates(keep=keep)),
        Operation(f"x.duplicated({keep!r})", lambda v: v.duplicated(keep=keep)),
        Operation(f"x.shift({periods})", lambda v: v.shift(periods)),
        Operation(f"x.diff({periods})", lambda v: v.diff(periods)),
        Operation(f"x.{name}(skipna={skipna})", lambda v: getattr(v, name)(skipna=skipna)),
        Operation(f"x.rank({rank})", lambda v: v.rank(**rank), LAST),
        Operation(f"x.pct_change({periods})", lambda v: v.pct_change(periods), LAST),
        Operation(f"x.nlargest({n}, {keep or 'all'!r})", lambda v: v.nlargest(n, keep=keep or "all")),
        Operation(f"x.nsmallest({n}, {keep or 'all'!r})", lambda v: v.nsmallest(n, keep=keep or "all")),
        Operation(f"x.iloc[{n}:]", lambda v: v.iloc[n:]),
        Operation("x.to_frame('a')", lambda v: v.to_frame("a")),
        Operation("x.rename('y')", lambda v: v.rename("y")),
        Operation("x.reset_index(drop=True)", lambda v: v.reset_index(drop=True), UNLABELLED),
        Operation("x.round(1)", lambda v: v.round(1)),
        Operation("x.combine_first(x.shift())", lambda v: v.combine_first(v.shift())),
        Operation("x.apply(str)", lambda v: v.apply(str)),
        Operation("concat([x, x])", lambda v: (gd if lazy(v) else pd).concat([v, v])),
        Operation("x.interpolate()", lambda v: v.interpolate(), LAST),
        Operation("x.repartition(2)", lambda v: v.repartition(npartitions=2) if lazy(v) else v),
    ))  # fmt: skip


def series_statistics(d: Draw, x: Any) -> Operation:
    options = d.options(sort=(True,), dropna=(True, False), normalize=(True, False), ascending=(False, True))
    keep = d.options(dropna=(True, False), sort=(True, False))
    name = d.one(AGGREGATIONS[:13])
    how = d.one(TRANSFORMS[:4])
    size = d.integer(1, 4)
    value = value_of(d, x)
    return d.one((
        Operation(f"x.value_counts({options})", lambda v: v.value_counts(**options), LAST),
        Operation("x.unique()", _unique, LAST),
        Operation("x.describe()", lambda v: v.describe(), LAST),
        Operation("x.agg(['min', 'count'])", lambda v: v.agg(["min", "count"]), LAST),
        Operation("x.is_unique", lambda v: v.is_unique, LAST),
        Operation("x.is_monotonic_increasing", lambda v: v.is_monotonic_increasing, LAST),
        Operation("x.hasnans", lambda v: v.hasnans, LAST),
        Operation("x.first_valid_index()", lambda v: v.first_valid_index(), LAST),
        Operation(f"x.rolling({size}).mean()", lambda v: v.rolling(size).mean(), LAST),
        Operation(f"x.expanding({size}).sum()", lambda v: v.expanding(size).sum(), LAST),
        Operation(f"x.groupby(x, {keep}).{name}()", lambda v: getattr(v.groupby(v, observed=True, **keep), name)(), LAST),
        Operation(f"x.groupby(x.isna()).{name}()", lambda v: getattr(v.groupby(v.isna()), name)(), LAST),
        Operation(f"x.groupby(x.isna()).{how}()", lambda v: getattr(v.groupby(v.isna()), how)(), LAST),
        Operation(f"x.eq({value!r}).sum()", lambda v: v.eq(value).sum(), LAST),
        Operation("x.dtype", lambda v: v.dtype, LAST),
        Operation("x.index", lambda v: v.index, LAST),
        Operation("x.size", lambda v: v.size, LAST),
        Operation("x.autocorr(1)", lambda v: v.autocorr(1), LAST),
        Operation("x.corr(x)", lambda v: v.corr(v), LAST),
        Operation("x.cov(x)", lambda v: v.cov(v), LAST),
        Operation("x.mode()", lambda v: v.mode(), LAST),
    ))  # fmt: skip


def _unique(v: Any) -> Any:
    return v.unique() if lazy(v) else pd.Series(v.unique(), name=v.name, dtype=v.dtype)


TEXT_CALLS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("len", ()), ("upper", ()), ("contains", ("a",)), ("startswith", ("b",)), ("strip", ()), ("slice", (0, 2)), ("replace", ("e", "_")),
    ("split", (" ",)), ("get", (0,)), ("cat", ()), ("extract", ("([a-c])",)), ("zfill", (5,)), ("find", ("e",)), ("count", ("e",)),
    ("pad", (5,)), ("isalpha", ()), ("fullmatch", ("[a-z]+",)), ("findall", ("e",)), ("title", ()), ("repeat", (2,)),
)  # fmt: skip
TIME_PARTS = ("year", "month", "day", "hour", "dayofweek", "date", "is_month_start", "quarter", "nanosecond")


def accessor(d: Draw, x: Any) -> Operation | None:
    if isinstance(x.dtype, pd.CategoricalDtype):
        if not len(x.dtype.categories):
            return None
        value = d.one(list(x.dtype.categories))
        return d.one((
            Operation("x.cat.codes", lambda v: v.cat.codes),
            Operation("x.cat.categories", lambda v: v.cat.categories, LAST),
            Operation("x.cat.as_ordered()", lambda v: v.cat.as_ordered()),
            Operation(f"x.cat.remove_categories([{value!r}])", lambda v: v.cat.remove_categories([value])),
            Operation("x.cat.add_categories(['new'])", lambda v: v.cat.add_categories(["new"])),
            Operation("x.cat.remove_unused_categories()", lambda v: v.cat.remove_unused_categories()),
            Operation(f"x.cat.rename_categories({{{value!r}: 'other'}})", lambda v: v.cat.rename_categories({value: "other"})),
        ))  # fmt: skip
    if types.is_datetime64_any_dtype(x.dtype):
        part = d.one(TIME_PARTS)
        return d.one((
            Operation(f"x.dt.{part}", lambda v: getattr(v.dt, part)),
            Operation("x.dt.floor('D')", lambda v: v.dt.floor("D")),
            Operation("x.dt.strftime('%Y %m')", lambda v: v.dt.strftime("%Y %m")),
            Operation("x.dt.normalize()", lambda v: v.dt.normalize()),
            Operation("x.dt.tz_localize(None)", lambda v: v.dt.tz_localize(None)),
            Operation("x.dt.tz_localize('UTC')", lambda v: v.dt.tz_localize("UTC")),
            Operation("x.dt.tz_convert('UTC')", lambda v: v.dt.tz_convert("UTC")),
            Operation("x.dt.to_period('M')", lambda v: v.dt.to_period("M"), LAST),
            Operation("x.dt.isocalendar()", lambda v: v.dt.isocalendar()),
            Operation("x - x.min()", lambda v: v - v.min()),
            Operation("x + 1 day", lambda v: v + pd.Timedelta("1D")),
        ))  # fmt: skip
    if is_text(x.dtype) or x.dtype == object:
        name, arguments = d.one(TEXT_CALLS)
        promised = LAST if name in ("cat", "split", "findall") else ROWS
        return Operation(f"x.str.{name}{arguments}", lambda v: getattr(v.str, name)(*arguments), promised)
    if types.is_timedelta64_dtype(x.dtype):
        return d.one((
            Operation("x.dt.total_seconds()", lambda v: v.dt.total_seconds()),
            Operation("x.dt.days", lambda v: v.dt.days),
            Operation("x.dt.components", lambda v: v.dt.components),
        ))  # fmt: skip
    return None


SERIES_OPERATIONS = (series_rows, series_rows, series_rows, reduction, reduction, series_statistics, accessor, accessor)
