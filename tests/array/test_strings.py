"""Functions of text: NumPy's values, from our functions and from NumPy's own."""

import glassloom.array as ga
import numpy as np
import pytest

WORDS = np.array([["a b", "Bcd", ""], [" 12 ", "-7", "ABBA b"]], dtype="U8")

CALLS = {
    **{name: () for name in ("capitalize", "lower", "swapcase", "title", "upper", "strip", "lstrip", "rstrip", "str_len")},
    **{name: () for name in ga.strings.__all__ if name.startswith("is")},
    **{name: ("b",) for name in ("count", "find", "rfind", "startswith", "endswith", "add", "equal", "less")},
    **{name: (7, "*") for name in ("center", "ljust", "rjust")},
    "zfill": (5,),
}  # fmt: skip


OF_TEXT_ONLY = ("isdecimal", "isnumeric")


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in CALLS for kind in "US" if kind == "U" or name not in OF_TEXT_ONLY]
)
def test_functions_of_text_give_numpys_values(name, kind):
    words = WORDS.astype(f"{kind}8")
    args = [arg.encode() if kind == "S" and isinstance(arg, str) else arg for arg in CALLS[name]]
    lazy = ga.from_array(words, chunks=(1, 2))
    expected = getattr(np.strings, name)(words, *args)
    for module in (ga.strings, np.strings):
        made = getattr(module, name)(lazy, *args)
        assert isinstance(made, ga.Array)
        found = made.compute()
        assert found.dtype == made.dtype
        np.testing.assert_array_equal(found, expected)


def test_text_is_looked_through_between_positions_and_with_arrays():
    lazy = ga.from_array(WORDS, chunks=2)
    np.testing.assert_array_equal(ga.strings.find(lazy, "b", start=3).compute(), np.strings.find(WORDS, "b", start=3))
    np.testing.assert_array_equal(
        ga.strings.startswith(lazy, lazy[0]).compute(), np.strings.startswith(WORDS, WORDS[0])
    )
    np.testing.assert_array_equal(ga.strings.rstrip(lazy, "b ").compute(), np.strings.rstrip(WORDS, "b "))
    with pytest.raises(ValueError, match="substring not found"):
        ga.strings.index(lazy, "z").compute()


def test_padded_text_is_as_wide_as_the_array_if_that_is_more():
    made = ga.strings.center(ga.from_array(WORDS, chunks=2), 3)
    assert made.dtype == made.compute().dtype == np.dtype("U8")


@pytest.mark.parametrize("name", ["replace", "multiply", "partition"])
def test_text_of_unknown_width_says_what_to_use(name):
    with pytest.raises(AttributeError, match=rf"strings has no '{name}': .*map_blocks\(numpy.strings.{name}"):
        getattr(ga.strings, name)
