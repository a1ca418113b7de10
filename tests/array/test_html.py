"""What a notebook shows of arrays: true numbers, escaped text, drawings that stay readable."""

import re
import xml.etree.ElementTree as ET

import glassloom.array as ga
import numpy as np
import pytest
from glassloom.reprs.grid import LINE_GAP_PX, chunk_grid


def facts(array):
    html = array._repr_html_()
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', html)
    return {label: cells for label, *cells in rows}


def svgs(html):
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", str(html), re.S)]


def texts(html):
    return [text.text for svg in svgs(html) for text in svg.iter("{http://www.w3.org/2000/svg}text")]


def test_the_card_says_bytes_shape_count_and_type_of_array_and_chunk():
    x = ga.random.default_rng(0).normal(size=(1000, 500), chunks=(100, 250))
    assert facts(x + 1) == {
        "Bytes": ["3.81 MiB", "195.31 KiB"],
        "Shape": ["1,000 × 500", "100 × 250"],
        "Count": ["20 tasks in 1 layer", "20 chunks"],
        "Type": ["float64", "numpy.ndarray"],
    }


def test_the_text_repr_names_the_operation_and_the_chunks():
    assert repr(ga.ones((4, 6), chunks=(2, 3)).sum(axis=0)) == (
        "ga.Array<sum-aggregate, shape=(6,), dtype=float64, chunksize=(3,), numpy.ndarray>"
    )


def test_unknown_lengths_are_shown_as_unknown():
    x = ga.arange(10, chunks=5)
    shown = facts(x[x > 3])
    assert (shown["Bytes"], shown["Shape"]) == (["unknown", "unknown"], ["?", "?"])
    assert "? not known yet" in x[x > 3]._repr_html_()


@pytest.mark.parametrize("array", [ga.full((), 1), ga.ones(0), ga.ones((0, 3)), ga.ones((1, 1))], ids=repr)
def test_scalars_and_empty_arrays_have_a_drawing_too(array):
    html = array._repr_html_()
    assert len(svgs(html)) == 1
    assert ("empty" in html) == (array.size == 0)


def test_user_text_is_escaped():
    def evil(block):
        return block

    evil.__name__ = "<script>alert(1)</script>"
    html = ga.ones(3).map_blocks(evil)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("n_axes", [1, 2, 3, 4, 6, 7, 12])
def test_axes_are_drawn_in_figures_of_three(n_axes):
    html = chunk_grid([(2, 2)] * n_axes)
    assert len(svgs(html)) == min(-(-n_axes // 3), 3)
    assert ("more axes" in html) == (n_axes > 9)
    assert texts(html) == ["4"] * min(n_axes, 9)


def test_lines_are_thinned_out_and_it_says_so():
    html = chunk_grid([(10,) * 1000, (10,) * 1000])
    n_lines = len(re.findall(r"M0 [1-9][\d.]*H", html)) + len(re.findall(r"M[\d.]+ 0V", html))
    drawn = re.search(r"([\d,]+) of 1,998 lines drawn", html)
    assert drawn
    assert int(drawn[1]) == n_lines <= 2 * 120 / LINE_GAP_PX
    assert len(html) < 5000


def test_every_line_is_drawn_where_there_is_room():
    html = chunk_grid([(5, 5, 5, 2)])
    assert re.findall(r"M([\d.]+) 0V", html) == ["35.3", "70.6", "105.9"]
    assert "lines drawn" not in html


def test_a_million_chunks_are_shown_at_once():
    x = ga.ones((10_000, 10_000), chunks=10)
    html = (x + 1)._repr_html_()
    assert "1,000,000 tasks in 1 layer" in html
    assert len(html) < 20_000


def test_the_chunk_type_is_that_of_the_blocks():
    masked = np.ma.masked_array([1, 2], [True, False])
    assert facts(ga.from_array(masked))["Type"][1] == "numpy.MaskedArray"


def test_a_plan_is_shown_as_a_card_of_its_layers_before_and_after():
    x = ga.random.default_rng(0).normal(size=(1000, 500), chunks=(100, 250))
    plan = (x + 1)[::2].sum(axis=0).explain()
    assert plan.startswith("as written\n")
    assert repr(plan) == str(plan)
    html = plan._repr_html_()
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>.*?)</tr>", html)]
    assert [row[:3] for row in rows if row[1].startswith(("normal", "sum-agg"))] == [
        ["20", "normal › slice › add › sum", "39.06 KiB"],
        ["2", "sum-aggregate", "3.91 KiB"],
        ["20", "normal", "3.81 MiB"],
        ["2", "sum-aggregate", "3.91 KiB"],
    ]
    assert '<th scope="row">Tasks</th><td>22</td><td>82 as written</td>' in html
    assert "test_html.py" in html
    assert "unknown" in x[x > 0].explain()._repr_html_()


def test_names_in_a_plan_are_escaped():
    x = ga.ones(4, chunks=2).map_blocks(lambda block: block)
    assert "<lambda>" not in x.explain()._repr_html_()
