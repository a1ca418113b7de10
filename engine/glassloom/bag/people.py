"""Made-up people, for examples and tests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from glassloom._first_names import NAMES
from glassloom.bag.collection import Bag
from glassloom.bag.creation import from_sequence
from glassloom.dataframe.argument_kinds import whole_number
from glassloom.errors import OptionError

_LAST = (
    "Abara", "Berg", "Costa", "Diaz", "Ek", "Farouk", "Gupta", "Haas", "Ivanov", "Jensen", "Kim", "Lopez", "Moreau", "Nakamura",
    "Okafor", "Petrov", "Rossi", "Silva", "Tanaka", "Usman", "Virtanen", "Weber", "Yilmaz", "Zhang",
)  # fmt: skip
_OCCUPATIONS = (
    "Actuary", "Baker", "Carpenter", "Dentist", "Electrician", "Farmer", "Geologist", "Joiner", "Librarian", "Mechanic", "Nurse",
    "Optician", "Pilot", "Roofer", "Surveyor", "Teacher", "Translator", "Vet", "Welder",
)  # fmt: skip
_STREETS = (
    "Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Hazel", "Juniper", "Larch", "Maple", "Oak", "Rowan", "Willow",
)  # fmt: skip
_CITIES = (
    "Ashford", "Brookfield", "Clearwater", "Dunmore", "Eastport", "Fairview", "Greenville", "Harborough", "Kingsley", "Lakewood",
)  # fmt: skip


def make_people(
    npartitions: int = 10, records_per_partition: int = 1000, seed: int | None = None, locale: str = "en"
) -> Bag:
    """Make a bag of made-up people: dicts with ``age``, ``name``, ``occupation``, ``telephone``, ``address`` and ``credit-card``.

    Parameters
    ----------
    npartitions
        Number of partitions.
    records_per_partition
        Number of people in each.
    seed
        Equal seeds give equal people. Default: others each time.
    locale
        ``"en"``, the only language that there is.

    Raises
    ------
    OptionError
        If there is no partition, a negative number of people, or another language is asked for.

    Examples
    --------
    >>> import glassloom.bag as gb
    >>> people = gb.make_people(npartitions=2, records_per_partition=50, seed=1)
    >>> people.count().compute()
    100
    >>> sorted(people.take(1)[0])
    ['address', 'age', 'credit-card', 'name', 'occupation', 'telephone']
    """
    npartitions = whole_number("make_people", "npartitions", npartitions, 1)
    records_per_partition = whole_number("make_people", "records_per_partition", records_per_partition, 0)
    if locale != "en":
        raise OptionError(f"locale={locale!r}: people are made in English alone; leave it out")
    chosen = (
        int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        if seed is None
        else whole_number("make_people", "seed", seed, 0)
    )
    numbers = from_sequence(list(range(npartitions)), npartitions=npartitions)
    return numbers.map_partitions(partial(_people, count=records_per_partition, seed=chosen))


def _people(numbers: Iterable[int], count: int, seed: int) -> list[dict[str, Any]]:
    """Return the people of a partition, of which `numbers` has the number alone."""
    (number,) = numbers
    random = np.random.default_rng([seed, number])
    return [_person(random) for _ in range(count)]


def _person(random: np.random.Generator) -> dict[str, Any]:
    street, house = _one(random, _STREETS), random.integers(1, 400)
    digits = "".join(map(str, random.integers(0, 10, 26)))
    return {
        "age": int(random.integers(0, 121)),
        "name": (_one(random, NAMES), _one(random, _LAST)),
        "occupation": _one(random, _OCCUPATIONS),
        "telephone": f"+1-{digits[:3]}-{digits[3:6]}-{digits[6:10]}",
        "address": {"address": f"{house} {street} Street", "city": _one(random, _CITIES)},
        "credit-card": {
            "number": " ".join(digits[place : place + 4] for place in range(10, 26, 4)),
            "expiration-date": f"{random.integers(1, 13):02}/{random.integers(25, 35)}",
        },
    }


def _one(random: np.random.Generator, texts: tuple[str, ...]) -> str:
    return texts[int(random.integers(len(texts)))]
