"""Which dtypes pandas has for Arrow's types, for each of its backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from glassloom.backends.pandas_options import infers_text
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

_KNOWS_TEXT = int(pa.__version__.partition(".")[0]) >= 19
"""Whether PyArrow makes the text of pandas 3: before version 19 it makes objects."""


def is_plain_text(kind: pa.DataType) -> bool:
    """Whether a type is text of any width of offsets."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _text_type(kind: pa.DataType) -> Any:
    return pd.StringDtype(na_value=np.nan) if is_plain_text(kind) else None


def _nullable_type(kind: pa.DataType) -> Any:
    if is_plain_text(kind):
        return pd.StringDtype()
    return _NULLABLE.get(str(kind))


_NULLABLE: dict[str, Any] = {
    "bool": pd.BooleanDtype(), "int8": pd.Int8Dtype(), "int16": pd.Int16Dtype(), "int32": pd.Int32Dtype(),
    "int64": pd.Int64Dtype(), "uint8": pd.UInt8Dtype(), "uint16": pd.UInt16Dtype(), "uint32": pd.UInt32Dtype(),
    "uint64": pd.UInt64Dtype(), "float": pd.Float32Dtype(), "double": pd.Float64Dtype(),
}  # fmt: skip
TYPES_MAPPERS: dict[str | None, Callable[[pa.DataType], Any] | None] = {
    None: _text_type if HAS_COPY_ON_WRITE and not _KNOWS_TEXT else None,
    "pyarrow": pd.ArrowDtype,
    "numpy_nullable": _nullable_type,
}
"""What `pyarrow.Table.to_pandas` asks for a dtype, by the name of the backend; None: it chooses itself."""


def to_pandas(table: pa.Table, backend: str | None) -> pd.DataFrame:
    """Return a table as a frame. PyArrow makes text of pandas 3 even if the option ``future.infer_string`` says that pandas shall not."""
    frame: pd.DataFrame = table.to_pandas(use_threads=False, types_mapper=TYPES_MAPPERS[backend])
    if backend is not None or not HAS_COPY_ON_WRITE or infers_text():
        return frame
    for place, dtype in enumerate(frame.dtypes):
        column: Any = frame.iloc[:, place]
        if is_text_of_pandas_3(dtype):
            frame.isetitem(place, column.astype("object").fillna(None))
        elif isinstance(dtype, pd.CategoricalDtype) and is_text_of_pandas_3(dtype.categories.dtype):
            frame.isetitem(place, column.cat.set_categories(dtype.categories.astype("object")))
    return frame


def is_text_of_pandas_3(dtype: Any) -> bool:
    """Whether a dtype is the text that pandas 3 makes by default."""
    return isinstance(dtype, pd.StringDtype) and dtype.na_value is np.nan
