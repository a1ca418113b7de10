"""What dashboards call layers: words, never the engine's private functions."""

from __future__ import annotations

import re

import glassloom.array as ga
import pytest
from glassloom.expr import lower, optimize
from glassloom.graph import function_label


def layer_names(*arrays: ga.Array) -> set[str]:
    graph, _ = lower(optimize([array.expr for array in arrays]))
    return {label for label, _ in graph.layer_texts().values()}


def test_the_layers_of_a_qr_are_named_for_its_factors():
    names = layer_names(*ga.linalg.qr(ga.ones((100, 20), chunks=(25, 20))))
    assert {"ones-qr", "q", "r"} <= names


@pytest.mark.parametrize(
    "make",
    [
        lambda x: ga.linalg.svd(x),
        lambda x: ga.linalg.lstsq(x, x[:, 0]),
        lambda x: (ga.histogram(x, bins=4, range=(0, 1))[0], ga.bincount((x[:, 0] * 9).astype(int)), ga.isin(x, [1])),
        lambda x: (ga.topk(x[:, 0], 3), ga.unique(x[:, 0]), ga.repeat(x, 2), ga.digitize(x, [0.5])),
    ],
)
def test_no_layer_is_named_for_a_private_function_or_a_function_of_blocks(make):
    arrays = [array for array in make(ga.random.random((100, 20), chunks=(25, 20))) if isinstance(array, ga.Array)]
    assert [name for name in layer_names(*arrays) if re.search(r"(^|-)_|_block", name)] == []


def test_a_users_function_keeps_its_name():
    def load_one_block(block):
        return block

    assert function_label(load_one_block) == "load_one_block"
    names = layer_names(ga.ones(4, chunks=2).map_blocks(load_one_block, dtype=float))
    assert names == {"ones-load_one_block"}
