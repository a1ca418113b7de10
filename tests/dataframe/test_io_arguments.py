"""The arguments of pandas' and Dask's readers and writers, with real files and databases: the results are pandas'."""

import io
import sqlite3
from itertools import product

import glassloom as gl
import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same
from glassloom.errors import DivisionError, MetaError, OptionError, ReadError

ROWS = pd.DataFrame(
    {
        "a": range(60),
        "s": [f"n{n % 3}" for n in range(60)],
        "f": np.arange(60) / 3,
        "t": pd.date_range("2020-01-01", periods=60),
    }
)
LINES = [f"{n},{n * 1.5},name {n % 7},2020-01-{n % 28 + 1:02d},{'yes' if n % 2 else 'no'}" for n in range(200)]


def lazy(npartitions=3):
    return gd.from_pandas(ROWS, npartitions=npartitions)


def same(found, expected, **options):
    pd.testing.assert_frame_equal(found.compute().reset_index(drop=True), expected.reset_index(drop=True), **options)


@pytest.fixture
def texts(tmp_path):
    """A folder of text files for readers of CSV."""
    plain = "\n".join(["a,b,c,d,e", *LINES]) + "\n"
    (tmp_path / "plain.csv").write_text(plain)
    (tmp_path / "comments.csv").write_text("\n\n# of 2020\n" + plain)
    (tmp_path / "german.csv").write_text("a;b\n" + "".join(f"{n},5;1.{n:03d},0\n" for n in range(200)))
    (tmp_path / "latin.csv").write_text("a,b\n" + "".join(f"{n},caf\xe9\n" for n in range(200)), encoding="latin-1")
    (tmp_path / "bad.csv").write_text("a,b\n" + "".join(f"{n},1{',2' * (n == 50)}\n" for n in range(200)))
    return tmp_path


@pytest.mark.each_choice
@pytest.mark.parametrize("blocksize", [None, 1000])
@pytest.mark.parametrize(
    "options",
    [
        {"index_col": "a"},
        {"index_col": 0},
        {"index_col": -1},
        {"index_col": ["c", "a"]},
        {"index_col": [0, 2]},
        {"index_col": "d", "parse_dates": True},
        {"index_col": 3, "parse_dates": ["d"]},
        {"index_col": 0, "usecols": ["b", "c"]},
        {"index_col": "c", "dtype": {"c": "category"}},
        {"index_col": 0, "header": None, "skiprows": 1},
        {"index_col": 0, "nrows": 7},
        {"nrows": 120},
        {"nrows": 0},
        {"nrows": 3, "parse_dates": [3]},
    ],
)
def test_csv_gets_labels_and_ends_as_in_pandas(texts, options, blocksize):
    expected = pd.read_csv(texts / "plain.csv", **options)
    found = gd.read_csv(texts / "plain.csv", blocksize=blocksize, **options)
    assert found.npartitions == (1 if blocksize is None or "nrows" in options else 7)
    computed = found.compute()
    if "index_col" not in options:
        computed = computed.reset_index(drop=True)
    pd.testing.assert_frame_equal(computed, expected)
    assert found._meta.index.names == expected.index.names and found._meta.index.nlevels == expected.index.nlevels
    if len(expected):
        one = [expected.columns[-1]]
        pd.testing.assert_frame_equal(found[one].compute().reset_index(drop=True), expected[one].reset_index(drop=True))
        assert found.index.compute().equals(found[one].compute().index)


def test_labels_that_pandas_has_written_have_no_name(tmp_path):
    ROWS.set_index("s")[["a"]].rename_axis(None).to_csv(tmp_path / "a.csv")
    found = gd.read_csv(tmp_path / "a.csv", index_col=0, blocksize=100)
    assert found.npartitions > 2 and found.index.name is None
    pd.testing.assert_frame_equal(found.compute(), pd.read_csv(tmp_path / "a.csv", index_col=0))
    pd.testing.assert_frame_equal(found[["a"]].compute(), pd.read_csv(tmp_path / "a.csv", index_col=0))


def test_labels_beside_names_of_fewer_columns_are_those_of_pandas(tmp_path):
    (tmp_path / "one.csv").write_text("".join(f"{number}\n" for number in range(30)))
    (tmp_path / "two.csv").write_text("".join(f"{number},{number * 2}\n" for number in range(30)))
    for file, options in product(("one", "two"), ({}, {"index_col": 0}, {"index_col": "p"}, {"index_col": False})):
        path = tmp_path / f"{file}.csv"
        if file == "two" and options.get("index_col") == "p":
            for read in (pd.read_csv, gd.read_csv):
                with pytest.raises(KeyError):
                    read(path, names=["p"], **options)
            continue
        found = gd.read_csv(path, names=["p"], blocksize=30, **options).compute()
        expected = pd.read_csv(path, names=["p"], **options)
        has_labels = expected.shape[1] == 0 or (file == "two" and options.get("index_col") is not False)
        assert_same(found if has_labels else found.reset_index(drop=True), expected)


def test_times_given_by_the_place_of_their_column_stay_times_where_fewer_columns_are_read(texts):
    found = gd.read_csv(texts / "plain.csv", blocksize=1000, parse_dates=[3])[["d"]]
    same(found, pd.read_csv(texts / "plain.csv", parse_dates=[3])[["d"]])


def test_labels_and_ends_of_csv_that_cant_be_are_named(texts):
    with pytest.raises(
        ValueError, match=r"index_col='z': Index z invalid; the columns are \['a', 'b', 'c', 'd', 'e'\]"
    ):
        gd.read_csv(texts / "plain.csv", index_col="z")
    with pytest.raises(OptionError, match=r"read_csv can't take nrows=3 of 2 files: call head\(\) on the frame"):
        gd.read_csv([texts / "plain.csv", texts / "plain.csv"], nrows=3)
    with pytest.raises(
        OptionError, match=r"with skiprows=\[1, 3\] and header='infer' files can't be cut; set blocksize=None"
    ):
        gd.read_csv(texts / "plain.csv", skiprows=[1, 3], blocksize=1000)
    same(
        gd.read_csv(texts / "plain.csv", skiprows=[1, 3], blocksize=None),
        pd.read_csv(texts / "plain.csv", skiprows=[1, 3]),
    )
    with pytest.raises(OptionError, match=r"read_csv can't take iterator=True: .* frame.partitions and to_delayed"):
        gd.read_csv(texts / "plain.csv", iterator=True)


@pytest.mark.each_choice
@pytest.mark.parametrize("blocksize", [None, 1000, "default"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("plain", {"usecols": ["c", "a"]}),
        ("plain", {"usecols": [0, 2]}),
        ("plain", {"dtype": {"a": "float32", "c": "category"}}),
        ("plain", {"parse_dates": ["d"], "date_format": "%Y-%m-%d"}),
        ("plain", {"true_values": ["yes"], "false_values": ["no"]}),
        ("plain", {"converters": {"a": lambda text: int(text) + 1}}),
        ("plain", {"skiprows": 1, "header": None, "names": list("vwxyz")}),
        ("plain", {"na_values": {"c": ["name 3"]}}),
        ("plain", {"na_values": ["no"], "keep_default_na": False}),
        ("plain", {"dtype_backend": "pyarrow"}),
        ("plain", {"dtype_backend": "numpy_nullable"}),
        ("plain", {"engine": "python"}),
        ("plain", {"engine": "pyarrow", "usecols": ["a", "b"]}),
        ("plain", {"low_memory": False, "memory_map": True}),
        ("comments", {"comment": "#"}),
        ("comments", {"comment": "#", "header": 1}),
        ("comments", {"skiprows": 3}),
        ("german", {"sep": ";", "decimal": ",", "thousands": "."}),
        ("latin", {"encoding": "latin-1"}),
        ("latin", {"encoding_errors": "replace"}),
        ("bad", {"on_bad_lines": "skip"}),
    ],
)
def test_csv_is_read_as_pandas_reads_it(texts, name, options, blocksize):
    path = texts / f"{name}.csv"
    same(gd.read_csv(path, blocksize=blocksize, **options), pd.read_csv(path, **options))


def test_files_are_called_as_pandas_and_dask_call_them(texts):
    plain = str(texts / "plain.csv")
    for options in (
        {"filepath_or_buffer": plain},
        {"urlpath": plain, "sample": 1000, "sample_rows": 3, "enforce": False},
    ):
        assert len(gd.read_csv(**options)) == 200
    with pytest.raises(TypeError, match="got urlpath= and path=, which are the same"):
        gd.read_csv(path=plain, urlpath=plain)


@pytest.mark.parametrize(
    "options",
    [
        {"sep": ";", "index": False},
        {"na_rep": "NA", "float_format": "%.2f"},
        {"columns": ["a", "s"], "header": ["x", "y"]},
        {"index_label": "row", "date_format": "%d.%m"},
        {"quoting": 1, "decimal": ","},
        {"encoding": None, "lineterminator": "\r\n"},
        {"escapechar": "\\", "doublequote": False, "quotechar": "'"},
        {"encoding": "latin-1", "errors": "ignore", "chunksize": 5},
    ],
)
def test_csv_is_written_as_pandas_writes_it(tmp_path, options):
    lazy().to_csv(tmp_path / "ours.csv", single_file=True, **options)
    ROWS.to_csv(tmp_path / "theirs.csv", **options)
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "theirs.csv").read_bytes()


def test_text_that_an_encoding_lacks_is_left_out_where_asked(tmp_path):
    frame = gd.from_dict({"x": ["caf\xe9 \u4e2d"]}, npartitions=1)
    frame.to_csv(tmp_path / "a.csv", single_file=True, index=False, encoding="latin-1", errors="ignore")
    assert (tmp_path / "a.csv").read_bytes() == b"x\ncaf\xe9 \n"


def test_writers_need_a_path_and_say_how_to_get_text(tmp_path):
    for path in (None, io.StringIO()):
        with pytest.raises(
            TypeError, match=r"should be the path of a folder or a file; for text or a buffer: compute\(\).to_csv"
        ):
            lazy().to_csv(path)
    with pytest.raises(
        NotImplementedError, match=r"to_csv\(scheduler='threads'\) isn't supported: give compute_kwargs="
    ):
        lazy().to_csv(tmp_path, scheduler="threads")


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": {"a": "float32"}},
        {"convert_dates": ["t"]},
        {"convert_dates": False},
        {"precise_float": True, "encoding": "utf-8", "errors": "strict"},
        {"dtype_backend": "pyarrow"},
        {"dtype_backend": "numpy_nullable", "engine": "ujson"},
    ],
)
def test_json_is_read_as_pandas_reads_it(tmp_path, options):
    path = tmp_path / "a.json"
    ROWS.to_json(path, orient="records", lines=True, date_format="iso")
    theirs = {("encoding_errors" if name == "errors" else name): value for name, value in options.items()}
    found = gd.read_json(path_or_buf=path, lines=True, blocksize=900, **options)
    assert found.npartitions > 2
    same(found, pd.read_json(path, orient="records", lines=True, **theirs))


def test_json_in_other_forms_is_written_and_read(tmp_path):
    for orient in ("split", "columns", "records"):
        lazy().to_json(
            filename=tmp_path / orient, orient=orient, lines=False, date_format="iso", date_unit="s", double_precision=3
        )
        part = pd.read_json(min((tmp_path / orient).iterdir()), orient=orient)
        assert part.equals(
            pd.read_json(
                io.StringIO(ROWS[:20].to_json(orient=orient, date_format="iso", date_unit="s", double_precision=3)),
                orient=orient,
            )
        )
    with pytest.raises(NotImplementedError, match=r"read_json\(typ='series'\)"):
        gd.read_json(tmp_path / "records", typ="series")


def test_the_first_rows_of_json_may_be_in_several_blocks(tmp_path):
    plain = pd.DataFrame({"x": [1, 2.5, 3, 4], "flag": pd.Series([True, None, False, True], dtype=object)})
    plain.to_json(tmp_path / "a.json", orient="records", lines=True)
    lazy = gd.read_json(tmp_path / "a.json", blocksize=10)
    assert lazy.npartitions > 2
    same(lazy, pd.read_json(tmp_path / "a.json", lines=True))


def test_orc_of_a_series_and_dtypes_of_orc(tmp_path):
    lazy().a.to_orc(tmp_path / "series", index=False)
    assert gd.read_orc(tmp_path / "series").a.compute().tolist() == list(range(60))
    assert gd.read_orc(tmp_path / "series", ["a"], "pyarrow").dtypes.tolist() == [pd.ArrowDtype(pa.int64())]
    found = gd.read_orc(tmp_path / "series", dtype_backend="numpy_nullable", aggregate_files=False)
    assert found.compute().a.dtype == found.a.dtype == pd.Int64Dtype()
    with pytest.raises(OptionError, match="dtype_backend='x'"):
        gd.read_orc(tmp_path / "series", dtype_backend="x")


def test_parquet_takes_the_words_of_pandas_and_dask(tmp_path):
    lazy().to_parquet(
        tmp_path / "hive", partition_cols=["s"], schema="infer", compression="default", write_metadata_file=False
    )
    assert sorted(path.name for path in (tmp_path / "hive").iterdir()) == ["s=n0", "s=n1", "s=n2"]
    lazy().to_parquet(tmp_path / "plain", index=False, engine="pyarrow", compute_kwargs={})
    options = {
        "calculate_divisions": True,
        "ignore_metadata_file": False,
        "metadata_task_size": None,
        "blocksize": "default",
    }
    same(gd.read_parquet(tmp_path / "plain", parquet_file_extension=".parquet", **options), ROWS)
    same(
        gd.read_parquet(tmp_path / "plain", ignore_metadata_file=True, metadata_task_size=8, partitioning="hive"), ROWS
    )
    with pytest.raises(
        NotImplementedError, match=r"read_parquet\(partitioning=.*isn't supported: folders are read by names"
    ):
        gd.read_parquet(tmp_path / "hive", dataset={"partitioning": {"flavor": "filename", "schema": None}})
    with pytest.raises(TypeError, match="unexpected keyword argument 'colums'"):
        gd.read_parquet(tmp_path / "plain", colums=["a"])


@pytest.fixture
def database(tmp_path):
    file = str(tmp_path / "a.db")
    with sqlite3.connect(file) as connection:
        ROWS.to_sql("t", connection, index=False)
    connection.close()
    return file


def stored(database, query="SELECT * FROM t", **options):
    connection = sqlite3.connect(database)
    try:
        return pd.read_sql_query(query, connection, index_col="a", **options)
    finally:
        connection.close()


@pytest.mark.parametrize(
    "options",
    [
        {"parse_dates": ["t"]},
        {"parse_dates": {"t": "%Y-%m-%d %H:%M:%S"}},
        {"dtype": {"f": "float32"}},
        {"dtype_backend": "pyarrow"},
        {"dtype_backend": "numpy_nullable", "coerce_float": True, "chunksize": None},
    ],
)
def test_queries_are_read_as_pandas_reads_them(database, options):
    found = gd.read_sql_query("SELECT * FROM t", database, "a", npartitions=3, head_rows=7, **options)
    pd.testing.assert_frame_equal(found.compute(), stored(database, **options))
    columns = found[["f"]]
    pd.testing.assert_frame_equal(columns.compute(), stored(database, **options)[["f"]])


def test_queries_have_parameters(database):
    query = "SELECT * FROM t WHERE f > :least AND s = :name"
    found = gd.read_sql(query, database, "a", params={"least": 5, "name": "n1"}, npartitions=2)
    pd.testing.assert_frame_equal(found.compute(), stored(database, "SELECT * FROM t WHERE f > 5 AND s = 'n1'"))
    for params in ([1], {"low": 1}):
        with pytest.raises(
            NotImplementedError, match="give a dict of the values of :name in the query; low and high are taken"
        ):
            gd.read_sql_query(query, database, "a", params=params)


def test_tables_are_cut_by_times(database):
    found = gd.read_sql_table("t", database, "t", npartitions=3, parse_dates=["t"], columns=["f"])
    assert found.divisions[0] == ROWS.t.iloc[0] and found.known_divisions
    pd.testing.assert_frame_equal(found.compute(), ROWS.set_index("t")[["f"]], check_index_type=False, check_freq=False)


def test_connections_to_files_are_taken_by_their_path(database):
    connection = sqlite3.connect(database)
    try:
        assert len(gd.read_sql_table("t", connection, "a")) == 60
        assert gd.to_sql(df=lazy(), name="copy", uri=connection, index=False) is None
        assert len(gd.read_sql("copy", connection, "a", columns=["f"])) == 60
    finally:
        connection.close()
    with (
        sqlite3.connect(":memory:") as memory,
        pytest.raises(TypeError, match="got a Connection to neither, which tasks"),
    ):
        gd.read_sql_table("t", memory, "a")
    memory.close()


def test_options_of_tables_and_queries_are_told_apart(database):
    with pytest.raises(TypeError, match=r"read_sql\(params=\) goes with a query"):
        gd.read_sql("t", database, "a", params={"x": 1})
    with pytest.raises(TypeError, match=r"read_sql\(columns=\) goes with the name of a table"):
        gd.read_sql("SELECT * FROM t", database, "a", columns=["f"])
    with pytest.raises(NotImplementedError, match=r"read_sql\(chunksize=5\) isn't supported: set npartitions"):
        gd.read_sql("t", database, "a", chunksize=5)
    with pytest.raises(OptionError, match="head_rows=0 should be 1 or more"):
        gd.read_sql_table("t", database, "a", head_rows=0)


def test_arrays_in_memory_are_cut_into_partitions():
    values = np.arange(20.0).reshape(10, 2)
    frame = gd.from_array(arr=values, chunksize=4, columns=["x", "y"])
    assert frame.npartitions == 3 and frame.divisions == (0, 4, 8, 9)
    pd.testing.assert_frame_equal(frame.compute(), pd.DataFrame(values, columns=["x", "y"]))
    assert gd.from_array(np.zeros(120_000)).npartitions == 3
    assert gd.from_array(ga.ones(10, chunks=2), chunksize=5).npartitions == 2
    labels = gd.from_pandas(pd.Series(range(10), index=pd.Index(list("abcdefghij"), name="l")), npartitions=2).index
    named = gd.from_dask_array(ga.ones(10, chunks=5), columns="one", index=labels)
    assert named.compute().to_dict() == dict.fromkeys("abcdefghij", 1.0) and named.divisions == labels.divisions
    with pytest.raises(DivisionError, match="a lazy index of 5 partitions"):
        gd.from_array(ga.ones(10, chunks=2), index=labels)
    with pytest.raises(TypeError, match="give names as columns="):
        gd.from_array(values, ["x", "y"])


def test_arrays_of_records_become_frames_of_their_fields():
    values = np.array([(1, 0.5, "u"), (2, 1.5, "v"), (3, 2.5, "w")], dtype=[("n", "i4"), ("x", "f8"), ("t", "U1")])
    lazy = gd.from_array(values, chunksize=2)
    assert lazy.divisions == (0, 2, 2)
    pd.testing.assert_frame_equal(
        lazy.compute(), pd.DataFrame({name: values[name] for name in "nxt"}), check_index_type=False
    )
    chosen = gd.from_array(ga.asarray(values, chunks=2), columns=["x", "n"])
    pd.testing.assert_frame_equal(chosen.compute(), pd.DataFrame(values)[["x", "n"]])
    with pytest.raises(ValueError, match=r"the records have no fields \['z'\]; they have \['n', 'x', 't'\]"):
        gd.from_array(values, columns=["x", "z"])


def test_a_list_of_one_name_makes_a_frame_of_an_array_with_one_axis():
    made = gd.from_array(ga.arange(4, chunks=2), columns=["n"])
    pd.testing.assert_frame_equal(made.compute(), pd.DataFrame({"n": np.arange(4)}))
    with pytest.raises(ValueError, match="has 2 names for 1 columns"):
        gd.from_array(ga.arange(4, chunks=2), columns=["n", "m"])
    for method in ("to_array", "to_records"):
        with pytest.raises(OptionError, match="lengths=5 should be a list of the partitions' numbers of rows, or True"):
            getattr(made, method)(lengths=5)


def test_delayed_frames_and_functions_may_differ_from_their_meta_where_asked():
    make = gl.delayed(lambda n: pd.DataFrame({"x": [n], "y": [n]}))
    lax = gd.from_delayed(dfs=[make(1), make(2)], meta={"x": "int64"}, prefix="parts", verify_meta=False)
    assert lax.compute().columns.tolist() == ["x", "y"]
    with pytest.raises(MetaError, match="returned the columns"):
        gd.from_delayed([make(1)], meta={"x": "int64"}).compute()

    def rows(n, scale, shift=0):
        return pd.DataFrame({"x": [n * scale + shift]})

    found = gd.from_map(rows, [1, 2], args=[10], shift=1, label="rows")
    assert found.x.compute().tolist() == [11, 21]
    assert gd.from_map(
        rows, [1], args=[10], meta={"z": "int64"}, enforce_metadata=False
    ).compute().columns.tolist() == ["x"]


def test_functions_of_dask_are_there():
    frame = lazy()
    assert gd.concat(dfs=[frame, frame], ignore_order=True).npartitions == 6
    assert gd.map_partitions(len, frame, meta=("n", "int64")).compute().tolist() == [20, 20, 20]
    assert gd.map_overlap(lambda part: part.shift(), frame[["a"]], 1, 0).compute().a.iloc[20] == 19
    assert gd.repartition(ROWS, divisions=[0, 30, 59]).npartitions == 2
    assert gd.to_bag(frame.a).compute()[:3] == [0, 1, 2]
    assert gd.to_records(frame[["a"]], index=False).compute()[0].item() == (0,)
    assert gd.compute(frame.a.sum(), frame.a.max()) == (1770, 59)
    assert gd.isna(arg=frame.a).sum().compute() == 0
    assert gd.melt(frame, "a", "f").compute().equals(ROWS.melt("a", "f"))
    pivoted = gd.pivot_table(frame.categorize("s"), "f", "a", "s").compute()
    assert pivoted.shape == (60, 3)
    assert (
        gd.to_datetime(frame.t.astype(str), exact=True, cache=False)
        .compute()
        .equals(ROWS.t.astype(str).pipe(pd.to_datetime))
    )
    assert gd.to_numeric(frame.a.astype(str), dtype_backend="pyarrow").dtype == "int64[pyarrow]"
    with pytest.raises(TypeError, match="needs a lazy frame, series or index after the function"):
        gd.map_partitions(len, ROWS.to_numpy())


@pytest.fixture
def table_file(tmp_path):
    file = tmp_path / "t.db"
    connection = sqlite3.connect(file)
    pd.DataFrame({"id": range(20), "x": range(20), 'we"ird; --': range(20)}).to_sql("t", connection, index=False)
    connection.close()
    return file


def test_columns_that_a_table_lacks_are_an_error_and_never_text(table_file):
    with pytest.raises(KeyError, match="no column 'zz'"):
        gd.read_sql_table("t", table_file, "id", columns=["zz"])
    with pytest.raises(OptionError, match=r"columns=\['x', 'x'\] names a column twice"):
        gd.read_sql_table("t", table_file, "id", columns=["x", "x"])
    meta = pd.DataFrame(
        {"x": pd.Series([], dtype="int64"), "zz": pd.Series([], dtype="str")}, index=pd.Index([], name="id")
    )
    with pytest.raises(ReadError, match=r"no such column: q\.zz"):  # SQLite takes "zz" for a text
        gd.read_sql_table("t", table_file, "id", meta=meta).compute()
    found = gd.read_sql_table("t", table_file, 'we"ird; --', columns=["x"], npartitions=3).compute()
    assert found.x.tolist() == list(range(20)) and found.index.name == 'we"ird; --'


def test_queries_may_end_with_a_comment(table_file):
    found = gd.read_sql_query("select id, x from t -- all of them", table_file, "id", npartitions=2)
    assert found.x.sum().compute() == 190


def test_databases_that_are_not_there_are_not_made_by_reading(tmp_path, table_file):
    with pytest.raises(FileNotFoundError, match=r"database '.*none\.db' doesn't exist"):
        gd.read_sql_table("t", tmp_path / "none.db", "id")
    lazy = gd.read_sql_table("t", table_file, "id")
    table_file.unlink()
    with pytest.raises(FileNotFoundError, match=r"database '.*t\.db' doesn't exist"):
        lazy.compute()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"npartitions": 0}, "npartitions=0 should be a whole number, 1 or more"),
        ({"npartitions": -1}, "npartitions=-1 should be a whole number, 1 or more"),
        ({"npartitions": "many"}, "npartitions='many' should be a whole number, 1 or more"),
        ({"bytes_per_chunk": 0}, "bytes_per_chunk=0 should be at least 1 byte"),
    ],
)
def test_numbers_of_partitions_of_a_table_are_checked(table_file, options, message):
    with pytest.raises(OptionError, match=message):
        gd.read_sql_table("t", table_file, "id", **options)


@pytest.mark.parametrize("method", ["to_csv", "to_json"])
def test_adding_to_files_says_what_to_do_instead(tmp_path, method):
    for mode in ("a", "at"):
        with pytest.raises(
            NotImplementedError,
            match=rf"{method}\(mode='{mode}'\): nothing is added to several files, which are replaced",
        ):
            getattr(lazy(), method)(tmp_path / "o", mode=mode)
    with pytest.raises(OptionError, match=rf"{method}: mode='q' should be 'w'"):
        getattr(lazy(), method)(tmp_path / "o", mode="q")
    assert not (tmp_path / "o").exists()


def test_a_column_names_folders_once(tmp_path):
    with pytest.raises(OptionError, match=r"partition_on=\['s', 's'\] names a column twice"):
        lazy().to_parquet(tmp_path / "o", partition_on=["s", "s"])
