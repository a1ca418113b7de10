"""The methods of frames and series that write."""

from __future__ import annotations

from typing import Any

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

    def to_bag(self, *_: Any, **__: Any) -> Any:
        """Not there: there are no bags."""
        raise NotImplementedError("to_bag: there are no bags; to_delayed() gives the partitions one by one")


class FrameWriters(SeriesWriters):
    """What frames alone can be written to."""

    def to_parquet(self, path: Any, **options: Any) -> Any:
        """Write one Parquet file a partition. See `glassloom.dataframe.to_parquet`."""
        return write.to_parquet(self, path, **options)

    def to_orc(self, path: Any, **options: Any) -> Any:
        """Write one ORC file a partition. See `glassloom.dataframe.to_orc`."""
        return write.to_orc(self, path, **options)
