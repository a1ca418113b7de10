"""Which combinations of their parameters tests marked `each_choice` or `pairwise` run in `make test`: `make long` runs the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations

import pytest

STRENGTHS = {"each_choice": 1, "pairwise": 2}
"""By marker: how many values of parameters must meet in some combination if they do so in any."""


def covering(rows: Sequence[Sequence[Hashable]], strength: int) -> list[int]:
    """Return the places of rows in which all groups of so many values are that are in any of them: few rows, found by taking the best one first.

    >>> [(first, second) for first in "ab" for second in "xyz"][0]
    ('a', 'x')
    >>> covering([(first, second) for first in "ab" for second in "xyz"], 1)
    [0, 4, 2]
    >>> rows = [(first, second, third) for first in "ab" for second in "xy" for third in "pq"]
    >>> [rows[place] for place in covering(rows, 2)]
    [('a', 'x', 'p'), ('a', 'y', 'q'), ('b', 'x', 'q'), ('b', 'y', 'p')]
    """
    groups = [set(combinations(enumerate(row), min(strength, len(row)))) for row in rows]
    missing = set().union(*groups)
    chosen = []
    while missing:
        place = max(range(len(rows)), key=lambda place: len(groups[place] & missing))
        chosen.append(place)
        missing -= groups[place]
    return chosen


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as long what `covering` doesn't choose of the combinations of a test that is marked so."""
    for strength, tests in _marked(items).items():
        for combined in tests:
            rows = [[id(value) for value in item.callspec.params.values()] for item in combined]  # type: ignore[attr-defined]
            kept = set(covering(rows, strength))
            for place, item in enumerate(combined):
                if place not in kept:
                    item.add_marker("long")


def _marked(items: Iterable[pytest.Item]) -> dict[int, list[list[pytest.Item]]]:
    """Return the items that are not long anyway, of each test that is marked, by what its marker asks for."""
    found: defaultdict[tuple[int, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        for marker, strength in STRENGTHS.items():
            if item.get_closest_marker(marker) and not item.get_closest_marker("long"):
                found[strength, item.nodeid.partition("[")[0]].append(item)
    return {
        strength: [tests for (one, _), tests in found.items() if one == strength] for strength in STRENGTHS.values()
    }
