"""Columns that are called True and False: where names are asked for, booleans are names, and in subscripts a condition, as in pandas."""

from __future__ import annotations

import pandas as pd
import pytest
from frame_helpers import check_in_parts

FRAME = pd.DataFrame({"a": [1, 2, 3, 1, 2, 3], "b": [0.5, 1, 2, 3, 4, 5]}).set_axis([True, False], axis=1)
OPERATIONS = {
    "filter": lambda f: f.filter(items=[False]),
    "value_counts": lambda f: f.value_counts([True]),
    "agg": lambda f: f.agg({True: "sum"}),
    "agg, lists": lambda f: f.agg({False: ["sum", "max"]}),
    "agg of groups": lambda f: f.groupby(True).agg({False: ["sum", "max"]}),
    "transform": lambda f: f.transform({True: "sqrt"}),
    "reindex": lambda f: f.reindex(columns=[False, True]),
    "drop_duplicates": lambda f: f.drop_duplicates([True]),
    "sort_values": lambda f: f.sort_values([True, False]),
}


@pytest.mark.more
@pytest.mark.parametrize("name", OPERATIONS)
def test_booleans_are_names_of_columns(name):
    check_in_parts(FRAME, OPERATIONS[name])


@pytest.mark.more
def test_booleans_in_a_subscript_are_a_condition():
    check_in_parts(FRAME, lambda f: f[[True, False] * 3])
    check_in_parts(FRAME, lambda f: f[True])
