"""Users' functions that fail on made-up rows are tried on the first rows of the data."""

import ast
import datetime
import json
import operator
import re

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.errors import MetaError

INLINE = {"scheduler": "inline"}
PLAIN = pd.DataFrame(
    {
        "name": ["Braund, Mr. Owen", "Allen, Miss. Eve", "Moran, Mr. James", "Bo, Mrs. Ann"],
        "price": ["$1,000", "$2.5", "$3", "$40"],
        "day": ["2020-01-01", "2021-05-06", "2022-02-28", "2020-12-31"],
        "json": ['{"a": 1}', '{"a": 2}', '{"a": 3}', '{"a": 4}'],
        "names": ["['x', 'y']", "['z']", "[]", "['x']"],
        "time": pd.to_datetime(["2020-01-01", "2021-05-06", "2022-02-28", "2020-12-31"]),
    }
)
FUNCTIONS = {
    "a part of a text": lambda f: f.name.apply(lambda name: name.split(",")[1].split(".")[0].strip()),
    "a match": lambda f: f.name.map(lambda name: re.search(r" (\w+)\.", name).group(1)),
    "a number": lambda f: f.price.apply(lambda price: float(price[1:].replace(",", ""))),
    "a year": lambda f: f.day.map(lambda day: int(day.split("-")[0])),
    "a time": lambda f: f.day.apply(lambda day: datetime.datetime.strptime(day, "%Y-%m-%d")),
    "of a dict": lambda f: f.json.apply(lambda text: json.loads(text)["a"]),
    "a list": lambda f: f.names.apply(ast.literal_eval),
    "of a date": lambda f: f.time.dt.date.apply(lambda day: day.weekday()),
    "of an offset": lambda f: (f.time.dt.to_period("M") - pd.Period("2020-01")).apply(lambda months: months.n),
    "of rows": lambda f: f.apply(lambda row: row["time"].year - int(row["day"][:4]), axis=1),
    "of groups": lambda f: f.groupby("name")["price"].agg(lambda prices: sum(float(price[1:].replace(",", "")) for price in prices)),
    "of groups' rows": lambda f: f.groupby("name")["price"].transform(lambda prices: prices.str[1:].str.replace(",", "").astype(float)),
}  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS)
def test_functions_of_texts_and_objects_of_a_kind_need_no_meta(case):
    expected = FUNCTIONS[case](PLAIN)
    lazy = FUNCTIONS[case](gd.from_pandas(PLAIN, npartitions=2))
    assert_same(lazy.compute(**INLINE), expected)
    assert lazy.dtype == expected.dtype


def test_rows_are_looked_for_in_the_first_partitions():
    pieces = [PLAIN[:0], PLAIN[:0], PLAIN[:2], PLAIN[2:]]
    lazy = gd.from_map(pieces.__getitem__, range(4), meta=PLAIN[:0])
    made = lazy.price.map(lambda price: float(price[1:].replace(",", "")))
    assert made.compute(**INLINE).tolist() == [1000, 2.5, 3, 40]
    late = gd.from_map([PLAIN[:0], *pieces].__getitem__, range(5), meta=PLAIN[:0])
    with pytest.raises(
        MetaError, match="tried on two made-up rows .* could not convert string to float: 'a'. Say what"
    ):
        late.price.map(float)


def test_functions_that_fail_on_both_say_with_what():
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    message = (
        r"apply\(apply-lambda\) was tried on two made-up rows to find out what it returns, and raised IndexError: list index out "
        r"of range; on the first rows of the data it raised ValueError: invalid literal for int\(\) with base 10: ' Mr. Owen'. Say what"
    )
    with pytest.raises(MetaError, match=message) as caught:
        lazy.name.apply(lambda name: int(name.split(",")[1]))
    assert isinstance(caught.value.__cause__, ValueError)


def test_no_rows_are_computed_that_take_many_tasks_or_whose_function_names_lazy_values(monkeypatch):
    computed = []
    pieces = [PLAIN] * 20
    lazy = gd.from_map(lambda number: computed.append(number) or pieces[number], range(20), meta=PLAIN[:0])
    moved = lazy.sort_values("price", npartitions=20).name
    computed.clear()
    with pytest.raises(MetaError, match="made-up rows"):
        moved.apply(lambda name: name.split(",")[1])
    lengths = lazy.name.str.len()
    with pytest.raises(MetaError, match="'lengths' is a lazy Series"):
        lazy.name.apply(lambda name: name.split(",")[1].ljust(lengths))
    assert not computed
    assert lazy.name.apply(lambda name: name.split(",")[1]).dtype == "str"
    assert computed == [0]


def test_none_alone_does_not_tell_what_is_returned():
    texts = pd.Series(['{"a": null}'] * 30 + ['{"a": 2}'] * 30)
    with pytest.raises(MetaError, match="meta="):
        gd.from_pandas(texts, npartitions=2).map(lambda text: json.loads(text)["a"])


def test_categories_of_the_first_rows_are_not_those_of_all():
    text = PLAIN.name.astype(object).astype("category")
    lazy = gd.from_pandas(PLAIN, npartitions=2).name.astype("category")

    def checked(values):
        if "a" in values.cat.categories:
            raise ValueError("made up")
        return values

    made = lazy.map_partitions(checked)
    assert not made.cat.known
    assert made.compute(**INLINE).tolist() == text.tolist()


def test_operands_of_one_partition_are_given_whole():
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    other = gd.from_pandas(pd.Series(np.arange(30)), npartitions=1)
    made = lazy.price.map_partitions(
        lambda prices, numbers: prices.str[1:].str.replace(",", "").astype(float) + len(numbers), other
    )
    assert made.compute(**INLINE).tolist() == [1030, 32.5, 33, 70]


def test_objects_that_an_operation_makes_of_times_are_made_up_where_rows_take_many_tasks():
    plain = pd.DataFrame({"user": np.arange(40) % 7, "time": pd.date_range("2020-01-01", periods=40, freq="9D")})

    def months(frame):
        month, first = frame.time.dt.to_period("M"), frame.groupby("user").time.transform("min").dt.to_period("M")
        made = frame.assign(gap=month - first, other=0)
        return (month - first).apply(lambda gap: gap.n), made.gap.apply(operator.attrgetter("n"))

    for found, expected in zip(months(gd.from_pandas(plain, npartitions=8)), months(plain), strict=True):
        assert found.dtype == expected.dtype
        assert_same(found.compute(**INLINE), expected)
