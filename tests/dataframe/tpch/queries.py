"""The 22 queries of TPC-H in pandas' interface, as one writes them: `tables` has an attribute for each table.

The tables are ours, `dask.dataframe`'s or pandas' own. Each function returns a frame, lazy if the tables are. The text of the
queries is that of the TPC-H specification, with its validation parameters; `statements` has it as SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

QUERIES: dict[int, Callable[[Any], Any]] = {}


def _query(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    QUERIES[int(function.__name__.removeprefix("query_"))] = function
    return function


def _day(text: str) -> pd.Timestamp:
    return pd.Timestamp(text)


def _first(frame: Any, n: int) -> Any:
    """Return the first rows of a sorted frame."""
    return frame.head(n) if isinstance(frame, pd.DataFrame) else frame.head(n, npartitions=-1, compute=False)


def _as_frame(value: Any, name: str) -> pd.DataFrame:
    """Return a number as a frame of one row, as SQL has it. Computes it."""
    found = value.compute() if hasattr(value, "compute") else value
    return pd.DataFrame({name: [found]})


@_query
def query_1(tables: Any) -> Any:
    items = tables.lineitem
    items = items[items.l_shipdate <= _day("1998-09-02")]
    items = items.assign(disc_price=items.l_extendedprice * (1 - items.l_discount))
    items = items.assign(charge=items.disc_price * (1 + items.l_tax))
    keys = ["l_returnflag", "l_linestatus"]
    made = items.groupby(keys).agg(
        sum_qty=("l_quantity", "sum"),
        sum_base_price=("l_extendedprice", "sum"),
        sum_disc_price=("disc_price", "sum"),
        sum_charge=("charge", "sum"),
        avg_qty=("l_quantity", "mean"),
        avg_price=("l_extendedprice", "mean"),
        avg_disc=("l_discount", "mean"),
        count_order=("l_orderkey", "count"),
    )
    return made.reset_index().sort_values(keys)


@_query
def query_2(tables: Any) -> Any:
    part = tables.part
    part = part[(part.p_size == 15) & part.p_type.str.endswith("BRASS")]
    region = tables.region
    nations = tables.nation.merge(region[region.r_name == "EUROPE"], left_on="n_regionkey", right_on="r_regionkey")
    suppliers = tables.supplier.merge(nations, left_on="s_nationkey", right_on="n_nationkey")
    offers = tables.partsupp.merge(part, left_on="ps_partkey", right_on="p_partkey")
    offers = offers.merge(suppliers, left_on="ps_suppkey", right_on="s_suppkey")
    cheapest = offers.groupby("p_partkey").agg(min_cost=("ps_supplycost", "min")).reset_index()
    best = offers.merge(cheapest, on="p_partkey")
    best = best[best.ps_supplycost == best.min_cost]
    best = best[
        ["s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment"]
    ].sort_values(["s_acctbal", "n_name", "s_name", "p_partkey"], ascending=[False, True, True, True])
    return _first(best, 100)


@_query
def query_3(tables: Any) -> Any:
    customer, orders, items = tables.customer, tables.orders, tables.lineitem
    customer = customer[customer.c_mktsegment == "BUILDING"]
    orders = orders[orders.o_orderdate < _day("1995-03-15")]
    items = items[items.l_shipdate > _day("1995-03-15")]
    joined = customer.merge(orders, left_on="c_custkey", right_on="o_custkey")
    joined = joined.merge(items, left_on="o_orderkey", right_on="l_orderkey")
    joined = joined.assign(revenue=joined.l_extendedprice * (1 - joined.l_discount))
    made = joined.groupby(["l_orderkey", "o_orderdate", "o_shippriority"]).agg(revenue=("revenue", "sum"))
    made = made.reset_index()[["l_orderkey", "revenue", "o_orderdate", "o_shippriority"]]
    return _first(made.sort_values(["revenue", "o_orderdate"], ascending=[False, True]), 10)


@_query
def query_4(tables: Any) -> Any:
    orders, items = tables.orders, tables.lineitem
    orders = orders[(orders.o_orderdate >= _day("1993-07-01")) & (orders.o_orderdate < _day("1993-10-01"))]
    late = items[items.l_commitdate < items.l_receiptdate][["l_orderkey"]].drop_duplicates()
    joined = orders.merge(late, left_on="o_orderkey", right_on="l_orderkey")
    made = joined.groupby("o_orderpriority").agg(order_count=("o_orderkey", "count")).reset_index()
    return made.sort_values("o_orderpriority")


@_query
def query_5(tables: Any) -> Any:
    region, orders = tables.region, tables.orders
    region = region[region.r_name == "ASIA"]
    orders = orders[(orders.o_orderdate >= _day("1994-01-01")) & (orders.o_orderdate < _day("1995-01-01"))]
    nations = tables.nation.merge(region, left_on="n_regionkey", right_on="r_regionkey")
    customers = tables.customer.merge(nations, left_on="c_nationkey", right_on="n_nationkey")
    joined = customers.merge(orders, left_on="c_custkey", right_on="o_custkey")
    joined = joined.merge(tables.lineitem, left_on="o_orderkey", right_on="l_orderkey")
    joined = joined.merge(tables.supplier, left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
    joined = joined.assign(revenue=joined.l_extendedprice * (1 - joined.l_discount))
    made = joined.groupby("n_name").agg(revenue=("revenue", "sum")).reset_index()
    return made.sort_values("revenue", ascending=False)


@_query
def query_6(tables: Any) -> Any:
    items = tables.lineitem
    items = items[
        (items.l_shipdate >= _day("1994-01-01"))
        & (items.l_shipdate < _day("1995-01-01"))
        & (items.l_discount >= 0.05)
        & (items.l_discount <= 0.07)
        & (items.l_quantity < 24)
    ]
    return _as_frame((items.l_extendedprice * items.l_discount).sum(), "revenue")


@_query
def query_7(tables: Any) -> Any:
    nations, items = tables.nation[["n_nationkey", "n_name"]], tables.lineitem
    nations = nations[nations.n_name.isin(["FRANCE", "GERMANY"])]
    customers = tables.customer.merge(nations, left_on="c_nationkey", right_on="n_nationkey")
    customers = customers.rename(columns={"n_name": "cust_nation"})[["c_custkey", "cust_nation"]]
    suppliers = tables.supplier.merge(nations, left_on="s_nationkey", right_on="n_nationkey")
    suppliers = suppliers.rename(columns={"n_name": "supp_nation"})[["s_suppkey", "supp_nation"]]
    items = items[(items.l_shipdate >= _day("1995-01-01")) & (items.l_shipdate <= _day("1996-12-31"))]
    joined = items.merge(suppliers, left_on="l_suppkey", right_on="s_suppkey")
    joined = joined.merge(tables.orders, left_on="l_orderkey", right_on="o_orderkey")
    joined = joined.merge(customers, left_on="o_custkey", right_on="c_custkey")
    joined = joined[joined.supp_nation != joined.cust_nation]
    joined = joined.assign(l_year=joined.l_shipdate.dt.year, volume=joined.l_extendedprice * (1 - joined.l_discount))
    keys = ["supp_nation", "cust_nation", "l_year"]
    return joined.groupby(keys).agg(revenue=("volume", "sum")).reset_index().sort_values(keys)


@_query
def query_8(tables: Any) -> Any:
    part, orders, region = tables.part, tables.orders, tables.region
    part = part[part.p_type == "ECONOMY ANODIZED STEEL"][["p_partkey"]]
    orders = orders[(orders.o_orderdate >= _day("1995-01-01")) & (orders.o_orderdate <= _day("1996-12-31"))]
    nations = tables.nation.merge(region[region.r_name == "AMERICA"], left_on="n_regionkey", right_on="r_regionkey")
    customers = tables.customer.merge(nations, left_on="c_nationkey", right_on="n_nationkey")[["c_custkey"]]
    joined = tables.lineitem.merge(part, left_on="l_partkey", right_on="p_partkey")
    joined = joined.merge(orders, left_on="l_orderkey", right_on="o_orderkey")
    joined = joined.merge(customers, left_on="o_custkey", right_on="c_custkey")
    joined = joined.merge(tables.supplier, left_on="l_suppkey", right_on="s_suppkey")
    joined = joined.merge(tables.nation[["n_nationkey", "n_name"]], left_on="s_nationkey", right_on="n_nationkey")
    joined = joined.assign(o_year=joined.o_orderdate.dt.year, volume=joined.l_extendedprice * (1 - joined.l_discount))
    joined = joined.assign(brazilian=joined.volume.where(joined.n_name == "BRAZIL", 0.0))
    made = joined.groupby("o_year").agg(brazilian=("brazilian", "sum"), volume=("volume", "sum")).reset_index()
    made = made.assign(mkt_share=made.brazilian / made.volume)
    return made[["o_year", "mkt_share"]].sort_values("o_year")


@_query
def query_9(tables: Any) -> Any:
    part = tables.part
    part = part[part.p_name.str.contains("green", regex=False)][["p_partkey"]]
    joined = tables.lineitem.merge(part, left_on="l_partkey", right_on="p_partkey")
    joined = joined.merge(tables.partsupp, left_on=["l_partkey", "l_suppkey"], right_on=["ps_partkey", "ps_suppkey"])
    joined = joined.merge(tables.supplier, left_on="l_suppkey", right_on="s_suppkey")
    joined = joined.merge(tables.orders, left_on="l_orderkey", right_on="o_orderkey")
    joined = joined.merge(tables.nation, left_on="s_nationkey", right_on="n_nationkey")
    joined = joined.assign(
        o_year=joined.o_orderdate.dt.year,
        amount=joined.l_extendedprice * (1 - joined.l_discount) - joined.ps_supplycost * joined.l_quantity,
    )
    made = joined.groupby(["n_name", "o_year"]).agg(sum_profit=("amount", "sum")).reset_index()
    return made.rename(columns={"n_name": "nation"}).sort_values(["nation", "o_year"], ascending=[True, False])


@_query
def query_10(tables: Any) -> Any:
    orders, items = tables.orders, tables.lineitem
    orders = orders[(orders.o_orderdate >= _day("1993-10-01")) & (orders.o_orderdate < _day("1994-01-01"))]
    items = items[items.l_returnflag == "R"]
    joined = tables.customer.merge(orders, left_on="c_custkey", right_on="o_custkey")
    joined = joined.merge(items, left_on="o_orderkey", right_on="l_orderkey")
    joined = joined.merge(tables.nation, left_on="c_nationkey", right_on="n_nationkey")
    joined = joined.assign(revenue=joined.l_extendedprice * (1 - joined.l_discount))
    keys = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
    made = joined.groupby(keys).agg(revenue=("revenue", "sum")).reset_index()
    made = made[["c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment"]]
    return _first(made.sort_values("revenue", ascending=False), 20)


@_query
def query_11(tables: Any) -> Any:
    nation = tables.nation
    suppliers = tables.supplier.merge(nation[nation.n_name == "GERMANY"], left_on="s_nationkey", right_on="n_nationkey")
    held = tables.partsupp.merge(suppliers, left_on="ps_suppkey", right_on="s_suppkey")
    held = held.assign(value=held.ps_supplycost * held.ps_availqty)
    made = held.groupby("ps_partkey").agg(value=("value", "sum")).reset_index()
    made = made[made.value > held.value.sum() * (0.0001 / tables.scale)]
    return made.sort_values("value", ascending=False)


@_query
def query_12(tables: Any) -> Any:
    items = tables.lineitem
    items = items[
        items.l_shipmode.isin(["MAIL", "SHIP"])
        & (items.l_commitdate < items.l_receiptdate)
        & (items.l_shipdate < items.l_commitdate)
        & (items.l_receiptdate >= _day("1994-01-01"))
        & (items.l_receiptdate < _day("1995-01-01"))
    ]
    joined = tables.orders.merge(items, left_on="o_orderkey", right_on="l_orderkey")
    is_high = joined.o_orderpriority.isin(["1-URGENT", "2-HIGH"])
    joined = joined.assign(high=is_high.astype("int64"), low=(~is_high).astype("int64"))
    made = joined.groupby("l_shipmode").agg(high_line_count=("high", "sum"), low_line_count=("low", "sum"))
    return made.reset_index().sort_values("l_shipmode")


@_query
def query_13(tables: Any) -> Any:
    orders = tables.orders
    orders = orders[~orders.o_comment.str.contains("special.*requests")]
    joined = tables.customer.merge(orders, left_on="c_custkey", right_on="o_custkey", how="left")
    counts = joined.groupby("c_custkey").agg(c_count=("o_orderkey", "count")).reset_index()
    made = counts.groupby("c_count").agg(custdist=("c_custkey", "count")).reset_index()
    return made.sort_values(["custdist", "c_count"], ascending=[False, False])


@_query
def query_14(tables: Any) -> Any:
    items = tables.lineitem
    items = items[(items.l_shipdate >= _day("1995-09-01")) & (items.l_shipdate < _day("1995-10-01"))]
    joined = items.merge(tables.part, left_on="l_partkey", right_on="p_partkey")
    revenue = joined.l_extendedprice * (1 - joined.l_discount)
    promotion = revenue.where(joined.p_type.str.startswith("PROMO"), 0.0)
    return _as_frame(100.0 * promotion.sum() / revenue.sum(), "promo_revenue")


@_query
def query_15(tables: Any) -> Any:
    items = tables.lineitem
    items = items[(items.l_shipdate >= _day("1996-01-01")) & (items.l_shipdate < _day("1996-04-01"))]
    items = items.assign(revenue=items.l_extendedprice * (1 - items.l_discount))
    revenue = items.groupby("l_suppkey").agg(total_revenue=("revenue", "sum")).reset_index()
    best = revenue[revenue.total_revenue == revenue.total_revenue.max()]
    made = tables.supplier.merge(best, left_on="s_suppkey", right_on="l_suppkey")
    return made[["s_suppkey", "s_name", "s_address", "s_phone", "total_revenue"]].sort_values("s_suppkey")


@_query
def query_16(tables: Any) -> Any:
    part, supplier = tables.part, tables.supplier
    part = part[
        (part.p_brand != "Brand#45")
        & ~part.p_type.str.startswith("MEDIUM POLISHED")
        & part.p_size.isin([49, 14, 23, 45, 19, 3, 36, 9])
    ]
    bad = supplier[supplier.s_comment.str.contains("Customer.*Complaints")][["s_suppkey"]].assign(is_bad=1)
    joined = tables.partsupp.merge(part, left_on="ps_partkey", right_on="p_partkey")
    joined = joined.merge(bad, left_on="ps_suppkey", right_on="s_suppkey", how="left")
    joined = joined[joined.is_bad.isna()]
    keys = ["p_brand", "p_type", "p_size"]
    made = joined[[*keys, "ps_suppkey"]].drop_duplicates()
    made = made.groupby(keys).agg(supplier_cnt=("ps_suppkey", "count")).reset_index()
    return made.sort_values(["supplier_cnt", *keys], ascending=[False, True, True, True])


@_query
def query_17(tables: Any) -> Any:
    part = tables.part
    part = part[(part.p_brand == "Brand#23") & (part.p_container == "MED BOX")][["p_partkey"]]
    joined = tables.lineitem.merge(part, left_on="l_partkey", right_on="p_partkey")
    means = joined.groupby("p_partkey").agg(mean_quantity=("l_quantity", "mean")).reset_index()
    joined = joined.merge(means, on="p_partkey")
    joined = joined[joined.l_quantity < 0.2 * joined.mean_quantity]
    return _as_frame(joined.l_extendedprice.sum(min_count=1) / 7.0, "avg_yearly")


@_query
def query_18(tables: Any) -> Any:
    items = tables.lineitem
    large = items.groupby("l_orderkey").agg(sum_quantity=("l_quantity", "sum")).reset_index()
    large = large[large.sum_quantity > 300]
    joined = tables.orders.merge(large, left_on="o_orderkey", right_on="l_orderkey")
    joined = joined.merge(tables.customer, left_on="o_custkey", right_on="c_custkey")
    made = joined[["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "sum_quantity"]]
    return _first(made.sort_values(["o_totalprice", "o_orderdate"], ascending=[False, True]), 100)


@_query
def query_19(tables: Any) -> Any:
    items = tables.lineitem
    items = items[items.l_shipmode.isin(["AIR", "AIR REG"]) & (items.l_shipinstruct == "DELIVER IN PERSON")]
    joined = items.merge(tables.part, left_on="l_partkey", right_on="p_partkey")
    quantity, size = joined.l_quantity, joined.p_size
    small = (joined.p_brand == "Brand#12") & joined.p_container.isin(["SM CASE", "SM BOX", "SM PACK", "SM PKG"])
    medium = (joined.p_brand == "Brand#23") & joined.p_container.isin(["MED BAG", "MED BOX", "MED PKG", "MED PACK"])
    large = (joined.p_brand == "Brand#34") & joined.p_container.isin(["LG CASE", "LG BOX", "LG PACK", "LG PKG"])
    chosen = joined[
        (small & (quantity >= 1) & (quantity <= 11) & (size >= 1) & (size <= 5))
        | (medium & (quantity >= 10) & (quantity <= 20) & (size >= 1) & (size <= 10))
        | (large & (quantity >= 20) & (quantity <= 30) & (size >= 1) & (size <= 15))
    ]
    return _as_frame((chosen.l_extendedprice * (1 - chosen.l_discount)).sum(), "revenue")


@_query
def query_20(tables: Any) -> Any:
    items, part, nation = tables.lineitem, tables.part, tables.nation
    items = items[(items.l_shipdate >= _day("1994-01-01")) & (items.l_shipdate < _day("1995-01-01"))]
    sold = items.groupby(["l_partkey", "l_suppkey"]).agg(sold=("l_quantity", "sum")).reset_index()
    part = part[part.p_name.str.startswith("forest")][["p_partkey"]]
    held = tables.partsupp.merge(part, left_on="ps_partkey", right_on="p_partkey")
    held = held.merge(sold, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
    held = held[held.ps_availqty > 0.5 * held.sold][["ps_suppkey"]].drop_duplicates()
    suppliers = tables.supplier.merge(nation[nation.n_name == "CANADA"], left_on="s_nationkey", right_on="n_nationkey")
    made = suppliers.merge(held, left_on="s_suppkey", right_on="ps_suppkey")
    return made[["s_name", "s_address"]].sort_values("s_name")


@_query
def query_21(tables: Any) -> Any:
    items, orders, nation = tables.lineitem, tables.orders, tables.nation
    late = items[items.l_receiptdate > items.l_commitdate][["l_orderkey", "l_suppkey"]]
    pairs = items[["l_orderkey", "l_suppkey"]].drop_duplicates()
    n_suppliers = pairs.groupby("l_orderkey").agg(n_suppliers=("l_suppkey", "count")).reset_index()
    n_late = late.drop_duplicates().groupby("l_orderkey").agg(n_late=("l_suppkey", "count")).reset_index()
    alone = n_suppliers[n_suppliers.n_suppliers > 1].merge(n_late[n_late.n_late == 1], on="l_orderkey")
    suppliers = tables.supplier.merge(
        nation[nation.n_name == "SAUDI ARABIA"], left_on="s_nationkey", right_on="n_nationkey"
    )
    joined = late.merge(suppliers, left_on="l_suppkey", right_on="s_suppkey")
    joined = joined.merge(orders[orders.o_orderstatus == "F"], left_on="l_orderkey", right_on="o_orderkey")
    joined = joined.merge(alone, on="l_orderkey")
    made = joined.groupby("s_name").agg(numwait=("l_orderkey", "count")).reset_index()
    return _first(made.sort_values(["numwait", "s_name"], ascending=[False, True]), 100)


@_query
def query_22(tables: Any) -> Any:
    customers = tables.customer.assign(cntrycode=tables.customer.c_phone.str[:2])
    customers = customers[customers.cntrycode.isin(["13", "31", "23", "29", "30", "18", "17"])]
    mean = customers[customers.c_acctbal > 0.0].c_acctbal.mean()
    customers = customers[customers.c_acctbal > mean]
    buyers = tables.orders[["o_custkey"]].drop_duplicates().assign(has_ordered=1)
    joined = customers.merge(buyers, left_on="c_custkey", right_on="o_custkey", how="left")
    joined = joined[joined.has_ordered.isna()]
    made = joined.groupby("cntrycode").agg(numcust=("c_custkey", "count"), totacctbal=("c_acctbal", "sum"))
    return made.reset_index().sort_values("cntrycode")
