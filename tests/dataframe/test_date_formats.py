"""Times in text files: all blocks are parsed by the format of the first value, as pandas parses the whole file."""

from __future__ import annotations

import io
import warnings

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.errors import MetaError


def days(count, form, start="2024-01-01"):
    return [day.strftime(form) for day in pd.date_range(start, periods=count)]


def write(path, values, header="d,x"):
    path.write_text(header + "\n" + "".join(f"{value},{number}\n" for number, value in enumerate(values)))
    return str(path)


FORMS = {
    "months first": ("%m/%d/%Y", {}),
    "days first": ("%d/%m/%Y", {"dayfirst": True}),
    "as it is usual": ("%Y-%m-%d", {}),
    "with a zone": ("%Y-%m-%dT00:00:00+01:00", {}),
    "without a format": ("%d %B %Y 10 PM", {}),
    "by number": ("%m/%d/%Y", {"parse_dates": [0]}),
    "given": ("%d/%m/%Y", {"date_format": "%d/%m/%Y"}),
    "given by column": ("%d/%m/%Y", {"date_format": {"d": "%d/%m/%Y"}}),
    "as the index": ("%m/%d/%Y", {"index_col": "d", "parse_dates": True}),
}


@pytest.mark.each_choice
@pytest.mark.parametrize("engine", ["c", "pyarrow"])
@pytest.mark.parametrize("name", FORMS)
def test_times_are_parsed_as_pandas_parses_the_whole_file(tmp_path, name, engine):
    form, options = FORMS[name]
    if engine == "pyarrow" and ("dayfirst" in options or ("index_col" in options and PANDAS_VERSION < (3, 1))):
        return  # pandas refuses it, and before version 3.1 doesn't parse labels
    options = {"parse_dates": ["d"], "engine": engine, **options}
    file = write(tmp_path / "a.csv", days(1500, form))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of formats that can't be guessed
        expected = pd.read_csv(file, **options)
        lazy = gd.read_csv(file, blocksize=4000, **options)
        assert lazy.npartitions > 4
        got = lazy.compute()
        assert_same(got if "index_col" in options else got.reset_index(drop=True), expected)
        if "index_col" not in options:
            assert_same(lazy.d.compute().reset_index(drop=True), expected.d)
            assert_same(lazy.x.sum().compute(), expected.x.sum())


@pytest.mark.parametrize(
    "values",
    [
        days(1100, "%m/%d/%Y") + ["13/02/2024"] * 20,
        days(1100, "%m/%d/%Y") + ["05/02/2024"] * 300 + ["13/02/2024"],
        days(1100, "%Y-%m-%d") + ["2024-01-01 10:00"],
        days(1100, "%Y-%m-%dT00:00:00+01:00") + ["2024-01-01T00:00:00+02:00"] * 300,
        days(1100, "%Y-%m-%d %H:%M:%S") + ["2024-01-01 00:00:00.5"],
        [""] * 1100 + days(300, "%m/%d/%Y"),
    ],
)
def test_values_of_another_format_are_an_error_that_names_the_first(tmp_path, values):
    file = write(tmp_path / "a.csv", values)
    lazy = gd.read_csv(file, blocksize=4000, parse_dates=["d"])
    with pytest.raises(
        MetaError, match=r"'d' holds .*, the sample datetime64.* date_format= with one that all values have"
    ):
        lazy.compute()


def test_the_value_and_its_line_are_named(tmp_path):
    file = write(tmp_path / "a.csv", days(1100, "%m/%d/%Y") + ["13/02/2024"])
    expected = (
        r"'d' holds .*, the sample datetime64\[.*\] \(first '13/02/2024', in line 1102\)\. "
        r"The sample's format is \{'d': '%m/%d/%Y'\}: give date_format="
    )
    with pytest.raises(MetaError, match=expected):
        gd.read_csv(file, blocksize=4000, parse_dates=["d"]).compute()


def test_what_pandas_leaves_as_text_is_text_in_all_blocks(tmp_path):
    file = write(tmp_path / "a.csv", ["01/02/2024", "13/02/2024", *days(1500, "%m/%d/%Y")])
    expected = pd.read_csv(file, parse_dates=["d"])
    lazy = gd.read_csv(file, blocksize=4000, parse_dates=["d"])
    assert_same(lazy.compute().reset_index(drop=True), expected)
    assert lazy.dtypes.tolist() == expected.dtypes.tolist()


def test_a_column_without_values_at_first_is_parsed_where_its_format_is_plain(tmp_path):
    file = write(tmp_path / "a.csv", [""] * 1100 + days(300, "%Y-%m-%d"))
    lazy = gd.read_csv(file, blocksize=4000, parse_dates=["d"])
    assert_same(lazy.compute().reset_index(drop=True), pd.read_csv(file, parse_dates=["d"]))
    assert lazy.d.dtype == pd.read_csv(file, parse_dates=["d"]).d.dtype


@pytest.mark.parametrize("form", ["%Y%m%d", "%d.%m.%Y %H:%M:%S.%f", "ISO8601", "mixed"])
@pytest.mark.parametrize("is_by_column", [True, False])
def test_a_column_without_values_at_first_has_the_dtype_of_times_of_a_given_format(tmp_path, form, is_by_column):
    values = days(300, form if "%" in form else "%Y-%m-%d")
    file = write(tmp_path / "a.csv", [""] * 1100 + values)
    options = {"parse_dates": ["d"], "date_format": {"d": form} if is_by_column else form}
    lazy, expected = gd.read_csv(file, blocksize=4000, **options), pd.read_csv(file, **options)
    assert_same(lazy.compute().reset_index(drop=True), expected)
    assert lazy.d.dtype == expected.d.dtype


def test_the_first_value_that_is_not_of_a_given_format_is_named(tmp_path):
    file = write(tmp_path / "a.csv", [*days(1100, "%Y%m%d"), "13/02/2024"])
    with pytest.raises(MetaError, match=r"\(first '13/02/2024', in line 1102\)"):
        gd.read_csv(file, blocksize=4000, parse_dates=["d"], date_format="%Y%m%d").compute()


def test_files_are_parsed_by_the_format_of_the_first(tmp_path):
    write(tmp_path / "a.csv", days(5, "%m/%d/%Y"))
    write(tmp_path / "b.csv", ["05/02/2024", "06/02/2024"])
    lazy = gd.read_csv(tmp_path, parse_dates=["d"])
    assert lazy.d.compute().iloc[-1] == pd.Timestamp("2024-06-02")
    write(tmp_path / "b.csv", ["2024-02-05"])
    with pytest.raises(MetaError, match="'2024-02-05', in line 2"):
        gd.read_csv(tmp_path, parse_dates=["d"]).compute()


def test_finer_times_than_those_of_the_sample_are_not_rounded(tmp_path):
    file = write(tmp_path / "a.csv", ["2024-01-01 00:00:00.5"] * 1100 + ["2024-01-01 00:00:00.123456789"])
    lazy = gd.read_csv(file, blocksize=4000, parse_dates=["d"])
    expected = pd.read_csv(file, parse_dates=["d"])
    if lazy.d.dtype == expected.d.dtype:
        assert_same(lazy.compute().reset_index(drop=True), expected)
    else:
        with pytest.raises(MetaError, match=r"'d' holds datetime64\[ns\], the sample datetime64\[us\]"):
            lazy.compute()


def test_columns_that_become_one_are_refused(tmp_path):
    file = write(tmp_path / "a.csv", days(3, "%Y-%m-%d"))
    with pytest.raises((NotImplementedError, TypeError)):
        gd.read_csv(file, parse_dates=[["d", "x"]])


def test_numbers_in_json_that_are_times_have_one_unit(tmp_path):
    file = tmp_path / "a.json"
    seconds = [1_700_000_000 + number for number in range(1500)]
    file.write_text("".join(f'{{"date": {one}}}\n' for one in seconds))
    lazy = gd.read_json(str(file), lines=True, blocksize=2000)
    assert lazy.npartitions > 4
    assert_same(lazy.compute().reset_index(drop=True), pd.read_json(io.StringIO(file.read_text()), lines=True))
    file.write_text("".join(f'{{"date": {one}}}\n' for one in [*seconds, *[one * 1000 for one in seconds]]))
    with pytest.raises(MetaError, match="'date' holds int64, the sample datetime64"):
        gd.read_json(str(file), lines=True, blocksize=2000).compute()
    rows = "".join(f'{{"date": {one}, "at_time": {one * 1000}}}\n' for one in seconds)
    file.write_text(rows)
    assert_same(
        gd.read_json(str(file), lines=True, blocksize=2000).compute().reset_index(drop=True),
        pd.read_json(io.StringIO(rows), lines=True),
    )


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%Y-%m-%d", "%Y-%m-%dT00:00:00Z"])
def test_texts_in_json_that_are_times_have_one_format(tmp_path, form):
    file = tmp_path / "a.json"
    file.write_text("".join(f'{{"date": "{one}", "x": "{one}"}}\n' for one in days(1500, form, "2024-01-13")))
    expected = pd.read_json(io.StringIO(file.read_text()), lines=True)
    lazy = gd.read_json(str(file), lines=True, blocksize=2000)
    assert_same(lazy.compute().reset_index(drop=True), expected)
    with file.open("a") as more:
        more.writelines(f'{{"date": "{one}", "x": ""}}\n' for one in days(100, "%m.%d.%Y", "2024-01-01"))
    lazy = gd.read_json(str(file), lines=True, blocksize=2000)
    try:
        got = lazy.compute()
    except MetaError as error:
        assert "'date' holds" in str(error)
    else:  # pandas 2 parses each text by itself
        assert_same(got.reset_index(drop=True), pd.read_json(io.StringIO(file.read_text()), lines=True))
