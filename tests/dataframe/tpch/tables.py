"""The tables of TPC-H as Parquet files: numbers are floats, days are timestamps, text is plain strings."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ("lineitem", "orders", "customer", "part", "supplier", "partsupp", "nation", "region")


class Tables:
    """The tables of a folder, each read by a function such as `glassloom.dataframe.read_parquet` when it is asked for."""

    def __init__(self, folder: Path, read: Callable[[str], Any], scale: float) -> None:
        self.folder, self.read, self.scale = folder, read, scale

    def __getattr__(self, name: str) -> Any:
        if name not in NAMES:
            raise AttributeError(name)
        return self.read(str(self.folder / f"{name}.parquet"))


def make_tables(folder: Path, scale: float, *, row_group_rows: int) -> Path:
    """Write the tables of a scale factor into a folder and return it. What is there is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in NAMES if not (folder / f"{name}.parquet").exists()]
    if not missing:
        return folder
    with tempfile.TemporaryDirectory(dir=folder) as made:
        tool = Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run([tool, "parquet", "-s", str(scale), "-o", made], check=True, stdout=subprocess.DEVNULL)
        for name in missing:
            _convert(Path(made, f"{name}.parquet"), folder / f"{name}.parquet", row_group_rows)
    return folder


def _convert(source: Path, target: Path, row_group_rows: int) -> None:
    plain = target.with_suffix(".part")
    with pq.ParquetFile(source) as file:
        schema = pa.schema([pa.field(field.name, _plain_type(field.type)) for field in file.schema_arrow])
        with pq.ParquetWriter(plain, schema) as writer:
            for batch in file.iter_batches(batch_size=row_group_rows):
                table = pa.Table.from_batches([batch])
                writer.write_table(pa.table([_cast(table[f.name], f.type) for f in schema], schema=schema))
    plain.rename(target)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_decimal(kind):
        return pa.float64()
    if pa.types.is_date(kind):
        return pa.timestamp("us")
    return pa.string() if "string" in str(kind) else kind


def _cast(column: Any, kind: pa.DataType) -> Any:
    return column.cast(kind)
