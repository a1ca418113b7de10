"""`delayed`, `compute` and `persist` on threads: laziness, sharing, operators, nesting."""

from __future__ import annotations

import asyncio
import operator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import glassloom.array as ga
import pytest
import tasks
from glassloom import Client, Delayed, compute, delayed, persist, wait
from glassloom.delayed_call import DelayedTuple, Known
from glassloom.errors import OptionError
from glassloom.expr import Persisted, lower, optimize, rule, rules, simplify
from glassloom.expr.fuse import fuse
from glassloom.graph import cull
from hypothesis import given
from hypothesis import strategies as st


def test_nothing_runs_before_compute(tmp_path: Path) -> None:
    log = tmp_path / "runs"
    lazy = delayed(tasks.count_run)(str(log), 3)
    assert not log.exists()
    assert (lazy.compute(), log.read_text()) == (3, "x")


def test_delayed_values_inside_arguments_become_their_results() -> None:
    one, two = delayed(tasks.inc)(0), delayed(tasks.inc)(1)
    lazy = delayed(lambda *args, **kwargs: (args, kwargs))(one, [one, (two, {"a": one})], b={two})
    assert lazy.compute() == ((1, [1, (2, {"a": 1})]), {"b": {2}})


def test_a_function_may_be_decorated() -> None:
    @delayed
    def double(value: int) -> int:
        """Twice the value."""
        return 2 * value

    assert double(double(3)).compute() == 12
    assert (double.__name__, double.__doc__) == ("double", "Twice the value.")


def test_a_method_may_be_decorated() -> None:
    class Scale:
        factor = 3

        @delayed
        def apply(self, value: int) -> int:
            return self.factor * value

    assert Scale().apply(5).compute() == 15


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda x: x + 1, 7), (lambda x: 1 + x, 7), (lambda x: x - 1, 5), (lambda x: 10 - x, 4), (lambda x: x * x, 36),
        (lambda x: x / 4, 1.5), (lambda x: 13 // x, 2), (lambda x: x % 4, 2), (lambda x: 2**x, 64), (lambda x: -x, -6),
        (lambda x: abs(-x), 6), (lambda x: ~x, -7), (lambda x: x == 6, True), (lambda x: x != 6, False),
        (lambda x: x < 7, True), (lambda x: x >= 7, False), (lambda x: x & 2, 2), (lambda x: x | 1, 7),
        (lambda x: x << 1, 12), (lambda x: x.real, 6), (lambda x: x.bit_length(), 3),
    ],
)  # fmt: skip
def test_operators_are_lazy_too(operation: Any, expected: Any) -> None:
    lazy = operation(delayed(6))
    assert isinstance(lazy, Delayed)
    assert lazy.compute() == expected


def test_indexing_and_attributes_are_lazy_too() -> None:
    assert delayed({"a": [1, 2]})["a"][1].compute() == 2
    assert delayed("abc").upper().compute() == "ABC"


def test_a_private_attribute_is_no_call() -> None:
    with pytest.raises(AttributeError, match="'Delayed' object has no attribute '_secret'"):
        _ = delayed(1)._secret


def test_impure_calls_are_each_their_own_and_pure_ones_are_shared() -> None:
    impure, pure = delayed(tasks.inc), delayed(tasks.inc, pure=True)
    assert impure(1).name != impure(1).name
    assert pure(1).name == pure(1).name != pure(2).name


def test_shared_calls_run_once(tmp_path: Path) -> None:
    log = tmp_path / "runs"
    shared = delayed(tasks.count_run)(str(log), 1)
    assert compute(shared + 1, shared + 2, [shared]) == (2, 3, [1])
    assert log.read_text() == "x"


def test_nout_unpacks_a_tuple() -> None:
    both = delayed(divmod, nout=2)(7, 3)
    assert isinstance(both, DelayedTuple)
    quotient, rest = both
    assert compute(quotient, rest) == (2, 1)


@pytest.mark.parametrize("nout", [-1, 1.5, "2"])
def test_nout_must_be_a_number_of_results(nout: Any) -> None:
    with pytest.raises(ValueError, match="^nout=.* should be a number of results, 0 or more$"):
        delayed(divmod, nout=nout)


def test_iterating_an_unknown_length_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"can't be iterated; use delayed\(f, nout=n\)"):
        list(delayed([1, 2]))


def test_the_truth_is_not_known_before_compute() -> None:
    with pytest.raises(TypeError, match=r"the truth of a Delayed object is not known before compute\(\)"):
        bool(delayed(1))


def test_delayed_of_a_delayed_is_itself() -> None:
    lazy = delayed(1)
    assert delayed(lazy) is lazy


def test_a_name_is_what_the_task_is_called() -> None:
    assert delayed(tasks.inc, name="plus-one")(1).name.startswith("plus-one-")
    assert delayed(lambda: 1)().name.startswith("lambda-")


def test_compute_looks_into_containers_and_keeps_their_kind() -> None:
    one = delayed(1)
    assert compute([one, (one, 2)], {"a": {one}}, 5) == ([1, (1, 2)], {"a": {1}}, 5)


class Fit(NamedTuple):
    slope: Any
    errors: list[Any]


@dataclass(frozen=True)
class Model:
    name: str
    fits: tuple[Any, ...]


def test_compute_and_calls_look_into_named_tuples_and_dataclasses() -> None:
    one, two = delayed(int)(1), delayed(int)(2)
    model = Model("linear", (Fit(one, [two, 3]), frozenset([one])))
    expected = Model("linear", (Fit(1, [2, 3]), frozenset([1])))
    assert compute(model) == (expected,)
    assert delayed(str)(model).compute() == str(expected)
    assert compute(persist(model)[0]) == (expected,)
    plain = Model("plain", (1,))
    assert compute([plain, one])[0][0] is plain


def test_a_client_looks_into_them_too(client: Client) -> None:
    u, s, v = client.persist(ga.linalg.svd(ga.ones((8, 2), chunks=(4, 2))))
    wait([u, s, v])
    fit = client.compute(Fit(delayed(int)(1), [u]))
    assert fit.slope.result() == 1
    assert fit.errors[0].result().shape == (8, 2)


def test_compute_can_leave_containers_alone() -> None:
    one = delayed(1)
    (kept, computed) = compute([one], one, traverse=False)
    assert (kept[0] is one, computed) == (True, 1)


def test_persist_keeps_results_for_later(tmp_path: Path) -> None:
    log = tmp_path / "runs"
    (held,) = persist(delayed(tasks.count_run)(str(log), 4))
    assert [held.compute(), (held + 1).compute()] == [4, 5]
    assert log.read_text() == "x"


def test_a_deep_expression_does_not_overflow_the_stack() -> None:
    lazy = delayed(0)
    for _ in range(3000):
        lazy = lazy + 1
    assert lazy.compute() == 3000


def test_delayed_values_can_be_keys_of_dicts() -> None:
    one = delayed(1)
    assert {one: "kept"}[one] == "kept"
    assert operator.index(hash(one)) == hash(one)


# Decorators, coroutines, generators


def test_the_decorator_takes_arguments() -> None:
    @delayed(pure=True, name="twice")
    def double(x: int) -> int:
        return 2 * x

    assert (double(4).name, double(4).compute()) == (double(4).name, 8)
    assert double(4).name.startswith("twice-")

    @delayed(nout=2)
    def parts(x: int) -> tuple[int, int]:
        return divmod(x, 3)

    quotient, rest = parts(7)
    assert compute(quotient, rest) == (2, 1)


def test_without_traverse_a_container_is_taken_as_it_is() -> None:
    inner = delayed(3)
    assert delayed([inner, 4]).compute() == [3, 4]
    assert delayed([1, 2], traverse=False).compute() == [1, 2]
    (kept,) = delayed([inner], traverse=False).compute()
    assert kept.name == inner.name


class _AsyncCallable:
    async def __call__(self, x: int) -> int:
        return x * 10


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_coroutine_functions_run_to_their_end(scheduler: str) -> None:
    lazy = delayed(_AsyncCallable())(delayed(tasks.increment_later)(1))
    assert lazy.compute(scheduler=scheduler) == 20


def test_a_coroutine_runs_in_a_thread_that_has_an_event_loop_already() -> None:
    async def cell() -> int:
        return delayed(tasks.increment_later)(1).compute(scheduler="synchronous")

    assert asyncio.run(cell()) == 2


def test_coroutine_functions_are_submitted_too(client: Client) -> None:
    future = client.submit(tasks.increment_later, 1)
    assert (future.result(), str(future.key).rpartition("-")[0]) == (2, "increment_later")
    assert client.gather(client.map(tasks.increment_later, [1, 2])) == [2, 3]


def test_generator_functions_are_refused_where_they_are_handed_in(client: Client) -> None:
    def numbers() -> Any:
        yield 1

    async def later() -> Any:
        yield 1

    for function in (numbers, later):
        with pytest.raises(TypeError, match=f"{function.__name__} is a generator function.*return a list"):
            delayed(function)
        with pytest.raises(TypeError, match="is a generator function"):
            client.submit(function)


# The quick way of plans made of calls


def _plan(shape: list[tuple[bool, list[int], bool]]) -> list[Any]:
    """Return calls: pure or not, of the calls before with these numbers, the last as keyword or in a list."""
    nodes: list[Any] = []
    for is_pure, below, is_keyword in shape:
        inputs = [nodes[number % len(nodes)] for number in below] if nodes else []
        make = delayed(_gather_up, pure=is_pure)
        nodes.append(make(inputs[:1], *inputs[1:]) if is_keyword else make(1, more=inputs))
    return nodes


def _gather_up(*args: Any, more: Any = None) -> Any:
    return [args, more]


@given(
    st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 5), max_size=3), st.booleans()), min_size=1, max_size=8),
    st.integers(1, 8),
)
def test_a_plan_of_calls_stays_as_it_is_and_all_of_it_is_lowered(shape: Any, n_roots: int) -> None:
    roots = [node.expr for node in _plan(shape)[-n_roots:]]
    slowly = fuse(simplify(roots))
    assert optimize(roots) == slowly
    graph, keys = lower(optimize(roots))
    culled = cull(graph, [key for group in keys for key in group])
    assert graph.tasks.keys() == culled.tasks.keys()
    assert keys == [root.output_keys() for root in slowly]


def test_a_rule_that_is_registered_later_counts_for_nodes_that_were_simplified_before() -> None:
    class Old(Known):
        pass

    class New(Known):
        pass

    source = Persisted("x", None)
    assert type(simplify([Old(source, "x")])[0]) is Old
    try:
        rule(Old)(lambda node: New(node.source, node.key))
        assert type(simplify([Old(source, "x")])[0]) is New
    finally:
        rules._rules.pop()
        rules._rules_by_class.clear()


def test_a_delayed_value_has_a_key_and_takes_no_attributes() -> None:
    lazy = delayed(tasks.inc)(1)
    assert lazy.key == lazy.name
    with pytest.raises(TypeError, match="attributes of a Delayed can't be set, as 'label'"):
        lazy.label = "mine"
    with pytest.raises(AttributeError, match="no 'dask'.*visualize"):
        lazy.dask  # noqa: B018


def test_dasks_name_of_a_call_is_refused_with_what_there_is_instead() -> None:
    with pytest.raises(OptionError, match=r"dask_key_name='one'.*delayed\(f, name=...\)"):
        delayed(tasks.inc)(1, dask_key_name="one")


def test_equal_and_nested_calls_come_where_they_were_asked_for() -> None:
    double = delayed(lambda value: 2 * value, pure=True)
    one, two = double(1), double(2)
    assert compute(one, two, double(1), [two, one], {"both": (one, two)}, 5) == (2, 4, 2, [4, 2], {"both": (2, 4)}, 5)
    assert compute([], ()) == ([], ())
    assert compute({one, two}) == ({2, 4},)


def test_a_call_is_named_after_its_function_and_built_at_the_users_line() -> None:
    def half(value: int) -> float:
        return value / 2

    expr = delayed(half)(3).expr  # here
    assert expr.name.startswith("half-")
    assert str(expr.origin).endswith("expr = delayed(half)(3).expr  # here")
    assert delayed(half, name="part")(3).expr.name.startswith("part-")
