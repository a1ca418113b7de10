"""The layers of a cluster as columns say what its layers and their progress say, whatever came in which order; and rows are shared."""

from __future__ import annotations

from unittest.mock import patch

from glassloom_dashboards.folds import aggregate as aggregate_module
from glassloom_dashboards.folds.aggregate import STATES, ClusterAggregate
from glassloom_dashboards.views.layer_rows import folded
from glassloom_dashboards.views.progress import ordered_layers, ordered_places
from glassloom_metrics.protocol import Hello, Layers, Progress
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples
from synthetic import STARTED_AT_S

COUNTS = st.tuples(*[st.integers(0, 3)] * len(STATES))
TOLD = st.lists(
    st.one_of(
        st.tuples(st.just("layer"), st.integers(0, 12), st.integers(0, 8)),
        st.tuples(st.just("progress"), st.integers(0, 12), COUNTS),
    ),
    max_size=40,
)


def new_aggregate() -> ClusterAggregate:
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    return aggregate


def expected_order(aggregate: ClusterAggregate) -> list[int]:
    """Return what `ordered_layers` promises, layer by layer."""

    def stage(layer: int) -> int:
        counts = aggregate.progress.get(layer)
        if counts is None:
            return 1
        left = sum(counts[:3])
        return 2 if not left else 0 if counts[2] or left < aggregate.layers[layer].total else 1

    return sorted((one for one, layer in aggregate.layers.items() if layer.total), key=lambda one: (stage(one), -one))


@settings(max_examples=examples(25), deadline=None)
@given(TOLD)
def test_layers_in_columns_are_those_that_were_told(told):
    aggregate = new_aggregate()
    with patch.object(aggregate_module, "MAX_LAYERS", 8), patch.object(aggregate_module, "AT_ONCE", 1):
        aggregate._fold_at = 9
        for kind, layer, value in told:
            if kind == "layer":
                aggregate.apply(Layers([layer], [f"op{layer % 2}"], [value], [""]))
            else:
                aggregate.apply(Progress(STARTED_AT_S, [layer], *([count] for count in value), [0]))
    table = aggregate.layer_table
    assert sorted(table.ids(table.all())) == sorted(aggregate.layers)
    assert [layer.id for layer in ordered_layers(aggregate)] == expected_order(aggregate)
    together = table.counts(table.all())
    known = [aggregate.progress[layer] for layer in aggregate.layers if layer in aggregate.progress]
    assert [together[state] for state in STATES] == [sum(counts[place] for counts in known) for place in range(6)]
    for row in folded(aggregate, ordered_places(aggregate))[:]:
        if len(row.layers) > 1:
            assert {aggregate.layers[layer].name for layer in row.layers} == {row.name} and len(row.layers) >= 4
            assert row.counts["memory"] + row.counts["released"] == row.total
