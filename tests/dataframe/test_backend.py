"""pandas objects as results: their size and tokens, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from frame_helpers import frames
from glassloom.backends.pandas_ import concat, sample
from glassloom.backends.sizeof import sizeof
from glassloom.graph import tokenize
from hypothesis import given


def test_importing_glassloom_imports_neither_pandas_nor_arrow():
    code = "import glassloom, sys; print([name for name in ('pandas', 'pyarrow') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@given(frames())
def test_tokens_follow_the_content_not_the_memory(frame):
    again = pd.concat([frame.iloc[:, :3], frame.iloc[:, 3:]], axis=1)
    assert tokenize(frame) == tokenize(again) == tokenize(frame.copy())
    assert tokenize(frame) != tokenize(frame.rename(columns={"i": "j"}))
    assert tokenize(frame) != tokenize(frame.assign(i=frame.i + 1)) or not len(frame)
    assert tokenize(frame.i) != tokenize(frame.i.astype("float64"))
    assert tokenize(frame.c) != tokenize(frame.c.astype(object))
    twice = pd.concat([frame, frame])
    assert tokenize(twice.iloc[: len(frame)].s.array) == tokenize(frame.s.array)


@pytest.mark.parametrize(
    "array",
    [
        pd.interval_range(0, 3).array,
        pd.arrays.SparseArray([0.0, 0.0, 1.0]),
        pd.array(["a", "b", None], dtype="string[python]"),
        pd.array([1, 2, None], dtype="Int64"),
        pd.period_range("2020", periods=3, freq="M").array,
    ],
    ids=lambda array: str(array.dtype),
)
def test_tokens_of_an_array_are_one_whoever_may_write_to_it(array):
    labels = pd.Index(array)
    alike = [array, array.copy(), array[:], pd.Series(array).array, labels.array, labels[:].array]
    assert len(set(map(tokenize, alike))) == 1
    assert tokenize(array) != tokenize(array[::-1])
    assert len({tokenize(one) for one in (pd.Series(array), pd.Series(labels), pd.Series(array).copy())}) == 1


def test_sizes_are_those_of_the_data():
    numbers = pd.DataFrame({"x": np.zeros(100_000), "y": np.zeros(100_000, "int32")})
    assert sizeof(numbers) == pytest.approx(1_200_000, rel=0.01)
    assert sizeof(numbers.x) == pytest.approx(800_000, rel=0.01)
    words = pd.DataFrame({"s": np.array(["word" * 10] * 10_000, dtype=object)})
    assert sizeof(words) == pytest.approx(words.memory_usage(deep=True).sum(), rel=0.2)
    assert sizeof(pd.RangeIndex(10**9)) < 1000
    assert sizeof(pd.Series(["abc"] * 1000)) > 3000


@given(frames())
def test_samples_have_two_rows_of_the_same_dtypes(frame):
    made = sample(frame[:0])
    assert len(made) == 2
    assert made.dtypes.tolist() == frame.dtypes.tolist()
    assert made.index.dtype == frame.index.dtype and made.index.name == frame.index.name


@pytest.mark.parametrize("levels", [1, 2])
def test_joined_blocks_keep_categories_in_the_index(levels):
    def block(letters):
        labels = [pd.Categorical(list(letters)), range(len(letters))][:levels]
        return pd.DataFrame({"x": 1}, index=pd.MultiIndex.from_arrays(labels) if levels > 1 else labels[0])

    joined = concat([block("ba"), block("c"), block("ad")])
    found = joined.index.get_level_values(0)
    assert found.dtype == pd.CategoricalDtype(list("abcd"))
    assert list(found) == list("bacad")
    of_series = concat([block("ba").x, block("c").x]).index.get_level_values(0)
    assert of_series.dtype == pd.CategoricalDtype(list("abc"))
