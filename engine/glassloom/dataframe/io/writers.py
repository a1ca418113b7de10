"""The methods of frames and series that write."""

from __future__ import annotations

from typing import Any

from glassloom.dataframe.arguments import as_method, with_function_arguments
from glassloom.dataframe.io import sql_writing, write, write_text
from glassloom.dataframe.wrap import require_lazy


@with_function_arguments()
def to_bag(frame: Any, index: bool = False, format: str = "tuple") -> Any:
    """Return a bag of the rows of a frame, or of the values of a series. See `DataFrame.to_bag`."""
    require_lazy("to_bag", frame, pandas=False)
    return frame.to_bag(index, format)


@with_function_arguments()
def to_records(frame: Any, **options: Any) -> Any:
    """Return the rows of a frame as a lazy array of records. See `DataFrame.to_records`."""
    require_lazy("to_records", frame, pandas=False)
    return frame.to_records(**options)


class SeriesWriters:
    """What frames and series can be written to."""

    to_csv = as_method(write_text.to_csv)
    to_json = as_method(write_text.to_json)
    to_orc = as_method(write.to_orc)
    to_sql = as_method(sql_writing.to_sql)

    def to_bag(self, index: bool = False, format: str = "tuple") -> Any:
        """Return a bag of the rows of a frame, or of the values of a series.

        Parameters
        ----------
        index
            Whether the rows have their labels too: at the first place of a tuple, or under the index's name.
        format
            What a row becomes: ``"tuple"`` or ``"dict"``; ``"frame"``: each partition is one item, as it is.

        Returns
        -------
        glassloom.bag.Bag

        Examples
        --------
        >>> import glassloom.dataframe as gd
        >>> gd.from_dict({"n": [1, 2]}, npartitions=1).to_bag(format="dict").compute()
        [{'n': 1}, {'n': 2}]
        """
        from glassloom.bag.frames import from_dataframe  # bags stand on frames: they read files as frames do

        return from_dataframe(self, index, format)


class FrameWriters(SeriesWriters):
    """What frames alone can be written to."""

    to_parquet = as_method(write.to_parquet)
