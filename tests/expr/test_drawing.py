"""Drawings: what stands in them, in which rows, and what they are saved as."""

import xml.etree.ElementTree as ElementTree

import glassloom as gl
import glassloom.array as ga
import glassloom.dataframe as gd
import pandas as pd
import pytest
from glassloom import graph_drawing
from glassloom.errors import OptionError
from glassloom.graph_drawing import Node, rows_of, svg_text


@pytest.fixture
def without_graphviz(monkeypatch):
    monkeypatch.setattr(graph_drawing.shutil, "which", lambda program: None)


def boxes(svg):
    root = ElementTree.fromstring(svg)
    names = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    edges = list(root.iter("{http://www.w3.org/2000/svg}path"))
    return names, edges


def test_a_small_array_is_drawn_task_by_task(without_graphviz):
    drawing = ga.ones(10, chunks=5).sum().visualize()
    assert [(node.label, node.detail, node.is_result) for node in drawing.nodes] == [
        ("ones-sum", "0", False), ("ones-sum", "1", False), ("sum-aggregate", "", True),
    ]  # fmt: skip
    names, edges = boxes(drawing._repr_svg_())
    assert len(names) == 3
    assert len(edges) == 2


def test_many_tasks_are_drawn_as_layers(without_graphviz):
    drawing = ga.ones(1000, chunks=1).sum(split_every=2000).visualize()
    assert [(node.label, node.detail, node.is_result) for node in drawing.nodes] == [
        ("ones > sum", "1,000 tasks", False),
        ("sum-aggregate", "1 task", True),
    ]


def test_layers_and_the_unoptimised_plan_are_drawn_when_asked_for(without_graphviz):
    x = (ga.ones(4, chunks=2) + 1).sum()
    assert [node.label for node in x.visualize(layers=True, optimize_graph=False).nodes] == [
        "ones", "add", "sum", "sum-aggregate",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "build",
    [
        lambda: ga.arange(1, 50, 3, chunks=5) ** 2,
        lambda: ga.ones((15, 15), chunks=(5, 5)).sum(axis=0),
        lambda: (lambda x: x.dot(x.T + 1) - x.mean())(ga.ones((15, 15), chunks=(10, 5))),
        lambda: ga.ones((1000, 1000), chunks=100)[:100, 500:100:-2],
        lambda: ga.ones((15, 15), chunks=(10, 5))[:, [10, 1, 5]],
        lambda: ga.linalg.svd(ga.ones((40, 4), chunks=(10, 4))).U,
        lambda: ga.ones(4, chunks=2).persist(scheduler="inline") + 1,
        lambda: gd.from_pandas(pd.DataFrame({"a": [1, 2, 3]}), npartitions=2).a.sum(),
        lambda: gl.delayed(sum)([gl.delayed(abs)(-1), 2]),
    ],
)
def test_every_collection_is_drawn_with_all_its_edges(without_graphviz, build):
    drawing = build().visualize()
    names, edges = boxes(drawing._repr_svg_())
    assert len(names) == len(drawing.nodes)
    assert len(edges) == sum(len(node.sources) for node in drawing.nodes)
    assert any(node.is_result for node in drawing.nodes)


def test_several_collections_share_one_drawing(without_graphviz):
    x = ga.ones(4, chunks=2)
    assert len(gl.visualize(x.sum(), [x.sum(), "kept"]).nodes) == len(x.sum().visualize().nodes)
    with pytest.raises(TypeError, match="visualize needs at least one"):
        gl.visualize(3)


def test_labels_are_escaped(without_graphviz):
    assert "<lambda>" not in svg_text([Node("a", "<lambda>", "<b>", hint="<&>")])
    boxes(svg_text([Node("a", "<lambda>", "<b>", hint="<&>")]))


def test_what_a_node_reads_stands_above_it_whatever_the_order():
    nodes = [Node("c", "", sources=["b"]), Node("b", "", sources=["a"]), Node("a", "")]
    assert rows_of(nodes) == [["a"], ["b"], ["c"]]


def test_crossings_are_undone():
    nodes = [Node("a", ""), Node("b", ""), Node("x", "", sources=["b"]), Node("y", "", sources=["a"])]
    assert rows_of(nodes) in ([["a", "b"], ["y", "x"]], [["b", "a"], ["x", "y"]])


def test_a_drawing_is_saved_in_the_format_of_the_file(without_graphviz, tmp_path):
    x = ga.ones(4, chunks=2).sum()
    x.visualize(tmp_path / "plan.svg")
    assert (tmp_path / "plan.svg").read_text().startswith("<svg")
    x.visualize(tmp_path / "plan.dot")
    assert (tmp_path / "plan.dot").read_text().startswith("digraph")
    with pytest.raises(OptionError, match=r"plan.png' needs Graphviz's dot on the PATH; .svg doesn't"):
        x.visualize(tmp_path / "plan.png")
    with pytest.raises(OptionError, match=r"plan.gif' doesn't end in one of .svg, .dot, .png, .pdf"):
        x.visualize(tmp_path / "plan.gif")


def test_graphviz_draws_if_it_is_there(monkeypatch, tmp_path):
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\ncat >/dev/null\nprintf "<svg>drawn as %s</svg>" "$1"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    x = ga.ones(4, chunks=2)
    assert x.visualize().svg == "<svg>drawn as -Tsvg</svg>"
    x.visualize(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_text() == "<svg>drawn as -Tpng</svg>"


def test_long_chains_are_drawn_without_recursion(without_graphviz):
    nodes = [Node(str(n), "", sources=[str(n - 1)] if n else []) for n in range(3000)]
    assert len(rows_of(list(reversed(nodes)))) == 3000


def test_choices_of_other_looks_are_taken_with_a_warning(without_graphviz, tmp_path):
    total = ga.ones(8, chunks=4).sum()
    with pytest.warns(UserWarning, match="engine, rankdir changed nothing") as caught:
        drawing = total.visualize(engine="cytoscape", rankdir="LR")
    assert drawing.svg == total.visualize().svg
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="color changed nothing") as caught:
        gl.visualize(total, color="order")
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="engine changed nothing") as caught:
        gd.from_pandas(pd.DataFrame({"x": [1]}), npartitions=1).visualize(engine="cytoscape")
    assert caught[0].filename == __file__
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        total.visualize(colour="order")
    total.visualize(str(tmp_path / "graph"), format="svg")
    total.visualize(tmp_path / "other.svg", format="svg")
    total.visualize(tmp_path / "third", format=".dot")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.svg", "other.svg", "third.dot"]
