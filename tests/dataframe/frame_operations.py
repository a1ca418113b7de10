"""Random operations of frames: each returns None where the frame has no columns for it. See `frame_differential`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import glassloom.dataframe as gd
import pandas as pd
from pandas.api import types
from random_frames import (
    INLINE,
    LAST,
    ROWS,
    UNLABELLED,
    UNORDERED,
    Draw,
    Operation,
    columns_of,
    is_number,
    lazy,
    replacing,
    value_of,
)


def choose(d: Draw, x: Any) -> Operation:
    names = d.some(x.columns, most=4)
    return Operation(f"x[{names}]", lambda v: v[names])


def choose_one(d: Draw, x: Any) -> Operation:
    name = d.one(x.columns)
    return Operation(f"x[{name!r}]", lambda v: v[name])


def compare(d: Draw, x: Any) -> Operation:
    name = d.one(x.columns)
    value = value_of(d, x[name])
    sign = d.one(("gt", "le", "eq", "ne"))
    return Operation(f"x[x[{name!r}].{sign}({value!r})]", lambda v: v[getattr(v[name], sign)(value)])


def choose_rows(d: Draw, x: Any) -> Operation:
    name = d.one(x.columns)
    values = [value_of(d, x[name]) for _ in range(2)]
    return d.one((
        Operation(f"x[x[{name!r}].isin({values})]", lambda v: v[v[name].isin(values)]),
        Operation(f"x[~x[{name!r}].isna()]", lambda v: v[~v[name].isna()]),
        Operation(f"x.loc[x[{name!r}].notna(), [{name!r}]]", lambda v: v.loc[v[name].notna(), [name]]),
        Operation(f"x[x[{name!r}].duplicated()]", lambda v: v[v[name].duplicated()]),
    ))  # fmt: skip


def assign(d: Draw, x: Any) -> Operation | None:
    numbers = columns_of(x, is_number)
    new = d.one((*x.columns, "z"))
    if not isinstance(new, str):
        return None
    value = d.one((1, 2.5, "t", None, True, pd.Timestamp("2020-01-01")))
    choices = [Operation(f"x.assign({new}={value!r})", lambda v: v.assign(**{new: value}))]
    if numbers:
        one, other = d.one(numbers), d.one(numbers)
        sign = d.one(("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "radd", "rsub", "eq", "lt"))
        choices += [
            Operation(f"x.assign({new}=x.{one}.{sign}(x.{other}))", lambda v: v.assign(**{new: getattr(v[one], sign)(v[other])})),
            Operation(f"x.assign({new}=x.{one}.cumsum())", lambda v: v.assign(**{new: v[one].cumsum()})),
            Operation(f"x.assign({new}=x.{one} - x.{other}.max())", lambda v: v.assign(**{new: v[one] - v[other].max()})),
            Operation(f"x[{new!r}] = x.{one} + 1", lambda v: _set(v, new, lambda c: c[one] + 1)),
        ]  # fmt: skip
    return d.one(choices)


def _set(v: Any, name: Any, value: Callable[[Any], Any]) -> Any:
    made = v.copy()
    made[name] = value(made)
    return made


def convert(d: Draw, x: Any) -> Operation:
    name = d.one(x.columns)
    dtype = d.one(("float64", "int64", "str", "object", "Int64", "Float64", "bool", "category", "string[pyarrow]", "float32",
                   "boolean", "datetime64[us]"))  # fmt: skip
    promised = LAST if dtype == "category" else ROWS
    if dtype == "str" and types.is_datetime64_any_dtype(x[name].dtype):
        dtype = "object"  # pandas leaves out the hours if all are midnight
    return Operation(f"x.astype({{{name!r}: {dtype!r}}})", lambda v: v.astype({name: dtype}), promised)


def fill(d: Draw, x: Any) -> Operation:
    name = d.one(x.columns)
    value = value_of(d, x[name])
    limit = d.one((None, None, 1, 3))
    return d.one((
        Operation(f"x.fillna({{{name!r}: {value!r}}})", lambda v: v.fillna({name: value})),
        Operation("x.fillna(0)", lambda v: v.fillna(0)),
        Operation(f"x.ffill({limit})", lambda v: v.ffill(limit=limit)),
        Operation(f"x.bfill({limit})", lambda v: v.bfill(limit=limit)),
        Operation(f"x.dropna(subset=[{name!r}])", lambda v: v.dropna(subset=[name])),
        Operation(f"x.dropna({(how := d.one(('any', 'all')))!r})", lambda v: v.dropna(how=how)),
        Operation("x.dropna(thresh=2)", lambda v: v.dropna(thresh=2)),
        Operation("x.isna()", lambda v: v.isna()),
        Operation("x.notna()", lambda v: v.notna()),
    ))  # fmt: skip


def rename(d: Draw, x: Any) -> Operation:
    name = d.one(x.columns)
    other = d.one(("q", "b", name))
    return d.one((
        Operation(f"x.rename(columns={{{name!r}: {other!r}}})", lambda v: v.rename(columns={name: other})),
        Operation("x.rename(columns=str.upper)", lambda v: v.rename(columns=lambda c: str(c).upper())),
        Operation("x.add_prefix('p_')", lambda v: v.add_prefix("p_")),
        Operation(f"x.drop(columns={name!r})", lambda v: v.drop(columns=name)),
        Operation("x.rename_axis('label')", lambda v: v.rename_axis("label")),
        Operation(f"x.pop({name!r})", lambda v: v.copy().pop(name)),
        Operation("x.select_dtypes('number')", lambda v: v.select_dtypes("number")),
        Operation("x.select_dtypes(exclude='object')", lambda v: v.select_dtypes(exclude=["object"])),
        Operation("x.filter(regex='[a-c]')", lambda v: v.filter(regex="[a-c]")),
    ))  # fmt: skip


def comparable_columns(x: Any) -> list[Any]:
    """Return the columns whose values can be compared: of mixed ones pandas has an order only beside other columns."""
    return [name for name in x.columns if not types.infer_dtype(x[name], skipna=True).startswith("mixed")]


def order(d: Draw, x: Any) -> Operation | None:
    if not x.columns.is_unique or x.index.name in x.columns or not (names := comparable_columns(x)):
        return None
    by = d.some(names, most=2)
    options = d.options(ascending=(True, False), na_position=("first", "last"))
    return d.one(
        (
            Operation(f"x.sort_values({by}, {options})", lambda v: v.sort_values(by, kind="stable", **options)),
            Operation(f"x.sort_values({by}, {options})", lambda v: v.sort_values(by, kind="stable", **options)),
            Operation(f"x.sort_index({options})", lambda v: v.sort_index(kind="stable", **options)),
            Operation(
                f"x.sort_values({by}, ignore_index)", lambda v: v.sort_values(by, kind="stable", ignore_index=True)
            ),
        )
    )


def set_index(d: Draw, x: Any) -> Operation | None:
    if not x.columns.is_unique or not (names := comparable_columns(x)):
        return None
    name = d.one(names)
    options = d.options(drop=(True, False))

    def call(v: Any) -> Any:
        made = v.set_index(name, **options)
        return made if lazy(v) else made.sort_index(kind="stable")

    return Operation(f"x.set_index({name!r}, {options})", call)


def reset_index(d: Draw, x: Any) -> Operation:
    drop = d.chance(0.5)
    return Operation(f"x.reset_index({drop})", lambda v: v.reset_index(drop=drop), UNLABELLED)


def take_rows(d: Draw, x: Any) -> Operation | None:
    n, start = d.integer(0, 6), d.integer(-8, 8)
    stop = d.one((None, start + 3))
    choices = [
        Operation(f"x.head({n})", lambda v: v.head(n, npartitions=-1) if lazy(v) else v.head(n), LAST),
        Operation(f"x.tail({n})", lambda v: v.tail(n, npartitions=-1) if lazy(v) else v.tail(n), LAST),
        Operation(f"x.iloc[{start}:{stop}]", lambda v: v.iloc[start:stop]),
        Operation("x.iloc[:, 0]", lambda v: v.iloc[:, 0]),
    ]
    if x.index.is_monotonic_increasing and len(x):
        low, high = sorted((d.integer(0, len(x) - 1), d.integer(0, len(x) - 1)))
        labels = x.index[low], x.index[high]
        choices.append(Operation(f"x.loc[{labels[0]!r}:{labels[1]!r}]", lambda v: v.loc[labels[0] : labels[1]]))
        choices.append(Operation(f"x.loc[[{labels[0]!r}]]", lambda v: v.loc[[labels[0]]]))
    numbers = columns_of(x, is_number)
    if numbers:
        by = d.some(numbers, most=2)
        name = d.one(("nlargest", "nsmallest"))
        keep = d.one(("first", "last", "all"))
        choices.append(Operation(f"x.{name}({n}, {by}, {keep!r})", lambda v: getattr(v, name)(n, by, keep=keep)))
    return d.one(choices)


def distinct(d: Draw, x: Any) -> Operation | None:
    if not x.columns.is_unique:
        return None
    subset = d.one((None, d.some(x.columns)))
    keep = d.one(("first", "last", False))
    return d.one((
        Operation(f"x.drop_duplicates({subset}, keep={keep!r})", lambda v: v.drop_duplicates(subset, keep=keep)),
        Operation(f"x.duplicated({subset}, keep={keep!r})", lambda v: v.duplicated(subset, keep=keep)),
    ))  # fmt: skip


def replace_some(d: Draw, x: Any) -> Operation:
    name = d.one(x.columns)
    value, other = value_of(d, x[name]), value_of(d, x[name])
    options = d.options(lower=(0, 1), upper=(1, 2))
    return d.one((
        Operation(f"x.replace({value!r}, {other!r})", lambda v: v.replace(value, other)),
        Operation(f"x.replace({{{name!r}: {{{value!r}: {other!r}}}}})", lambda v: v.replace({name: {value: other}})),
        Operation("numbers.where(x.notna(), 7)", lambda v: v.select_dtypes("number").pipe(lambda w: w.where(w.notna(), 7))),
        Operation(f"x.mask(x.eq({value!r}))", lambda v: replacing("mask", v, v.eq(value))),
        Operation(f"x.isin([{value!r}])", lambda v: v.isin([value])),
        Operation(f"x.isin({{{name!r}: [{value!r}]}})", lambda v: v.isin({name: [value]})),
        Operation(f"x.clip({options})", lambda v: v.clip(**options)),
    ))  # fmt: skip


def along(d: Draw, x: Any) -> Operation:
    periods = d.one((1, -1, 2, 0, 9))
    skipna = d.one((True, True, False))
    name = d.one(("cumsum", "cummax", "cummin", "cumprod"))
    rank = d.options(method=("average", "min", "max", "first", "dense"), ascending=(True, False), pct=(True, False),
                     na_option=("keep", "top", "bottom"), numeric_only=(True,))  # fmt: skip
    return d.one((
        Operation(f"x.shift({periods})", lambda v: v.shift(periods)),
        Operation(f"x.diff({periods})", lambda v: v.diff(periods)),
        Operation(f"x.{name}(skipna={skipna})", lambda v: getattr(v, name)(skipna=skipna)),
        Operation(f"numbers.{name}(skipna={skipna})", lambda v: getattr(v.select_dtypes("number"), name)(skipna=skipna)),
        Operation(f"numbers.rank({rank})", lambda v: v.select_dtypes("number").rank(**rank), LAST),
        Operation(f"numbers.pct_change({periods})", lambda v: v.select_dtypes("number").pct_change(periods), LAST),
        Operation("numbers.interpolate()", lambda v: v.select_dtypes("number").interpolate(), LAST),
    ))  # fmt: skip


def window(d: Draw, x: Any) -> Operation:
    options = d.options(min_periods=(0, 1, 2), center=(True, False), closed=("right", "left", "both", "neither"))
    size = d.integer(1, 5)
    name = d.one(("sum", "mean", "min", "max", "count", "std", "var", "median"))
    kind = d.one(("rolling", "rolling", "expanding", "ewm"))
    if kind == "expanding":
        return Operation(
            f"numbers.expanding({size}).{name}()",
            lambda v: getattr(v.select_dtypes("number").expanding(size), name)(),
            LAST,
        )
    if kind == "ewm":
        how = d.one(("mean", "std", "var"))
        return Operation(
            f"numbers.ewm(span={size}).{how}()",
            lambda v: getattr(v.select_dtypes("number").ewm(span=size), how)(),
            LAST,
        )
    if isinstance(x.index, pd.DatetimeIndex) and d.chance(0.5):
        options.pop("center", None)
        return Operation(f"numbers.rolling('{size}h', {options}).{name}()",
                         lambda v: getattr(v.select_dtypes("number").rolling(f"{size}h", **options), name)(), LAST)  # fmt: skip
    return Operation(f"numbers.rolling({size}, {options}).{name}()",
                     lambda v: getattr(v.select_dtypes("number").rolling(size, **options), name)(), LAST)  # fmt: skip


REDUCTIONS = ("sum", "mean", "min", "max", "count", "nunique", "any", "all", "std", "var", "sem", "prod", "median", "skew", "kurt",
              "idxmin", "idxmax", "quantile", "mode")  # fmt: skip


def reduction(d: Draw, x: Any) -> Operation:
    has_objects = any(map(types.is_object_dtype, x.dtypes if isinstance(x, pd.DataFrame) else [x.dtype]))
    name = d.one(
        REDUCTIONS[:12] if has_objects else REDUCTIONS
    )  # of objects there are no quantiles: which they are isn't known
    options: dict[str, Any] = {}
    if isinstance(x, pd.DataFrame) and name not in ("any", "all", "nunique"):
        options |= d.options(numeric_only=(True, True, False))
    if name not in ("count", "nunique", "quantile", "mode"):
        options |= d.options(skipna=(True, False))
    if name in ("sum", "prod"):
        options |= d.options(min_count=(0, 1, 3))
    if name in ("std", "var", "sem"):
        options |= d.options(ddof=(0, 1, 2))
    if name in ("nunique", "mode"):
        options |= d.options(dropna=(True, False))
    if name == "quantile":
        options |= d.options(q=(0.5, 0.3, [0.1, 0.9]), interpolation=("linear", "lower", "nearest"))
    if (
        isinstance(x, pd.DataFrame)
        and d.chance(0.15)
        and name
        in ("count", "nunique")
        + ("sum", "mean", "min", "max", "std") * bool(len(columns_of(x, is_number)) == x.shape[1])
    ):
        options["axis"] = 1
    return Operation(f"x.{name}({options})", lambda v: getattr(v, name)(**options), LAST)


def statistics(d: Draw, x: Any) -> Operation:
    names = d.some(x.columns, most=2)
    options = d.options(sort=(True,), dropna=(True, False), normalize=(True, False), ascending=(False, True))
    numbers = columns_of(x, is_number)
    choices = [
        Operation("x.describe()", lambda v: v.describe(), LAST),
        Operation("x.describe(include='all')", lambda v: v.describe(include="all"), LAST),
        Operation(f"x.value_counts({names}, {options})", lambda v: v.value_counts(names, **options), LAST),
        Operation("x.agg(['count', 'min'])", lambda v: v.agg(["count", "min"] if len(x) else "count"), LAST),
        Operation("x.corr(numeric_only)", lambda v: v.corr(numeric_only=True), LAST),
        Operation("x.cov(numeric_only)", lambda v: v.cov(numeric_only=True), LAST),
        Operation("x.dtypes", lambda v: v.dtypes, LAST),
        Operation("x.columns", lambda v: v.columns, LAST),
        Operation("len(x)", len, LAST),
        Operation("x.index", lambda v: v.index, LAST),
        Operation("x.empty", lambda v: v.empty, LAST),
        Operation("x.ndim", lambda v: v.ndim, LAST),
    ]
    if numbers:
        name = d.one(numbers)
        choices += [
            Operation(f"x.eval({name} * 2)", lambda v: v.eval(f"{name} * 2"), ROWS),
            Operation(f"x.query({name} > 0)", lambda v: v.query(f"{name} > 0"), ROWS),
            Operation(f"x.agg({{{name!r}: ['sum', 'max']}})", lambda v: v.agg({name: ["sum", "max"]}), LAST),
        ]
    return d.one(choices)


AGGREGATIONS = ("sum", "mean", "min", "max", "count", "nunique", "std", "var", "first", "last", "prod", "any", "all", "median", "size",
                "sem", "idxmin", "idxmax", "skew", "quantile")  # fmt: skip
TRANSFORMS = ("cumsum", "cummax", "cummin", "cumprod", "cumcount", "shift", "diff", "ffill", "bfill", "rank", "ngroup", "head", "tail",
              "nth", "pct_change", "transform", "fillna")  # fmt: skip


def groups(d: Draw, x: Any) -> Operation | None:
    names = comparable_columns(x) if x.columns.is_unique else []
    if len(names) < 2 or x.index.name in x.columns:
        return None
    x = x[names]
    by: Any = d.some(x.columns, most=2)
    if len(by) == 1 and d.chance(0.7):
        by = by[0]
    options: dict[str, Any] = {"observed": d.one((True, True, False))} | d.options(
        dropna=(True, False), sort=(True, False), as_index=(True, False)
    )
    others = [name for name in x.columns if name not in (by if isinstance(by, list) else [by])]
    chosen = d.one((None, d.one(others), d.some(others))) if others else None
    text = f"x[{names}].groupby({by!r}, {options}){'' if chosen is None else f'[{chosen!r}]'}"

    def group(v: Any) -> Any:
        made = v[names].groupby(by, **options)
        return made if chosen is None else made[chosen]

    if d.chance(0.35):
        return _along_groups(d, text, group)
    if d.chance(0.15) and others:
        spec = {name: d.one(AGGREGATIONS[:8]) for name in others[:2]}
        return Operation(f"{text}.agg({spec})", lambda v: v[names].groupby(by, **options).agg(spec), LAST)
    if d.chance(0.1):
        spec2 = d.some(AGGREGATIONS[:8])
        return Operation(f"{text}.agg({spec2})", lambda v: group(v).agg(spec2), LAST)
    name = d.one(AGGREGATIONS)
    arguments: dict[str, Any] = {}
    if name in ("sum", "mean", "min", "max", "std", "var", "first", "last", "prod", "median", "sem"):
        arguments |= d.options(numeric_only=(True, True, False))
    if name in ("sum", "min", "max", "first", "last", "prod"):
        arguments |= d.options(min_count=(0, 1, 2))
    if name in ("std", "var", "sem"):
        arguments |= d.options(ddof=(0, 1, 2))
    if name in ("any", "all"):
        arguments |= d.options(skipna=(True, False))
    if name == "nunique":
        arguments |= d.options(dropna=(True, False))
    return Operation(f"{text}.{name}({arguments})", lambda v: getattr(group(v), name)(**arguments), LAST)


def _along_groups(d: Draw, text: str, group: Callable[[Any], Any]) -> Operation:
    name = d.one(TRANSFORMS)
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = {}
    if name in ("shift", "diff"):
        arguments = (d.one((1, -1, 2)),)
    elif name in ("head", "tail", "nth"):
        arguments = (d.integer(0, 3),)
    elif name == "transform":
        arguments = (d.one(("sum", "mean", "max", "count", "first", "nunique")),)
    elif name == "fillna":
        name, arguments = "ffill", (1,)
    elif name == "rank":
        options = d.options(
            method=("average", "min", "max", "first", "dense"), ascending=(True, False), pct=(True, False)
        )
    elif name == "cumcount":
        options = d.options(ascending=(True, False))
    return Operation(
        f"{text}.{name}({arguments}, {options})", lambda v: getattr(group(v), name)(*arguments, **options), LAST
    )


def join(d: Draw, x: Any) -> Operation | None:
    if not x.columns.is_unique or not all(isinstance(name, str) for name in x.columns) or x.index.name in x.columns:
        return None
    on = d.some(x.columns, most=2)
    other = pd.DataFrame({name: x[name].iloc[:3].array for name in on}).drop_duplicates()
    other = pd.concat([other, other.iloc[:1]], ignore_index=True).assign(new=lambda v: range(len(v)))
    if d.chance(0.3):
        other = other.assign(a=1) if "a" not in on else other
    cuts = d.integer(1, 3)
    is_lazy = d.chance(0.7)
    options = {
        "how": d.one(("inner", "left", "right", "outer")),
        **d.options(indicator=(True,), suffixes=(("_l", "_r"),)),
    }
    own = d.options(broadcast=(True, False), npartitions=(1, 3))

    def call(v: Any) -> Any:
        if not lazy(v):
            return v.merge(other, on=on, **options)
        return v.merge(gd.from_pandas(other, npartitions=cuts) if is_lazy else other, on=on, **options, **own)

    return Operation(f"x.merge({other.to_dict('list')}, on={on}, {options}, {own}, {is_lazy})", call, UNORDERED)


def combine(d: Draw, x: Any) -> Operation:
    name = d.one(x.columns)
    twice = d.one(("outer", "inner"))
    return d.one((
        Operation("concat([x, x])", lambda v: (gd if lazy(v) else pd).concat([v, v])),
        Operation(f"concat([x, x[[{name!r}]]], {twice!r})", lambda v: (gd if lazy(v) else pd).concat([v, v[[name]]], join=twice)),
        Operation("concat([x, x.add_prefix()], axis=1)", lambda v: (gd if lazy(v) else pd).concat([v, v.add_prefix("r_")], axis=1)),
        Operation(f"concat([x, x.{name}])", lambda v: (gd if lazy(v) else pd).concat([v, v[name]]), LAST),
        Operation("numbers.melt()", lambda v: v.select_dtypes("number").melt(), UNORDERED),
        Operation(f"x.melt({name!r})", lambda v: v.melt(name), UNORDERED),
        Operation("x.repartition(3)", lambda v: v.repartition(npartitions=3) if lazy(v) else v),
        Operation("x.persist()", lambda v: v.persist(**INLINE) if lazy(v) else v),
        Operation("x.map_partitions(copy)", lambda v: v.map_partitions(lambda block: block.copy()) if lazy(v) else v),
        Operation(f"x.shuffle({name!r})", lambda v: v.shuffle(name) if lazy(v) else v, UNORDERED),
        Operation("x.round(1)", lambda v: v.round(1)),
        Operation("x.abs()", lambda v: v.abs()),
        Operation("x + x", lambda v: v + v),
        Operation("x == x", lambda v: v == v),
        Operation("x.map(str)", lambda v: v.map(str)),
        Operation("x.apply(len, axis=1)", lambda v: v.apply(len, axis=1, meta=(None, "int64")) if lazy(v) else v.apply(len, axis=1)),
        Operation(f"x.explode({name!r})", lambda v: v.explode(name)),
        Operation("numbers.astype(str)", lambda v: v.select_dtypes("number").astype("str")),
    ))  # fmt: skip


FRAME_OPERATIONS = (choose, choose_one, choose_one, choose_one, compare, compare, choose_rows, assign, assign, convert, fill, fill, rename,
                    order, order, set_index, reset_index, take_rows, distinct, replace_some, along, window, reduction, reduction, statistics,
                    groups, groups, groups, groups, join, combine)  # fmt: skip
