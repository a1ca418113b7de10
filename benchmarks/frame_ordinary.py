"""What notebooks do with a file of many columns: ordinary operations of which few columns are needed, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from statistics import geometric_mean
from typing import Any

from benchmarks.frames import DATA, ROW_GROUP_ROWS
from benchmarks.meter import Contender, Figures, cpu_count, peak_rss_mib
from tests.dataframe.tpch.tables import make_tables

STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "count": lambda m, f: f.l_tax.count(),
    "nunique": lambda m, f: f.l_suppkey.nunique(),
    "value_counts": lambda m, f: f.l_shipmode.value_counts(),
    "mean": lambda m, f: f[["l_quantity", "l_tax", "l_discount"]].mean(),
    "std": lambda m, f: f.l_extendedprice.std(),
    "corr": lambda m, f: f[["l_quantity", "l_extendedprice"]].corr(),
    "filter": lambda m, f: f[f.l_quantity > 45].l_extendedprice.sum(),
    "filter_text": lambda m, f: f[f.l_shipmode == "AIR"].l_tax.mean(),
    "isin": lambda m, f: f[f.l_shipmode.isin(["AIR", "RAIL"])].l_tax.mean(),
    "query": lambda m, f: f.query("l_quantity > 45 and l_discount < 0.05").l_tax.sum(),
    "loc": lambda m, f: f.loc[f.l_quantity > 45, "l_tax"].sum(),
    "assign": lambda m, f: f.assign(paid=f.l_extendedprice * (1 - f.l_discount)).paid.sum(),
    "rename": lambda m, f: f.rename(columns={"l_quantity": "q", "l_returnflag": "flag"}).groupby("flag").q.sum(),
    "astype": lambda m, f: f.astype({"l_quantity": "float32"})[["l_quantity", "l_discount"]].sum(),
    "dropna": lambda m, f: f.dropna(subset=["l_quantity"]).l_discount.sum(),
    "fillna": lambda m, f: f.fillna({"l_tax": 0.0}).l_tax.sum(),
    "reset_index": lambda m, f: f.reset_index(drop=True).groupby("l_linenumber").l_tax.max(),
    "concat": lambda m, f: m.concat([f, f]).l_discount.sum(),
    "concat_filter": lambda m, f: (lambda both: both[both.l_quantity > 40].l_tax.sum())(m.concat([f, f])),
    "sort_filter": lambda m, f: (lambda rows: rows[rows.l_quantity > 49].l_tax.sum())(f.sort_values("l_suppkey")),
    "set_index": lambda m, f: f[["l_suppkey", "l_tax"]].set_index("l_suppkey").l_tax.sum(),
    "groupby_sum": lambda m, f: f.groupby("l_returnflag").l_quantity.sum(),
    "groupby_two": lambda m, f: f.groupby(["l_returnflag", "l_linestatus"]).l_quantity.mean(),
    "groupby_many": lambda m, f: f.groupby("l_suppkey").l_quantity.sum(),
    "groupby_agg": lambda m, f: f.groupby("l_shipmode").agg({"l_quantity": ["sum", "mean"], "l_tax": "max"}),
    "groupby_then_column": lambda m, f: f.groupby("l_returnflag").mean(numeric_only=True)["l_tax"],
    "groupby_size": lambda m, f: f.groupby("l_linenumber").size(),
    "groupby_nunique": lambda m, f: f.groupby("l_shipmode").l_suppkey.nunique(),
    "groupby_year": lambda m, f: f.groupby(f.l_shipdate.dt.year).l_quantity.sum(),
    "distinct": lambda m, f: f[["l_suppkey", "l_shipmode"]].drop_duplicates(),
    "distinct_grouped": lambda m, f: (
        f[["l_orderkey", "l_suppkey"]].drop_duplicates().groupby("l_orderkey").size().max()
    ),
    "month": lambda m, f: f.l_shipdate.dt.month.value_counts(),
    "text_length": lambda m, f: f.l_shipmode.str.len().sum(),
    "map": lambda m, f: f.l_shipmode.map({"AIR": 1, "RAIL": 2}).sum(),
    "where": lambda m, f: f.l_tax.where(f.l_quantity > 5, 0).sum(),
    "clip": lambda m, f: f[["l_quantity", "l_tax"]].clip(0, 20).l_tax.sum(),
    "cumsum": lambda m, f: f.l_quantity.cumsum().max(),
    "rolling": lambda m, f: f.l_quantity.rolling(5).mean().sum(),
    "nlargest": lambda m, f: f.nlargest(5, "l_extendedprice"),
}
LOOKS: dict[str, Callable[[Any, Any], Any]] = {
    "missing": lambda m, f: f.isna().sum(),
    "counts": lambda m, f: f.count(),
    "complete_rows": lambda m, f: f.dropna().groupby("l_shipmode").l_quantity.sum(),
    "largest_row": lambda m, f: f[f.l_extendedprice == f.l_extendedprice.max()],
    "outliers": lambda m, f: f[f.l_extendedprice > f.l_extendedprice.quantile(0.99)],
    "last_day": lambda m, f: f[f.l_shipdate == f.l_shipdate.max()],
    "largest": lambda m, f: f.nlargest(10, "l_extendedprice"),
    "sorted": lambda m, f: f.sort_values("l_extendedprice", ascending=False).head(10),
    "many_groups": lambda m, f: f.groupby("l_orderkey").agg({"l_quantity": "sum", "l_tax": "max"}),
}
"""What is asked of a file that is new."""


def ordinary_glassloom_threads(steps: Mapping[str, Callable[[Any, Any], Any]] = STEPS) -> Figures:
    import glassloom.dataframe as gd

    return _steps(gd, steps)


def ordinary_dask_threads(steps: Mapping[str, Callable[[Any, Any], Any]] = STEPS) -> Figures:
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        return _steps(dd, steps)


def _steps(module: Any, steps: Mapping[str, Callable[[Any, Any], Any]]) -> Figures:
    """Return the time of each step: the shorter one of two, each of which reads the file."""
    path = make_tables(DATA / "tpch-1", 1, row_group_rows=ROW_GROUP_ROWS) / "lineitem.parquet"
    module.read_parquet(path).l_tax.sum().compute()  # loads what is loaded on first use
    walls: dict[str, float] = {}
    for name, step in steps.items():
        times = []
        for _ in range(2):
            start_s = time.perf_counter()
            made = step(module, module.read_parquet(path))
            made.compute() if hasattr(made, "compute") else made  # head() computes by itself
            times.append(time.perf_counter() - start_s)
        walls[f"{name}_s"] = min(times)
    return {"geometric_mean_s": geometric_mean(walls.values()), "peak_rss_mib": peak_rss_mib(), **walls}


CASES: dict[str, dict[str, Contender]] = {
    "frame-ordinary": {"glassloom threads": ordinary_glassloom_threads, "dask threads": ordinary_dask_threads},
    "frame-looks": {
        "glassloom threads": partial(ordinary_glassloom_threads, LOOKS),
        "dask threads": partial(ordinary_dask_threads, LOOKS),
    },
}
