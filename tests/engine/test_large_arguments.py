"""A large list as an argument is pickled by every call that is given it: one warning for each line that does that."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from glassloom import Client

NUMBERS = list(range(500_000))


def first(values: list[int], _: int = 0) -> int:
    return values[0]


@pytest.mark.long
def test_a_line_that_submits_a_large_list_again_and_again_is_warned_once(client: Client) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        futures = [client.submit(first, NUMBERS, number) for number in range(3)]
        futures += client.map(first, [NUMBERS, NUMBERS], range(2))
    assert client.gather(futures) == [0] * 5
    assert [warning.category for warning in caught] == [UserWarning, UserWarning]
    assert {warning.filename for warning in caught} == {__file__}
    assert caught[0].lineno + 1 == caught[1].lineno


def test_the_warning_says_how_large_the_argument_is_and_what_to_do(client: Client) -> None:
    with pytest.warns(UserWarning, match=r"a list of 2\.\d+ MiB.* pass the future instead: future, = client\.scatter"):
        assert client.submit(first, values=NUMBERS).result(timeout=60) == 0


def test_what_is_scattered_an_array_or_small_is_nothing_to_warn_of(client: Client) -> None:
    (future,) = client.scatter([NUMBERS])
    assert client.submit(first, future).result(timeout=60) == 0
    assert client.submit(first, np.arange(500_000)).result(timeout=60) == 0
    assert client.submit(first, NUMBERS[:100_000]).result(timeout=60) == 0
