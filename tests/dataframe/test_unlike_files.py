"""Folders whose Parquet files differ in types, columns or index: what `pandas.concat` makes of them, or an error that names two files."""

from __future__ import annotations

import warnings

import glassloom.dataframe as gd
import pandas as pd
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from frame_helpers import assert_same
from glassloom.errors import MetaError, ReadError

ZONE = "Europe/Berlin"
COLUMNS = {
    "small and large": [pa.array([1, 2, 3], pa.int32()), pa.array([4, -5, 2**40])],
    "signs": [pa.array([1, 2, 3], pa.uint8()), pa.array([-4, 5, 6], pa.int8()), pa.array([7], pa.uint32())],
    "half floats": [pa.array([0.5, None, 2], pa.float32()), pa.array([0.1, 1e300, None])],
    "whole and floats": [pa.array([1, 2, 3]), pa.array([0.5, None, 2**53])],
    "floats and bytes": [pa.array([0.5, 1, None], pa.float32()), pa.array([200, 2, 3], pa.uint8())],
    "whole with missing": [pa.array([1, None, 3], pa.int16()), pa.array([4, 5, 6], pa.int32())],
    "units": [pa.array([1, 2, None], pa.timestamp("us")), pa.array([1, 5, 7], pa.timestamp("ns"))],
    "units and zone": [pa.array([1, 2], pa.timestamp("ms", ZONE)), pa.array([3, None], pa.timestamp("us", ZONE))],
    "texts": [pa.array(["a", "b", None]), pa.array(["b", "long", "c"], pa.large_string())],
    "codes and texts": [pa.array(["a", "b", "a"]).dictionary_encode(), pa.array(["c", None, "a"])],
    "nothing and texts": [pa.nulls(3), pa.array(["c", None, "a"])],
    "nothing and times": [pa.nulls(3), pa.array([1, None], pa.timestamp("us"))],
    "whole and nothing": [pa.array([1, 2]), pa.nulls(2)],
    "durations": [pa.array([1, None], pa.duration("us")), pa.array([3], pa.duration("ns"))],
    "bytes": [pa.array([b"a", None]), pa.array([b"b"], pa.large_binary())],
    "lists": [pa.array([[1, 2], None], pa.list_(pa.int32())), pa.array([[2**40]])],
}


def write(folder, tables, **options):
    """Write files in which a column says from which row a row is; return what pandas makes of them."""
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet", **options)
    return joined(folder)


def joined(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [pd.read_parquet(file) for file in sorted(folder.iterdir())]
        return pd.concat(parts, ignore_index=all(isinstance(part.index, pd.RangeIndex) for part in parts))


@pytest.mark.each_choice
@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_files_of_unlike_types_are_read_as_pandas_puts_them_together(tmp_path, name, is_turned):
    arrays = COLUMNS[name][::-1] if is_turned else COLUMNS[name]
    tables = [pa.table({"n": range(len(one)), "x": one}) for one in arrays]
    expected = write(tmp_path / "f", tables, row_group_size=2)
    lazy = gd.read_parquet(tmp_path / "f")
    if "nothing" in name or "codes" in name:  # to pandas they are objects, to us they have no type
        expected = expected.astype(lazy.dtypes)
    assert_same(lazy.compute(scheduler="inline"), expected)
    assert lazy.dtypes.tolist() == expected.dtypes.tolist()
    for part in lazy.partitions:
        assert part.compute(scheduler="inline").dtypes.tolist() == expected.dtypes.tolist()


def test_filters_and_masks_compare_with_the_common_type(tmp_path):
    tables = [
        pa.table(
            {
                "i": pa.array([1, 5, 9], pa.int8()),
                "f": pa.array([1, 2, 3]),
                "t": pa.array([1, 2, 3], pa.timestamp("ms")),
            }
        ),
        pa.table(
            {
                "i": pa.array([300, 5, -9]),
                "f": pa.array([0.5, None, 2.5]),
                "t": pa.array([10**6, 1, 3], pa.timestamp("ns")),
            }
        ),
        pa.table({"f": pa.array([7.5], pa.float32()), "new": ["a"]}),
    ]
    expected = write(tmp_path / "f", tables, row_group_size=1)
    lazy = gd.read_parquet(tmp_path / "f")
    assert_same(lazy.compute(), expected)
    conditions = {
        "i": [300, 5, 0.5, 2**40, -9], "f": [2, 2.5, 7.5, 2**53], "new": ["a", "b"],
        "t": [pd.Timestamp(10**6), pd.Timestamp(1), pd.Timestamp("9999-01-01")],
    }  # fmt: skip
    for column, values in conditions.items():
        for value in values:
            for mask in (lambda one: one[one[column] >= value], lambda one: one[one[column] == value]):  # noqa: B023
                assert_same(mask(lazy).compute(scheduler="inline"), mask(expected))
            assert_same(lazy[lazy[column] != value][["f"]].compute(), expected[expected[column] != value][["f"]])
            filtered = gd.read_parquet(tmp_path / "f", filters=[(column, ">", value)])
            assert filtered.compute().index.tolist() == expected[expected[column] > value].index.tolist()
    assert_same(lazy[lazy.new.isna()].compute(), expected[expected.new.isna()])
    assert gd.read_parquet(tmp_path / "f", filters=[("new", "==", "a")]).compute().index.tolist() == [6]
    assert gd.read_parquet(tmp_path / "f", filters=[("i", "==", 300)]).npartitions == 1
    assert_same(lazy.groupby("i").f.sum().compute(), expected.groupby("i").f.sum())


def test_columns_that_files_lack_are_missing_there(tmp_path):
    tables = [
        pa.table({"a": [1, 2], "b": [True, False], "s": ["x", "y"]}),
        pa.table({"s": ["z"], "a": [3], "d": pa.array([1], pa.timestamp("us"))}),
        pa.table({"c": [0.5]}),
    ]
    expected = write(tmp_path / "f", tables)
    expected["b"] = expected.b.where(expected.b.notna(), None)  # as PyArrow has booleans that are missing
    lazy = gd.read_parquet(tmp_path / "f")
    assert list(lazy.columns) == ["a", "b", "s", "d", "c"]
    assert_same(lazy.compute(), expected)
    assert_same(lazy[["d"]].compute(), expected[["d"]])
    assert_same(lazy.d.isna().sum().compute(), expected.d.isna().sum())
    assert len(lazy) == 4
    nullable = gd.read_parquet(tmp_path / "f", dtype_backend="numpy_nullable").compute()
    assert nullable.a.dtype == "Int64"
    assert nullable.a.isna().tolist() == [False, False, False, True]


@pytest.mark.parametrize("first", ["int64", "float64", "Int32", "Int64"])
@pytest.mark.parametrize("second", ["int32", "Int64", "Float64", "float32"])
def test_noted_dtypes_are_put_together(tmp_path, first, second):
    frames = [pd.DataFrame({"x": pd.array([1, 2], dtype=first)}), pd.DataFrame({"x": pd.array([3, 4], dtype=second)})]
    for number, frame in enumerate(frames):
        frame.to_parquet(tmp_path / f"{number}.parquet")
    lazy = gd.read_parquet(tmp_path)
    assert_same(lazy.compute(), pd.concat(frames, ignore_index=True))
    assert lazy.dtypes.tolist() == pd.concat(frames).dtypes.tolist()


def test_what_no_type_holds_is_an_error_that_names_both_files(tmp_path):
    pairs = [
        (pa.array([1]), pa.array(["a"]), "int64"),
        (pa.array([True]), pa.array([1]), "bool"),
        (pa.array([1], pa.timestamp("us")), pa.array([1], pa.timestamp("us", "UTC")), r"timestamp\[us\]"),
        (pa.array([1], pa.timestamp("us", ZONE)), pa.array([1], pa.timestamp("us", "UTC")), "timestamp"),
        (pa.array([1], pa.date32()), pa.array([1], pa.timestamp("us")), "date32"),
    ]
    for number, (one, other, kind) in enumerate(pairs):
        folder = tmp_path / f"f{number}"
        folder.mkdir()
        pq.write_table(pa.table({"x": one}), folder / "0.parquet")
        pq.write_table(pa.table({"x": other}), folder / "1.parquet")
        with pytest.raises(ReadError, match=rf"column 'x' is .* in '.*1\.parquet', but {kind}.* in '.*0\.parquet'"):
            gd.read_parquet(folder)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([2**53 + 1]), pa.array([0.5])),
        (pa.array([2**62], pa.timestamp("us")), pa.array([1], pa.timestamp("ns"))),
        (pa.array([-1]), pa.array([2**63 + 1], pa.uint64())),
    ],
)
def test_values_that_the_common_type_cannot_hold_are_an_error_that_names_both_files(tmp_path, one, other):
    pq.write_table(pa.table({"x": one}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"x": other}), tmp_path / "1.parquet")
    lazy = gd.read_parquet(tmp_path)
    with pytest.raises(
        ReadError, match=r"column 'x' is .* in '.*\d\.parquet' and another type in '.*\d\.parquet'; not all"
    ):
        lazy.compute(scheduler="inline")


def test_rows_keep_the_labels_that_their_files_note(tmp_path):
    """Filtered, a partition may have labels that are a range by chance: pandas then writes no column of them."""
    frame = pd.DataFrame({"x": range(12)})
    lazy = gd.from_pandas(frame, npartitions=4)
    for number, rows in enumerate(
        ([0, 1, 2, 3, 5, 6, 8, 10], [0, 2, 4, 7, 8, 10, 11], [1, 2, 5], list(range(12)), [4], [])
    ):
        folder = tmp_path / str(number)
        lazy[lazy.x.isin(rows)].to_parquet(folder)
        back = gd.read_parquet(folder)
        assert_same(back.compute(), frame[frame.x.isin(rows)])
        assert_same(back[back.x > 2].compute(), frame[frame.x.isin(rows) & (frame.x > 2)])
        assert_same(back[back.index > 2].compute(), frame[frame.x.isin(rows) & (frame.index > 2)])
    shifted = frame.set_axis(pd.RangeIndex(100, 124, 2, name="row"))
    gd.from_pandas(shifted, npartitions=3).to_parquet(tmp_path / "shifted")
    back = gd.read_parquet(tmp_path / "shifted")
    assert_same(back.compute(), shifted)
    assert back.divisions == (100, 108, 116, 122)


def test_indexes_that_do_not_go_together_are_an_error_that_names_both_files(tmp_path):
    frame = pd.DataFrame({"x": [1, 5, 7], "y": [3, 8, 4]})
    frame.set_index("x").to_parquet(tmp_path / "0.parquet")
    frame.set_index("y").to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ReadError, match=r"index of '.*0\.parquet' is column 'x', that of '.*1\.parquet' column 'y'"):
        gd.read_parquet(tmp_path)
    frame.set_index(pd.Index(["a", "b", "c"])).to_parquet(tmp_path / "0.parquet")
    frame.to_parquet(tmp_path / "1.parquet")
    with pytest.raises(
        ReadError, match=r"index of '.*1\.parquet' is a range of numbers, that of other files (large_)?string"
    ):
        gd.read_parquet(tmp_path)
    assert len(gd.read_parquet(tmp_path, index=False)) == 6
    pq.write_table(pa.table({"x": [1]}), tmp_path / "1.parquet")
    with pytest.raises(
        ReadError, match=r"1\.parquet' lacks column '__index_level_0__', which is the index of other files"
    ):
        gd.read_parquet(tmp_path)


def test_orc_files_of_unlike_types_are_read_as_pandas_puts_them_together(tmp_path):
    frames = [
        pd.DataFrame({"x": pd.array([1, 2], "int32"), "f": [0.5, 1.5], "s": ["a", "b"]}),
        pd.DataFrame({"x": [2**40, 3], "f": pd.array([1, 2], "int64"), "new": [0.5, 1.5]}),
    ]
    for number, frame in enumerate(frames):
        orc.write_table(pa.Table.from_pandas(frame), tmp_path / f"{number}.orc")
    lazy = gd.read_orc(tmp_path)
    assert_same(lazy.compute().reset_index(drop=True), pd.concat(frames, ignore_index=True))
    assert_same(lazy.new.sum().compute(), 2.0)
    orc.write_table(pa.table({"x": ["a"], "f": [1]}), tmp_path / "1.orc")
    with pytest.raises(
        ReadError, match=r"1\.orc' has changed since read_orc\(\) looked at it: call read_orc\(\) again"
    ):
        lazy.compute()
    with pytest.raises(ReadError, match=r"column 'x' is string in '.*1\.orc', but int32 in '.*0\.orc'"):
        gd.read_orc(tmp_path)


@pytest.mark.parametrize("read", [gd.read_csv, gd.read_json])
def test_text_files_that_were_cut_and_written_anew_are_noticed(tmp_path, read):
    plain = pd.DataFrame({"x": range(1000)})
    file = tmp_path / "a.txt"
    options = {"lines": True} if read is gd.read_json else {}
    write_one = (
        (lambda one: one.to_json(file, orient="records", lines=True))
        if options
        else lambda one: one.to_csv(file, index=False)
    )
    write_one(plain)
    lazy = read(str(file), blocksize=1000, **options)
    assert lazy.x.sum().compute() == 499500
    write_one(plain[::-1])
    with pytest.raises(ReadError, match=r"a\.txt' has changed since read_(csv|json)\(\) looked at it"):
        lazy.x.sum().compute()
    assert read(str(file), blocksize=1000, **options).x.sum().compute() == 499500


def test_files_without_rows_or_columns_decide_nothing(tmp_path):
    frame = pd.DataFrame({"x": [1, 2, 3]})
    pd.DataFrame({"x": pd.array([], "int8")}, index=pd.Index([], dtype="int64")).to_parquet(tmp_path / "0.parquet")
    frame.to_parquet(tmp_path / "1.parquet")
    frame.to_parquet(tmp_path / "2.parquet")
    assert_same(gd.read_parquet(tmp_path).compute(), pd.concat([frame, frame], ignore_index=True))
    pd.DataFrame().to_parquet(tmp_path / "0.parquet")
    assert_same(gd.read_parquet(tmp_path).compute(), pd.concat([frame, frame], ignore_index=True))


def test_partitions_without_rows_go_into_orc(tmp_path):
    plain = pd.DataFrame({"o": [None, pd.Timestamp("2020-01-01").date(), None], "x": [1, 2, 3]})
    pieces = [plain[:0], plain[:2], plain[:0]]
    gd.from_map(pieces.__getitem__, range(3), meta=plain[:0]).to_orc(tmp_path / "o")
    assert_same(gd.read_orc(tmp_path / "o").compute().reset_index(drop=True), plain[:2])
    with pytest.raises(
        MetaError, match=r"columns \['o'\] have no values in a partition, so that their types aren't known"
    ):
        gd.from_pandas(plain, npartitions=3).to_orc(tmp_path / "p")
    assert not (tmp_path / "p").exists()
