"""Texts and dates of times are made once for each that differs, and are pandas'."""

from __future__ import annotations

from typing import Any

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.dataframe import distinct_times
from glassloom.dataframe.distinct_times import of_distinct_times, seconds_of_format
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(autouse=True, scope="module")
def few_rows_are_enough() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct_times, "_LEAST", 1)
        patch.setattr(distinct_times, "_REPEATED", 1)
        yield


TIMES = st.lists(
    st.none() | st.datetimes(pd.Timestamp("1700-01-01"), pd.Timestamp("2200-01-01")).map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)),
    min_size=1,
    max_size=12,
)  # fmt: skip
FORMATS = ["%Y-%m", "%d.%m.%Y", "%H:%M", "%Y-%m-%d %H:%M:%S", "%b %Y", "%A", "%j%%", "%f", "%I %p", "%U", "text", "", "%T", "%R", "%G-W%V-%u", "%-d", "%c"]  # fmt: skip


@given(times=TIMES, unit=st.sampled_from(["s", "ms", "us", "ns"]), date_format=st.sampled_from(FORMATS))
def test_texts_of_a_format_are_those_of_pandas(times: list[Any], unit: str, date_format: str) -> None:
    series = pd.Series(pd.to_datetime(times).as_unit(unit), index=[place % 3 for place in range(len(times))], name="t")
    lazy = gd.from_pandas(series, npartitions=1, sort=False)
    assert_same(lazy.dt.strftime(date_format).compute(), series.dt.strftime(date_format))


@given(times=TIMES, unit=st.sampled_from(["s", "ms", "us", "ns"]))
def test_dates_are_those_of_pandas(times: list[Any], unit: str) -> None:
    series = pd.Series(pd.to_datetime(times).as_unit(unit), name="t")
    assert_same(gd.from_pandas(series, npartitions=1).dt.date.compute(), series.dt.date)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_times_in_a_zone_are_left_to_pandas(zone: str) -> None:
    series = pd.Series(pd.date_range("2024-03-30 22:00", periods=9, freq="30min", tz=zone))
    lazy = gd.from_pandas(series, npartitions=2)
    assert_same(lazy.dt.strftime("%H:%M %z").compute(), series.dt.strftime("%H:%M %z"))
    assert_same(lazy.dt.date.compute(), series.dt.date)


def test_a_function_is_called_with_each_day_once() -> None:
    series = pd.Series(pd.date_range("2024-01-01", periods=48, freq="h")).iloc[::-1]
    seen: list[int] = []
    made = of_distinct_times(series, 86_400, lambda some: [seen.append(len(some)), some.dt.day][1])
    assert seen == [2]
    assert_same(made, series.dt.day)


@pytest.mark.parametrize(
    ("date_format", "seconds"),
    [("%Y", 86_400), ("%H", 3600), ("%M", 60), ("%Y %S", 1), ("%f", None), ("%-d", None), ("%Z", None), (None, None), ("%", 86_400)],
)  # fmt: skip
def test_a_format_says_how_long_its_text_stays_as_it_is(date_format: str | None, seconds: int | None) -> None:
    assert seconds_of_format(date_format) == seconds


def test_many_different_times_are_left_to_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_times, "_REPEATED", 4)
    assert of_distinct_times(pd.Series(pd.to_datetime(np.arange(9), unit="D")), 86_400, len) is None


def test_missing_times_beside_the_first_ones_that_there_are_stay_missing() -> None:
    series = pd.Series([pd.Timestamp("1677-09-21 01:00"), pd.NaT] * 3).astype("datetime64[ns]")
    lazy = gd.from_pandas(series, npartitions=1)
    assert_same(lazy.dt.date.compute(), series.dt.date)
    assert_same(lazy.dt.strftime("%Y").compute(), series.dt.strftime("%Y"))
