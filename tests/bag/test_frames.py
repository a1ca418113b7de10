"""Bags as frames, and frames as bags."""

from __future__ import annotations

from typing import Any

import glassloom.bag as gb
import glassloom.dataframe as gd
import pandas as pd
import pytest
from glassloom.errors import OptionError

ROWS = [("a", 1.5), ("b", None), ("c", 2.5)]


def test_items_become_rows() -> None:
    expected = pd.DataFrame(ROWS, columns=["name", "x"])
    tuples = gb.from_sequence(ROWS, npartitions=2)
    made = tuples.to_dataframe(columns=["name", "x"]).compute().reset_index(drop=True)
    pd.testing.assert_frame_equal(made, expected)
    dicts = tuples.map(lambda row: {"name": row[0], "x": row[1], "y": 0})
    pd.testing.assert_frame_equal(dicts.to_dataframe(columns=["name", "x"]).compute().reset_index(drop=True), expected)
    assert list(dicts.to_dataframe().columns) == ["name", "x", "y"]
    assert gb.range(5, 3).to_dataframe(columns=["n"]).n.sum().compute() == 10
    given = gb.from_sequence([], npartitions=2).to_dataframe(meta={"n": "int32"})
    assert given.compute().dtypes.to_dict() == {"n": "int32"}


def test_rows_become_items() -> None:
    table = pd.DataFrame(ROWS[::2], columns=["name", "x"], index=pd.Index([7, 9], name="k"))
    frame = gd.from_pandas(table, npartitions=2)
    assert frame.to_bag().compute() == [("a", 1.5), ("c", 2.5)]
    assert frame.to_bag(index=True).compute() == [(7, "a", 1.5), (9, "c", 2.5)]
    assert frame.to_bag(format="dict").compute() == [{"name": "a", "x": 1.5}, {"name": "c", "x": 2.5}]
    assert frame.to_bag(index=True, format="dict").pluck("k").compute() == [7, 9]
    assert frame.x.to_bag().compute() == [1.5, 2.5]
    assert frame.x.to_bag(index=True).compute() == [(7, 1.5), (9, 2.5)]
    assert [len(part) for part in frame.to_bag(format="frame").compute()] == [1, 1]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: gb.range(0, 1).to_dataframe(), ValueError, "without items needs meta="),
        (lambda: gb.range(1, 1).to_dataframe(meta={"n": int}, columns=["n"]), OptionError, "either meta or columns"),
        (lambda: gd.from_dict({"n": [1]}, npartitions=1).to_bag(format="list"), OptionError, "format='list' should be"),
    ],
)
def test_errors_say_what_is_wrong(wrong: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()
