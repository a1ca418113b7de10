"""Values of many types, which stores must give back as they were."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pandas as pd

VALUES = [
    1, "text", None, [1, {"a": (2, 3)}], np.arange(10), np.zeros((0, 3)), np.asfortranarray(np.ones((3, 4))),
    np.array(["a", None], dtype=object), np.array("2020", "M8[Y]"), np.arange(100_000), np.arange(200_000)[::2],
    [np.arange(50_000), np.ones(3)], bytes(10), bytes(100_000), collections.OrderedDict(a=1),
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), pd.DataFrame({"a": np.arange(100_000)}),
]  # fmt: skip


def same(left: Any, right: Any) -> bool:
    if isinstance(left, pd.DataFrame):
        return bool(left.equals(right))
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and bool(np.all(left == right))
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
