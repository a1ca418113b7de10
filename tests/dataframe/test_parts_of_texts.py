"""Parts of texts, and what regular expressions match in them, found by Arrow: as pandas finds them, and where that isn't sure by pandas."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import glassloom.dataframe as gd
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe import accessors
from glassloom.dataframe.arrow.regular_expressions import is_plain, translated
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 text is objects")
TEXTS = st.lists(
    st.none() | st.text(st.sampled_from(list("ab12 -,_.\t\n")) | st.sampled_from("é\x0b\x1c\x85"), max_size=7),
    min_size=1,
    max_size=9,
)
SEPARATORS: list[Any] = [
    None,
    " ",
    "-",
    "ab",
    "a",
    ", ",
    ".",
    "--",
    "aa",
    "",
    r"\s+",
    r"\d",
    "[a-b]+",
    r"\s*-\s*",
    "a|b",
    "(a)",
]
SEPARATORS += [r"\b", "a*", r"[^\w]+", r"\d$", "^a", re.compile("A", re.I)]
ASKED: dict[str, Callable[[Any], Any]] = {
    "first": lambda parts: parts.str[0],
    "second": lambda parts: parts.str.get(1),
    "last": lambda parts: parts.str[-1],
    "none": lambda parts: parts.str[9],
    "count": lambda parts: parts.str.len(),
    "rows": lambda parts: parts.explode(),
}


def _one_partition(series: pd.Series) -> Any:
    return gd.from_pandas(series, npartitions=1, sort=False)


@given(texts=TEXTS, dtype=st.sampled_from(["str", "string"]), pat=st.sampled_from(SEPARATORS), n=st.sampled_from([-1, 0, 1, 2]),
       regex=st.sampled_from([None, None, True, False]), asked=st.sampled_from(list(ASKED)))  # fmt: skip
def test_what_is_asked_of_parts_is_as_pandas_has_it(
    texts: list[str | None], dtype: Any, pat: Any, n: int, regex: bool | None, asked: str
) -> None:
    series = pd.Series(texts, index=[place % 3 for place in range(len(texts))], name="q", dtype=dtype)
    try:
        expected = ASKED[asked](series.str.split(pat, n=n, regex=regex))
    except (ValueError, AttributeError, TypeError):  # no separator; no text at all
        return
    assert_same(ASKED[asked](_one_partition(series).str.split(pat, n=n, regex=regex)).compute(), expected)


@given(texts=TEXTS, pat=st.sampled_from([None, " ", "-", "ab", "aa", "."]), n=st.sampled_from([-1, 0, 1, 2]), asked=st.sampled_from(list(ASKED)))  # fmt: skip
def test_parts_are_counted_from_the_end(texts: list[str | None], pat: Any, n: int, asked: str) -> None:
    series = pd.Series(texts, dtype="str")
    try:
        expected = ASKED[asked](series.str.rsplit(pat, n=n))
    except AttributeError:
        return
    assert_same(ASKED[asked](_one_partition(series).str.rsplit(pat, n=n)).compute(), expected)


@given(texts=TEXTS, method=st.sampled_from(["split", "rsplit"]), pat=st.sampled_from([None, " ", "-", "ab"]), n=st.sampled_from([-1, 1, 2]))  # fmt: skip
def test_parts_as_columns_are_those_of_pandas(texts: list[str | None], method: str, pat: Any, n: int) -> None:
    series = pd.Series(texts, dtype="str")
    expected = getattr(series.str, method)(pat, n=n, expand=True)
    got = getattr(_one_partition(series).str, method)(pat, n=n, expand=True).compute()
    if n > 0:  # of which there are always as many
        assert got.shape[1] == n + 1 and got.iloc[:, expected.shape[1] :].isna().all(axis=None)
        got = got.iloc[:, : expected.shape[1]]
    assert_same(got, expected)


def test_the_last_column_of_all_parts_has_no_space_at_its_end() -> None:
    series = pd.Series(["a b ", "c"], dtype="str")
    assert_same(_one_partition(series).str.split(expand=True).compute(), series.str.split(expand=True))


@pytest.mark.parametrize("asked", ["first", "count", "rows"])
@pytest.mark.parametrize("pat", [None, "-", r"\s*-\s*"])
def test_no_list_is_made_for_each_text(monkeypatch: pytest.MonkeyPatch, asked: str, pat: str | None) -> None:
    series = pd.Series(["a - b", None, "c", ""] * 3, dtype="str")
    expected = ASKED[asked](series.str.split(pat))
    lazy = ASKED[asked](gd.from_pandas(series, npartitions=2).str.split(pat))
    monkeypatch.setattr(
        accessors.TextMethod, "_of_each", lambda self, args, kwargs, obj: pytest.fail("a list was made")
    )
    assert_same(lazy.compute(scheduler="synchronous"), expected)


@given(
    texts=TEXTS,
    pattern=st.sampled_from(
        [
            r"(\d+)",
            r"([a-z])(\d)",
            r"(?P<word>\w+)-",
            "(a|b)b",
            r"^(.)",
            r"(\S+)$",
            r"(a)?b",
            r"(a+?)\w",
            "(é)",
            r"\b(\d)",
        ]
        + [r"(a(?:b|1)*)", r"(?i)(AB)", r"([^,\s]+),?", r"(a)\1", r"(\d{1,2})", "(?=a)(.)", r"((a)b)", "(.*)"]
    ),
    options=st.sampled_from([{}, {"expand": False}, {"flags": re.I}]),
    dtype=st.sampled_from(["str", "string"]),
)
def test_groups_match_as_those_of_pandas(texts: list[str | None], pattern: str, options: Any, dtype: Any) -> None:
    series = pd.Series(texts, name="q", dtype=dtype)
    assert_same(
        _one_partition(series).str.extract(pattern, **options).compute(), series.str.extract(pattern, **options)
    )


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?<=a)b", "(?=a)b", "(?!a)b", "é", "(a)?b", "(?:(a)|b)", "(?:a*)*", r"a\Z", r"\B", "(?m)^a", "(?s).", "(?x) a", "a{1001}", "(?>a)", "["])  # fmt: skip
def test_an_expression_that_may_mean_something_else_to_arrow_is_left_to_python(pattern: str) -> None:
    assert translated(pattern) is None


@given(
    atoms=st.lists(
        st.sampled_from(["a", "b", "1", r"\d", r"\w", r"\s", ".", "[ab]", "[^a]", r"\S", r"\D", r"\W", "(a)", "(?:a|b)", "(.)", "a*", "b+?", r"\d{1,2}", "(?:ab)*", "x?"]),
        min_size=1, max_size=5,
    ),
    text=st.text("ab1 -_\tx", max_size=8),
)  # fmt: skip
def test_a_translated_expression_finds_what_pythons_finds(atoms: list[str], text: str) -> None:
    pattern = "".join(atoms)
    said = translated(pattern)
    assert said is not None
    match = re.search(pattern, text)
    assert pc.match_substring_regex(pa.scalar(text), said.pattern).as_py() == (match is not None)
    if match is not None and said.n_groups:
        assert tuple(pc.extract_regex(pa.scalar(text), said.pattern).as_py().values()) == match.groups()


@pytest.mark.parametrize(
    ("text", "expected"), [("a b\n", True), ("", True), ("é", False), ("a\x0b", False), ("\x1c", False), (None, True)]
)
def test_plain_text_has_no_character_that_arrow_takes_otherwise(text: str | None, expected: bool) -> None:
    array = pa.array(["é", text, "é"], pa.large_string())
    assert is_plain(array.slice(1, 1)) is expected


def test_a_place_that_no_list_has_is_missing() -> None:
    series = pd.Series(["a b", "c"], dtype="str")
    for place in (10**20, -(10**20)):
        assert_same(_one_partition(series).str.split(" ").str[place].compute(), series.str.split(" ").str[place])
