"""Made-up people, and datasets by the names that Dask has for them."""

from __future__ import annotations

import glassloom as gl
import glassloom.bag as gb
import pytest
from glassloom.dataframe import datasets
from glassloom.errors import OptionError


def test_people_are_records_of_one_kind():
    people = gb.make_people(npartitions=3, records_per_partition=20, seed=1)
    records = people.compute()
    assert people.npartitions == 3
    assert len(records) == 60
    assert {tuple(sorted(one)) for one in records} == {
        ("address", "age", "credit-card", "name", "occupation", "telephone")
    }
    assert all(0 <= one["age"] <= 120 and len(one["name"]) == 2 and "city" in one["address"] for one in records)
    assert len({one["telephone"] for one in records}) == 60


def test_equal_seeds_give_equal_people_in_any_partition():
    first = gb.make_people(2, 30, seed=5)
    assert first.compute() == gb.make_people(2, 30, seed=5).compute()
    assert first.compute() != gb.make_people(2, 30, seed=6).compute()
    assert gb.make_people(1, 5).compute() != gb.make_people(1, 5).compute()
    assert first.take(30) == gb.make_people(1, 30, seed=5).take(30)


def test_sizes_of_no_sense_are_refused():
    with pytest.raises(OptionError, match="npartitions=0 should be a whole number, 1 or more"):
        gb.make_people(0)
    with pytest.raises(OptionError, match="records_per_partition=-1 should be a whole number, 0 or more"):
        gb.make_people(2, -1)
    assert gb.make_people(2, 0).compute() == []


def test_datasets_have_a_module_of_their_own():
    assert gl.datasets.timeseries is datasets.timeseries
    assert gl.datasets.make_people is gb.make_people
