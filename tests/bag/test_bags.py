"""Bags compared with what Python does with one list, whatever the partitions."""

from __future__ import annotations

import itertools
import operator
import statistics
from collections import Counter
from functools import reduce
from random import Random
from typing import Any

import glassloom as gl
import glassloom.bag as gb
import pytest
from glassloom.errors import OptionError
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.lists(st.integers(-50, 50), max_size=30)
WORDS = st.lists(st.sampled_from(["a", "b", "ab", "", "naïve", "日本"]), max_size=20)


def in_parts(items: list[Any], n_parts: int) -> gb.Bag:
    """Return a bag of some partitions, the first of which is empty."""
    return gb.concat([gb.from_sequence([], npartitions=1), gb.from_sequence(items, npartitions=n_parts)])


def is_odd(number: int) -> bool:
    return number % 2 == 1


@given(NUMBERS, st.integers(1, 6))
def test_what_is_done_item_by_item_is_what_comprehensions_do(items: list[int], n_parts: int) -> None:
    bag = in_parts(items, n_parts)
    assert list(bag) == items
    assert bag.map(abs).filter(is_odd).map(pow, 2).compute() == [abs(n) ** 2 for n in items if n % 2]
    assert bag.remove(is_odd).compute() == [n for n in items if not n % 2]
    pairs = bag.map(lambda n: (n, -n))
    assert pairs.starmap(operator.sub).compute() == [2 * n for n in items]
    assert pairs.flatten().compute() == [one for n in items for one in (n, -n)]
    assert [part.compute() for part in pairs.unzip(2)] == [items, [-n for n in items]]
    assert gb.zip(bag, bag.map(str)).compute() == [(n, str(n)) for n in items]


@given(NUMBERS, st.integers(1, 20), st.sampled_from([None, 2, False]))
def test_reductions_are_those_of_the_whole_list(items: list[int], n_parts: int, split_every: Any) -> None:
    bag = in_parts(items, n_parts)
    made = gl.compute(
        bag.sum(split_every), bag.count(split_every), bag.any(split_every), bag.all(split_every),
        bag.fold(operator.add, initial=0, split_every=split_every), bag.topk(3, split_every=split_every),
    )  # fmt: skip
    largest = sorted(items, reverse=True)[:3]
    assert made == (sum(items), len(items), any(items), all(items), sum(items), largest)
    assert Counter(dict(bag.frequencies(split_every).compute())) == Counter(items)
    assert bag.distinct().compute() == list(dict.fromkeys(items))
    if items:
        assert gl.compute(bag.max(), bag.min()) == (max(items), min(items))
        mean, variance, deviation = gl.compute(bag.mean(), bag.var(), bag.std())
        assert mean == pytest.approx(statistics.mean(items))
        assert variance == pytest.approx(statistics.pvariance(items), abs=1e-9)
        assert deviation == pytest.approx(statistics.pstdev(items), abs=1e-9)


@given(NUMBERS, st.integers(1, 6), st.one_of(st.none(), st.integers()))
def test_running_results_go_on_over_partitions(items: list[int], n_parts: int, initial: int | None) -> None:
    bag = in_parts(items, n_parts)
    if initial is None:
        assert bag.accumulate(operator.sub).compute() == list(itertools.accumulate(items, operator.sub))
    else:
        expected = list(itertools.accumulate(items, operator.sub, initial=initial))
        assert bag.accumulate(operator.sub, initial).compute() == expected


@given(st.lists(st.one_of(st.integers(0, 3), st.sampled_from([1.0, True, "1", (1, "a"), None])), max_size=30), st.integers(1, 5), st.integers(1, 5))  # fmt: skip
def test_groups_meet_whatever_the_partitions(keys: list[Any], n_parts: int, npartitions: int) -> None:
    items = list(enumerate(keys))
    expected: dict[Any, list[Any]] = {}
    for item in items:
        expected.setdefault(item[1], []).append(item)
    grouped = in_parts(items, n_parts).groupby(1, npartitions)
    assert grouped.npartitions == npartitions
    assert dict(grouped.compute()) == expected
    counts = in_parts(items, n_parts).foldby(1, lambda count, _: count + 1, 0, operator.add).compute()
    assert dict(counts) == {key: len(group) for key, group in expected.items()}
    assert len(counts) == len(expected)


def test_groups_of_many_partitions_take_two_stages_and_meet_all_the_same() -> None:
    bag = gb.from_sequence(range(2000), npartitions=60).groupby(lambda n: n % 97)
    assert any("merged" in str(key) for key in bag.expr.tasks())
    assert sorted(bag.compute()) == [(rest, list(range(rest, 2000, 97))) for rest in range(97)]


@given(WORDS, st.integers(1, 6), st.integers(1, 9))
def test_other_partitions_have_the_same_items_in_their_order(items: list[str], n_parts: int, npartitions: int) -> None:
    bag = gb.from_sequence(items, npartitions=n_parts)
    made = bag.repartition(npartitions)
    assert made.npartitions == npartitions
    assert made.compute() == items
    assert bag.repartition(partition_size=120).compute() == items
    assert [part for one in gl.compute(bag.to_delayed())[0] for part in one] == items


def test_arguments_are_taken_along_item_by_item_or_go_to_all_calls() -> None:
    bag = gb.range(5, 2)
    added = bag.map(lambda n, m, factor, *, plus: (n + m) * factor + plus, bag, 10, plus=bag.max())
    assert added.compute() == [2 * n * 10 + 4 for n in range(5)]
    assert bag.map(lambda n, other: n - other, bag.mean()).compute() == [-2, -1, 0, 1, 2]
    assert bag.map(lambda n, others: n + others[0], [gl.delayed(abs)(-7)]).compute() == [7, 8, 9, 10, 11]
    assert gb.map(pow, 2, bag).compute() == [1, 2, 4, 8, 16]
    assert bag.map(lambda n, **named: (n, named["of"]), of=bag.map(str)).compute() == [(n, str(n)) for n in range(5)]
    joined = gb.map_partitions(lambda few, total, items: [total, *few, *items], bag, bag.sum(), items=bag)
    assert joined.compute() == [10, 0, 1, 0, 1, 10, 2, 3, 4, 2, 3, 4]


def test_what_a_partition_becomes() -> None:
    bag = gb.range(4, 2)
    assert bag.map_partitions(len).compute() == [2, 2]
    assert bag.map_partitions(iter).compute() == [0, 1, 2, 3]
    assert bag.map_partitions(tuple).sum().compute() == 6
    assert bag.map_partitions(str).compute() == ["[0, 1]", "[2, 3]"]
    assert bag.reduction(set, lambda sets: set().union(*sets), out_type=gb.Bag).count().compute() == 4


def test_joins_and_products() -> None:
    people, fruit = gb.from_sequence(["Alice", "Bob", "Charlie"]), ["Apple", "Apricot", "Banana"]
    expected = [("Apple", "Alice"), ("Apricot", "Alice"), ("Banana", "Bob")]
    for other in (fruit, gl.delayed(fruit), gb.from_sequence(fruit)):
        assert people.join(other, lambda name: name[0]).compute() == expected
    assert people.join(["b", "c"], lambda name: name[0].lower(), str).compute() == [("b", "Bob"), ("c", "Charlie")]
    assert Counter(gb.range(3, 2).product(gb.range(2, 2))) == Counter(itertools.product(range(3), range(2)))


def test_records() -> None:
    bag = gb.from_sequence([{"name": "Ada", "born": 1815}, {"name": "Alan"}, {"name": "Ada"}])
    assert bag.pluck("born", None).compute() == [1815, None, None]
    assert bag.pluck(["name", "born"], 0).compute() == [("Ada", 1815), ("Alan", 0), ("Ada", 0)]
    assert bag.distinct("name").pluck("name").compute() == ["Ada", "Alan"]
    assert bag.pluck("name").str.upper().str.match("A?A").compute() == ["ADA", "ADA"]
    assert bag.topk(1, key=lambda one: one.get("born", 0)).compute() == [{"name": "Ada", "born": 1815}]
    with pytest.raises(KeyError, match="born"):
        bag.pluck("born").compute()
    with pytest.raises(AttributeError, match="strings have no method 'uper'"):
        bag.str.uper  # noqa: B018


def test_a_part_is_taken_from_the_first_partitions_alone() -> None:
    bag = gb.range(10, 5)
    assert bag.take(2) == (0, 1)
    assert bag.take(5, npartitions=-1) == (0, 1, 2, 3, 4)
    assert bag.take(3, npartitions=2, compute=False).compute() == [0, 1, 2]
    with pytest.warns(UserWarning, match=r"take\(3\) found 2 items in 1 of 5 partitions"):
        assert bag.take(3) == (0, 1)
    failing = gb.concat([bag, bag.map(lambda _: 1 / 0)])
    assert failing.take(1) == (0,)


def test_samples_are_chosen_once_and_by_their_seed() -> None:
    bag = gb.range(1000, 10)
    sample = bag.random_sample(0.5)
    assert sample.compute() == sample.compute()
    assert 350 < sample.count().compute() < 650
    assert bag.random_sample(0.5, 3).compute() == bag.random_sample(0.5, 3).compute() != sample.compute()
    assert bag.random_sample(0.5, Random(3)).compute() == bag.random_sample(0.5, Random(3)).compute()


def test_steps_in_a_row_are_one_task_a_partition_and_reductions_of_one_bag_read_it_once() -> None:
    read: list[int] = []

    def note(n: int) -> int:
        read.append(n)
        return n

    bag = gb.range(100, 50).map(note).filter(lambda _: True)
    assert gl.compute(bag.sum(), bag.max(), scheduler="synchronous") == (4950, 99)
    assert sorted(read) == list(range(100))
    assert "Drawing(2 nodes" in repr(gl.visualize(gb.range(4, 2).map(abs).map(str)))


def test_equal_bags_share_their_work() -> None:
    assert gb.range(5, 2).map(abs).name == gb.range(5, 2).map(abs).name
    names = {gb.range(5, 2).map(pow, other).name for other in (0, 1, 1.0, gb.range(5, 2), gb.range(5, 2).max())}
    assert len(names) == 5


def test_persisted_bags_are_not_made_again() -> None:
    calls: list[int] = []
    bag = gb.range(4, 2).map(lambda n: calls.append(n) or n).persist(scheduler="threads")
    assert (bag.compute(), bag.map(str).compute(), len(calls)) == ([0, 1, 2, 3], ["0", "1", "2", "3"], 4)
    total = bag.sum().persist()
    assert (total + 1).compute() == 7
    assert bag.map(lambda n, all: n * all, total).compute() == [0, 6, 12, 18]


def test_processes_agree_on_where_keys_go(client: gl.Client) -> None:
    words = [f"word {n % 17}" for n in range(400)]
    grouped = gb.from_sequence(words, npartitions=8).groupby(str)
    made = client.compute(grouped).result(timeout=60)
    assert Counter({word: len(group) for word, group in made}) == Counter(words)
    assert len(made) == 17
    held = client.persist(gb.from_sequence(words, npartitions=8).frequencies())
    assert Counter(dict(held.compute(scheduler=client))) == Counter(words)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: gb.from_sequence([1], 2, 3), OptionError, "either partition_size or npartitions"),
        (lambda: gb.from_sequence([1], npartitions=0), OptionError, "npartitions=0 should be"),
        (lambda: gb.range(3, 1).map(pow, gb.range(3, 2)), ValueError, "a bag of 2 partitions .* beside one of 1"),
        (lambda: gb.concat([[1]]), TypeError, "concat.. takes bags, got list"),
        (lambda: gb.from_delayed([1]), TypeError, "takes delayed calls, got int"),
        (lambda: gb.range(3, 1).topk(0), OptionError, "k=0 should be"),
        (lambda: gb.range(3, 1).random_sample(2), OptionError, "prob=2 should be"),
        (lambda: gb.range(3, 1).repartition(), OptionError, "either npartitions or partition_size"),
        (lambda: gb.range(3, 1).sum(split_every=1), OptionError, "split_every=1 should be"),
        (lambda: gb.range(3, 1).product([1]), TypeError, "product.. takes a bag, got list"),
        (lambda: gb.range(0, 1).max().compute(), ValueError, "max.. of a bag without items"),
        (lambda: gb.range(0, 1).fold(operator.add).compute(), ValueError, "without items: give initial="),
        (lambda: gb.range(1, 1).var(ddof=1).compute(), ValueError, "more than 1 items, got 1"),
        (lambda: gb.range(2, 2).map(lambda n: [n]).groupby(0).groupby(1).compute(), TypeError, "unhashable"),
        (
            lambda: gb.zip(gb.range(3, 2), gb.range(3, 2).filter(is_odd)).compute(),
            ValueError,
            "different numbers of items: .1, 0.",
        ),
        (lambda: gb.range(3, 1).to_avro("x"), NotImplementedError, "to_avro isn't there"),
    ],
)
def test_errors_say_what_is_wrong(wrong: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_a_failing_function_is_named_with_its_line() -> None:
    with pytest.raises(ZeroDivisionError) as failed:
        gb.range(4, 2).map(lambda n: 1 // n).compute()
    assert any("test_bags.py" in note for note in failed.value.__notes__)


def test_what_a_notebook_shows() -> None:
    bag = gb.range(4, 2).map(abs)
    assert repr(bag).startswith("Bag(map-abs-")
    html = bag._repr_html_()
    assert "Partitions" in html
    assert bag.name in html


def test_folds_do_as_reduce() -> None:
    items = list("glassloom")
    assert gb.from_sequence(items, npartitions=4).fold(operator.add).compute() == reduce(operator.add, items)
