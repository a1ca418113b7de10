"""The methods of frames and series that write."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.io import sql, write


class SeriesWriters:
    """What frames and series can be written to."""

    def to_csv(self, path: Any, **options: Any) -> Any:
        """Write one CSV file a partition, or a single one. See `glassloom.dataframe.to_csv`."""
        return write.to_csv(self, path, **options)

    def to_json(self, path: Any, **options: Any) -> Any:
        """Write one JSON file a partition. See `glassloom.dataframe.to_json`."""
        return write.to_json(self, path, **options)

    def to_sql(self, name: str, con: Any, **options: Any) -> Any:
        """Write into a table of a database. See `glassloom.dataframe.to_sql`."""
        return sql.to_sql(self, name, con, **options)

    def to_orc(self, path: Any, **options: Any) -> Any:
        """Write one ORC file a partition. See `glassloom.dataframe.to_orc`."""
        frame = self.to_frame() if isinstance(self._meta, pd.Series) else self  # type: ignore[attr-defined]
        return write.to_orc(frame, path, **options)

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

    def to_parquet(self, path: Any, **options: Any) -> Any:
        """Write one Parquet file a partition. See `glassloom.dataframe.to_parquet`."""
        return write.to_parquet(self, path, **options)
