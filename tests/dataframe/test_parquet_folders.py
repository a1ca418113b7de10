"""Folders of Parquet files that are written, added to and read: footers together, labels beside chosen types, and words of Dask's."""

from __future__ import annotations

import datetime

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from frame_helpers import assert_same
from glassloom.errors import MetaError, OptionError, UnknownColumn

ROWS = pd.DataFrame(
    {"x": [1.0, None] * 5, "k": list("ab") * 5, "n": pd.array([1, 2, None, 4, 5] * 2, dtype="Int64")},
)


def summary(folder):
    return ds.parquet_dataset(folder / "_metadata").to_table().to_pandas()


# Footers of all files together.


@pytest.mark.parametrize("options", [{}, {"partition_on": "k"}, {"write_index": False}])
def test_other_readers_find_all_files_by_their_common_footer(tmp_path, options):
    gd.from_pandas(ROWS, npartitions=3).to_parquet(tmp_path, write_metadata_file=True, **options)
    found = summary(tmp_path)
    assert sorted(found.x.fillna(0)) == sorted(ROWS.x.fillna(0))
    assert set(pq.read_schema(tmp_path / "_common_metadata").names) >= {"x", "n"}
    assert len(gd.read_parquet(tmp_path)) == len(ROWS)


def test_the_common_footer_follows_what_is_added_and_replaced(tmp_path):
    lazy = gd.from_pandas(ROWS, npartitions=2)
    lazy.to_parquet(tmp_path, write_metadata_file=True)
    lazy.to_parquet(tmp_path, append=True)
    assert len(summary(tmp_path)) == 2 * len(ROWS)
    lazy.partitions[0].to_parquet(tmp_path, overwrite=True)
    assert_same(summary(tmp_path).reset_index(drop=True), ROWS.iloc[:5])
    lazy.to_parquet(tmp_path, append=True, write_metadata_file=False)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("_")]
    lazy.to_parquet(tmp_path, overwrite=True)
    assert not (tmp_path / "_metadata").exists()


def test_files_of_unlike_columns_have_no_common_footer(tmp_path):
    lazy = gd.from_pandas(pd.DataFrame({"x": [1, 2], "o": [1, 2.5]}, dtype=object), npartitions=2)
    with pytest.raises(
        MetaError, match=r"'part-0000.parquet' and 'part-0001.parquet' have unlike columns: .*o: double"
    ):
        lazy.to_parquet(tmp_path / "out", write_metadata_file=True)
    assert not (tmp_path / "out").exists()
    lazy.to_parquet(tmp_path / "out", write_metadata_file=True, schema={"o": pa.float64()})
    assert len(summary(tmp_path / "out")) == 2
    lazy.to_parquet(tmp_path / "out", append=True)
    assert not (tmp_path / "out" / "_metadata").exists()
    assert len(gd.read_parquet(tmp_path / "out")) == 4


@pytest.mark.parametrize(
    "options", [{}, {"partition_on": "k"}, {"compression": "zstd", "custom_metadata": {"of": "tests"}}]
)
def test_columns_without_values_in_a_partition_have_the_type_of_the_others_in_the_common_footer(tmp_path, options):
    frame = pd.DataFrame({"x": range(6), "o": [None, None, "a", None, None, None], "k": [1, 2] * 3, "e": None}).astype(
        {"o": object}
    )
    frame["d"] = pd.Series([None, None, None, None, datetime.date(2020, 1, 1), None], dtype=object)
    lazy = gd.from_pandas(frame, npartitions=3)
    lazy.to_parquet(tmp_path, write_metadata_file=True, **options)
    found = summary(tmp_path)
    assert found.sort_values("x").o.fillna("-").tolist() == ["-", "-", "a", "-", "-", "-"]
    assert pq.read_schema(tmp_path / "_common_metadata").field("d").type == pa.date32()
    assert pq.read_schema(tmp_path / "_common_metadata").field("e").type == pa.null()
    for path in tmp_path.rglob("*.parquet"):
        footer = pq.ParquetFile(path).metadata
        assert footer.row_group(0).column(0).compression == options.get("compression", "snappy").upper()
        assert (b"of" in footer.metadata) == ("custom_metadata" in options)
    expected = pd.concat([frame] * 2)
    lazy.to_parquet(tmp_path, append=True, **options)
    for got in (summary(tmp_path), gd.read_parquet(tmp_path).compute()):
        assert sorted(zip(got.x, got.o.fillna("-"), got.d.astype(str).replace("NaT", "None"), strict=True)) == sorted(
            zip(expected.x, expected.o.fillna("-"), expected.d.astype(str), strict=True)
        )


@pytest.mark.parametrize(
    "schema", [{"x": pa.float32(), "n": pa.int16()}, pa.schema([("x", pa.float32()), ("n", pa.int16())])]
)
def test_rows_are_added_with_the_schema_that_the_files_were_written_with(tmp_path, schema):
    lazy = gd.from_pandas(ROWS[["x", "n"]].reset_index(drop=True), npartitions=2)
    lazy.to_parquet(tmp_path, schema=schema)
    lazy.to_parquet(tmp_path, schema=schema, append=True)
    assert pq.read_schema(next(tmp_path.iterdir())).field("n").type == pa.int16()
    assert len({str(pq.read_schema(path).remove_metadata()) for path in tmp_path.iterdir()}) == 1
    assert len(gd.read_parquet(tmp_path)) == 2 * len(ROWS)
    with pytest.raises(
        MetaError, match=r"column 'x' is float in the files, but string in the frame; schema=\{'x': pyarrow type\}"
    ):
        lazy.to_parquet(tmp_path, schema={"x": pa.string()}, append=True)


# Types.


@pytest.mark.parametrize("write_index", [None, True, False])
@pytest.mark.parametrize("schema", ["infer", {"n": pa.int32()}, pa.schema([("x", pa.float32()), ("n", pa.int64())])])
@pytest.mark.parametrize(
    "index", [pd.RangeIndex(7, 17, name="r"), pd.RangeIndex(7, 27, 2), pd.Index(list("abcdefghij"))]
)
def test_the_index_is_kept_whatever_types_are_chosen(tmp_path, index, schema, write_index):
    frame = ROWS[["x", "n"]].set_index(index)
    lazy = gd.from_pandas(frame, npartitions=3)
    if index.dtype == object and write_index and isinstance(schema, pa.Schema):  # as text is before pandas 3
        with pytest.raises(OptionError, match=r"write_index=True needs \['__index_level_0__'\] in schema="):
            lazy.to_parquet(tmp_path / "out", schema=schema, write_index=write_index)
        return
    lazy.to_parquet(tmp_path / "out", schema=schema, write_index=write_index)
    found = gd.read_parquet(tmp_path / "out").compute()
    has_all_types = isinstance(schema, pa.Schema) and not write_index
    is_lost = write_index is False or (has_all_types and not isinstance(index, pd.RangeIndex))
    expected = pd.RangeIndex(len(frame)) if is_lost else index
    assert found.index.tolist() == expected.tolist()
    assert found.index.name == expected.name


def test_partitions_of_unlike_types_are_not_written(tmp_path):
    lazy = gd.from_pandas(pd.DataFrame({"x": [1, 2, 3], "y": [1.5, 2.5, 3.5]}), npartitions=2)
    unlike = lazy.map_partitions(
        lambda part: part.assign(y=["a"] * len(part)) if 3 in part.x.values else part, meta=lazy.expr.meta
    )
    with pytest.raises(
        MetaError, match=r"unlike types: column 'y' is .*string in 'part-0001.parquet', but double in 'part-0000"
    ):
        unlike.to_parquet(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    unlike.to_parquet(tmp_path / "out", schema=None)
    assert gd.read_parquet(tmp_path / "out" / "part-0001.parquet").y.compute().tolist() == ["a"] * len(
        unlike.partitions[1]
    )


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2, 1, 2], dtype="category"),
        pd.Series(pd.Categorical([1, 2, None, None], categories=[1, 2], ordered=True)),
        pd.Series([None, None, "a", b"b".decode()], dtype=object),
        pd.Series([None, None, 1, 2], dtype="Int8"),
    ],
)
def test_partitions_whose_values_have_a_common_type_are_written(tmp_path, values):
    frame = pd.DataFrame({"v": values})
    gd.from_pandas(frame, npartitions=2).to_parquet(tmp_path / "ours")
    frame.to_parquet(tmp_path / "theirs.parquet")
    assert_same(gd.read_parquet(tmp_path / "ours").compute(), pd.read_parquet(tmp_path / "theirs.parquet"))


# Adding.


def test_rows_are_added_behind_the_last_label_if_that_is_asked_for(tmp_path):
    lazy = gd.from_pandas(ROWS, npartitions=2)
    lazy.to_parquet(tmp_path, ignore_divisions=False)
    with pytest.raises(OptionError, match="the rows begin at 0, and the files that are there end with 9"):
        lazy.to_parquet(tmp_path, append=True, ignore_divisions=False)
    with pytest.raises(OptionError, match="the divisions of the frame aren't known"):
        lazy.clear_divisions().to_parquet(tmp_path, append=True, ignore_divisions=False)
    later = gd.from_pandas(ROWS.set_index(pd.RangeIndex(10, 20)), npartitions=2)
    later.to_parquet(tmp_path, append=True, ignore_divisions=False)
    assert gd.read_parquet(tmp_path).compute().index.tolist() == list(range(20))


# Reading.


@pytest.mark.parametrize("dtype_backend", [None, "numpy_nullable", "pyarrow"])
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_filters_tell_what_is_missing(tmp_path, missing, dtype_backend):
    gd.from_pandas(ROWS, npartitions=3).to_parquet(tmp_path, partition_on="k")
    whole = gd.read_parquet(tmp_path, dtype_backend=dtype_backend).compute()
    for column in ("x", "n"):
        found = gd.read_parquet(tmp_path, dtype_backend=dtype_backend, filters=[(column, "is", missing)])
        assert_same(found.compute(), whole[whole[column].isna()])
        found = gd.read_parquet(tmp_path, dtype_backend=dtype_backend, filters=[(column, "is not", missing)])
        assert_same(found.compute(), whole[whole[column].notna()])
    filters = [[("x", "is not", missing), ("n", ">", 2)], [("k", "==", "b"), ("n", "==", 1)]]
    expected = whole[
        (whole.x.notna() & (whole.n > 2).fillna(False)) | ((whole.k == "b") & (whole.n == 1).fillna(False))
    ]
    assert_same(gd.read_parquet(tmp_path, dtype_backend=dtype_backend, filters=filters).compute(), expected)
    with pytest.raises(OptionError, match=r"'is' tells what is missing, so 3 should be None"):
        gd.read_parquet(tmp_path, filters=[("x", "is", 3)])


@pytest.mark.parametrize("index", ["place", ["place"]])
def test_an_index_that_is_only_noted_is_chosen_by_its_name(tmp_path, index):
    frame = ROWS.rename_axis("place")
    gd.from_pandas(frame, npartitions=3).to_parquet(tmp_path)
    lazy = gd.read_parquet(tmp_path, index=index)
    assert_same(lazy.compute(), frame)
    assert lazy.known_divisions
    with pytest.raises(UnknownColumn, match="no column 'other'"):
        gd.read_parquet(tmp_path, index="other")


def test_columns_become_categorical(tmp_path):
    gd.from_pandas(ROWS, npartitions=3).to_parquet(tmp_path)
    lazy = gd.read_parquet(tmp_path, categories=["k", "n"])
    assert [str(dtype) for dtype in lazy.dtypes] == ["float64", "category", "category"]
    assert_same(lazy.compute(), pd.read_parquet(tmp_path).astype({"k": "category", "n": "category"}))
    assert_same(gd.read_parquet(tmp_path, columns="k", categories="k").compute(), ROWS.k.astype("category"))
    with pytest.raises(UnknownColumn, match="no column 'z'"):
        gd.read_parquet(tmp_path, categories=["z"])


def test_files_are_joined_that_have_folders_in_common(tmp_path):
    frame = pd.DataFrame({"a": list("xyz") * 8, "b": list("pq") * 12, "v": range(24)})
    gd.from_pandas(frame, npartitions=4).to_parquet(tmp_path, partition_on=["a", "b"], write_index=False)
    counts = {
        kind: gd.read_parquet(tmp_path, split_row_groups="adaptive", aggregate_files=kind).npartitions
        for kind in ("a", "b", True, False)
    }
    assert counts == {"a": 3, "b": 6, True: 1, False: 24}
    one = gd.read_parquet(tmp_path, split_row_groups="adaptive", aggregate_files="a")
    assert sorted(one.map_partitions(lambda part: part.a.nunique()).compute()) == [1, 1, 1]
    assert sorted(one.v.compute()) == list(range(24))
    with pytest.raises(
        OptionError, match=r"aggregate_files='v' should be True, False, or a column of folders: \['a', 'b'\]"
    ):
        gd.read_parquet(tmp_path, aggregate_files="v")


def test_columns_of_folders_may_be_all_columns_and_in_the_schema(tmp_path):
    frame = pd.DataFrame({"k": list("abab"), "v": [1, 2, 3, 4]}, index=pd.date_range("2020", periods=4))
    lazy = gd.from_pandas(frame, npartitions=2)
    schema = pa.schema([("k", pa.string()), ("v", pa.int8()), ("__index_level_0__", pa.timestamp("us"))])
    lazy.to_parquet(tmp_path / "typed", partition_on="k", schema=schema)
    assert gd.read_parquet(tmp_path / "typed").dtypes.astype(str).to_dict() == {"v": "int8", "k": "category"}
    lazy[["k"]].to_parquet(tmp_path / "ours", partition_on="k")
    frame[["k"]].to_parquet(tmp_path / "theirs", partition_cols="k")
    assert_same(gd.read_parquet(tmp_path / "ours").compute(), pd.read_parquet(tmp_path / "theirs"))
    with pytest.raises(OptionError, match=r"partition_on=\['k'\] leaves no column for the files"):
        lazy[["k"]].to_parquet(tmp_path / "none", partition_on="k", write_index=False)


def test_lists_and_patterns_may_have_the_common_footer_among_the_files(tmp_path):
    gd.from_pandas(ROWS, npartitions=3).to_parquet(tmp_path, write_metadata_file=True)
    assert_same(gd.read_parquet(f"{tmp_path}/*").compute(), ROWS)
    assert_same(gd.read_parquet([*sorted(tmp_path.glob("*.parquet")), tmp_path / "_metadata"]).compute(), ROWS)


def test_files_of_folders_have_one_schema_whatever_rows_they_get(tmp_path):
    frame = pd.DataFrame({"k": list("aaabab"), "v": range(6)})
    gd.from_pandas(frame, npartitions=2).to_parquet(tmp_path, partition_on="k", write_metadata_file=True)
    assert sorted(summary(tmp_path).v) == list(range(6))
    assert_same(gd.read_parquet(tmp_path).v.compute().sort_index(), frame.v)


@pytest.mark.parametrize("keys", ["b", ["a", "b"]])
def test_labels_are_written_beside_columns_of_folders_whatever_schema_is_given(tmp_path, keys):
    frame = pd.DataFrame({"a": range(4), "b": list("xyxy"), "c": 1.5}, index=pd.Index([0, 1, 4, 9], name="k"))
    frame = frame if keys == "b" else frame[["a", "b"]]
    types = {"a": pa.int64(), "b": pa.string(), "c": pa.float64(), "k": pa.int64()}
    schema = pa.schema([(name, types[name]) for name in [*frame.columns, "k"]])
    lazy = gd.from_pandas(frame, npartitions=2)
    lazy.to_parquet(tmp_path / "with", partition_on=keys, schema=schema)
    assert sorted(gd.read_parquet(tmp_path / "with").index.compute()) == [0, 1, 4, 9]
    lazy.to_parquet(tmp_path / "without", partition_on=keys, schema=schema.remove(len(schema) - 1))
    assert_same(gd.read_parquet(tmp_path / "without").compute(), gd.read_parquet(tmp_path / "with").compute())
    objects = lazy.map_partitions(lambda block: block.set_index(block.index.astype(object)))
    with pytest.raises(OptionError, match=r"write_index=True needs \['k'\] in schema="):
        objects.to_parquet(tmp_path / "unknown", partition_on=keys, schema=schema.remove(len(schema) - 1))


def test_rows_that_are_added_to_folders_have_labels_if_those_that_are_there_do(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    lazy = gd.from_pandas(frame, npartitions=1)
    for name, has_labels in (("with", None), ("without", False)):
        lazy.to_parquet(tmp_path / name, partition_on="b", write_index=has_labels)
        lazy.to_parquet(tmp_path / name, partition_on="b", append=True)
        assert sorted(gd.read_parquet(tmp_path / name).a.compute()) == [1, 1, 2, 2]
    frame.to_parquet(tmp_path / "theirs", partition_cols=["b"])
    lazy.to_parquet(tmp_path / "theirs", partition_on="b", append=True)
    assert sorted(gd.read_parquet(tmp_path / "theirs").a.compute()) == [1, 1, 2, 2]


# Types of the columns of folders' names.


def folders(tmp_path, values, name="k"):
    """Write a file into a folder for each value, and return a partitioning of a type of the values."""
    rows = [pd.DataFrame({"x": [number, number + 0.5]}) for number, _ in enumerate(values)]
    for value, part in zip(values, rows, strict=True):
        folder = tmp_path / f"{name}={value}"
        folder.mkdir()
        part.to_parquet(folder / "a.parquet", index=False)
    return lambda kind: ds.partitioning(pa.schema([(name, kind)]), flavor="hive")


TYPED = {
    "whole numbers": (["1", "2", "30"], pa.int16()),
    "whole numbers, missing": (["1", "2", "__HIVE_DEFAULT_PARTITION__"], pa.int64()),
    "floats": (["1", "2.5"], pa.float32()),
    "text": (["01", "10"], pa.string()),
    "text, missing": (["01", "__HIVE_DEFAULT_PARTITION__"], pa.string()),
    "days": (["2020-01-01", "2020-02-01"], pa.date32()),
    "times": (["2020-01-01", "2020-02-01 12%3A30%3A00"], pa.timestamp("us")),
    "booleans": (["true", "false"], pa.bool_()),
    "booleans, missing": (["true", "__HIVE_DEFAULT_PARTITION__"], pa.bool_()),
    "categories": (["b", "a"], pa.dictionary(pa.int32(), pa.string())),
}


@pytest.mark.parametrize("backend", [None, "pyarrow"])
@pytest.mark.parametrize("name", TYPED)
def test_columns_of_folders_have_the_types_that_are_asked_for(tmp_path, name, backend):
    values, kind = TYPED[name]
    partitioning = folders(tmp_path, values)(kind)
    options = {} if backend is None else {"dtype_backend": backend}
    of_categories = pa.types.is_dictionary(kind)  # which PyArrow finds by itself
    expected = pd.read_parquet(tmp_path, partitioning="hive" if of_categories else partitioning, **options)
    dask = {"partitioning": {"flavor": "hive", "schema": partitioning.schema}}
    for given in ({"partitioning": partitioning}, {"dataset": dask}, {"dataset": {"partitioning": partitioning}}):
        lazy = gd.read_parquet(tmp_path, **given, **options)
        assert lazy.npartitions == len(values)
        assert list(lazy.dtypes) == list(expected.dtypes)
        assert_same(lazy.compute(), expected)
    assert_same(lazy[["k"]].compute(), expected[["k"]])
    key = expected.k.iloc[0]
    assert_same(lazy[lazy.k == key].compute(), expected[expected.k == key])
    assert_same(lazy[lazy.k.isna()].x.compute(), expected[expected.k.isna()].x)


def test_filters_are_applied_to_columns_of_folders_of_chosen_types(tmp_path):
    partitioning = folders(tmp_path, ["2020-01-01", "2020-02-01", "2021-01-01"])(pa.date32())
    filters = [("k", ">=", datetime.date(2020, 2, 1))]
    expected = pd.read_parquet(tmp_path, partitioning=partitioning, filters=filters)
    lazy = gd.read_parquet(tmp_path, partitioning=partitioning, filters=filters)
    assert lazy.npartitions == 2
    assert_same(lazy.compute().reset_index(drop=True), expected.reset_index(drop=True))


def test_partitionings_that_cant_be_had_are_named(tmp_path):
    partitioning = folders(tmp_path, ["1", "two"])
    with pytest.raises(OptionError, match=r"the folders' values of 'k' are int16: .*'two'"):
        gd.read_parquet(tmp_path, partitioning=partitioning(pa.int16()))
    other = ds.partitioning(pa.schema([("year", pa.int16())]), flavor="hive")
    with pytest.raises(OptionError, match=r"gives types of \['year'\]; the columns of folders' names are \['k'\]"):
        gd.read_parquet(tmp_path, partitioning=other)
    for given in ({"partitioning": None}, {"partitioning": ["k"]}, {"dataset": {"partitioning": {"flavor": "directory"}}},
                  {"partitioning": ds.partitioning(pa.schema([("k", pa.string())]))}):  # fmt: skip
        with pytest.raises(
            NotImplementedError, match=r"partitioning=.* isn't supported: folders are read by names such as 'year=2024'"
        ):
            gd.read_parquet(tmp_path, **given)
    with pytest.raises(NotImplementedError, match=r"dataset= with \['format'\] isn't supported"):
        gd.read_parquet(tmp_path, dataset={"format": "parquet"})
    with pytest.raises(OptionError, match="dataset=5 should be a dict"):
        gd.read_parquet(tmp_path, dataset=5)
    with pytest.raises(OptionError, match="schema='x' of a partitioning should be a pyarrow.Schema"):
        gd.read_parquet(tmp_path, partitioning={"schema": "x"})
    for given in (
        {"partitioning": "hive"},
        {"dataset": {}},
        {"dataset": {"partitioning": {"flavor": "hive"}}},
        {"dataset": None},
    ):
        assert gd.read_parquet(tmp_path, **given).k.dtype == "category"
