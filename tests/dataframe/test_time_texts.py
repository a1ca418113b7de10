"""`to_datetime` of texts: all partitions by the format of the first value, as pandas guesses it."""

from __future__ import annotations

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import check_in_parts
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

pytestmark = pytest.mark.more

TEXTS = {
    "days first": ["31/12/2015", "05/01/2016", "06/01/2016", "07/02/2016", "25/02/2016"],
    "months first": ["01/05/2016", "01/06/2016", "01/31/2016", "02/01/2016", None],
    "days that can't be months": ["01/05/2016", "02/05/2016", "31/05/2016", "30/05/2016", "01/06/2016"],
    "a zone": ["2013-01-01T05:00:00Z", "2013-01-02T05:00:00Z", None, "2013-01-03T05:00:00Z", "2013-01-04T05:00:00Z"],
    "missing first": [None, None, None, "31/12/2015", "05/01/2016"],
    "blanks first": ["", "NaT", "31/12/2015", "", "05/01/2016"],
    "nothing but blanks": ["", None, "NaT", "", "nan"],
    "of no one format": ["5 January 2024 10 PM", "2024-01-02", "3/4/2024", "2024-01-05 10:00", "6/7/2024"],
    "no times": ["x", "2020-01-01", "y", "2020-01-02", "z"],
}  # fmt: skip
if HAS_COPY_ON_WRITE:  # pandas 2 makes objects of times of several zones, and warns of it
    TEXTS["zones"] = [
        "2020-01-01 00:00+02:00",
        "2020-01-01 00:00+02:00",
        "2020-01-01 00:00+01:00",
        "2020-01-01 00:00+01:00",
        None,
    ]
OPTIONS = {"plain": {}, "coerced": {"errors": "coerce"}, "days first": {"dayfirst": True}, "in UTC": {"utc": True}}


def to_datetime(texts, **options):
    return (pd if isinstance(texts, (pd.Series, pd.Index)) else gd).to_datetime(texts, **options)


@pytest.mark.filterwarnings("ignore:Could not infer format")
@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_texts_become_times_by_the_format_of_the_first(texts, options):
    frame = pd.DataFrame({"t": texts, "n": range(5)})
    check_in_parts(frame, lambda f: to_datetime(f.t, **options))
    check_in_parts(frame, lambda f: to_datetime(f.sort_values("n").t, **options))  # found out lazily


def test_labels_become_times_by_the_format_of_the_first():
    check_in_parts(pd.DataFrame({"n": range(5)}, index=TEXTS["days first"]), lambda f: to_datetime(f.index))


def test_blanks_have_no_format():
    frame = pd.DataFrame({"t": ["", *[""] * 70, "nan", "31/12/2015", "05/01/2016", "06/01/2016"]})
    check_in_parts(frame, lambda f: to_datetime(f.t))
    check_in_parts(frame.set_index("t"), lambda f: to_datetime(f.index))


def test_one_partition_is_read_for_the_format_and_the_zone():
    read = []

    def piece(number):
        read.append(number)
        return pd.DataFrame({"t": TEXTS["a zone"][number : number + 1]})

    times = gd.to_datetime(gd.from_map(piece, range(3), meta=pd.DataFrame({"t": ["a"]})).t)
    assert read == [0] and str(times.dt.tz_convert("CET").dtype.tz) == "CET"
    read.clear()
    gd.to_datetime(gd.from_map(piece, range(3), meta=pd.DataFrame({"t": ["a"]})).t, format="%Y")
    assert read == []


def test_columns_of_a_dict_become_times():
    frame = pd.DataFrame({"y": [2020, 2021, 2022], "m": [1, 2, 3]})
    lazy = gd.from_pandas(frame, npartitions=2)
    for day in (1, "m"):
        got = gd.to_datetime({"year": lazy.y, "month": lazy.m, "day": day if day == 1 else lazy[day]})
        expected = pd.to_datetime({"year": frame.y, "month": frame.m, "day": day if day == 1 else frame[day]})
        pd.testing.assert_series_equal(got.compute(), expected)
