"""What reprs say, where they are read later or elsewhere: states with their time, colours with words, one look for all."""

from __future__ import annotations

import base64
import gc
import hashlib
import re
import signal
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import glassloom as gl
import glassloom.array as ga
import glassloom.bag as gb
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import psutil
import pytest
import tasks
from fault_helpers import eventually
from glassloom import Client, LocalCluster
from glassloom.array.api.array_properties import array_html
from glassloom.client.future import futures_of
from glassloom.graph_drawing import PAGE_PX, Drawing, svg_text
from glassloom.reprs import STYLE_VERSION
from glassloom.reprs.block_states import COLOURS, block_states, states_html
from glassloom.reprs.chunk_advice import LARGE_BYTES, chunk_advice
from glassloom.reprs.grid import chunk_grid
from glassloom.reprs.live_blocks import QUIET_S, FollowedBlocks
from glassloom.reprs.live_card import LiveCard
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output

FINISHED = f'fill="{COLOURS["finished"]}"'
FOLDER = Path(gl.__file__).parent / "reprs"
STYLES = {2: "a941fcc9bb67a004"}
"""Of each version the style sheet's hash. If it changes, raise `STYLE_VERSION` and rename the classes, unless nothing of the
version has been released."""


def test_a_changed_style_sheet_has_a_new_version_and_all_classes_have_its_number() -> None:
    css = (FOLDER / "base.css.j2").read_text()
    assert hashlib.sha256(css.encode()).hexdigest()[:16] == STYLES[STYLE_VERSION]
    used = "".join(path.read_text() for path in FOLDER.glob("*.j2"))
    assert set(re.findall(r"\bglm\d*", used)) == {f"glm{STYLE_VERSION}"}
    assert "<script" not in used


def test_what_may_change_is_told_with_its_time_and_what_may_not_without(client: Client, tmp_path: Path) -> None:
    go = tmp_path / "go"
    waiting = client.submit(tasks.wait_for, str(go), pure=False)
    for running in (client, waiting):
        assert re.search(r"when shown, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", running._repr_html_())
    go.touch()
    waiting.result()
    assert "when shown" not in waiting._repr_html_()
    with LocalCluster(n_workers=0) as cluster:
        assert "when shown" in cluster._repr_html_()
    assert "when shown" not in cluster._repr_html_()


def test_buttons_of_jupyterlab_are_hidden_elsewhere(client: Client) -> None:
    html = client._repr_html_()
    assert re.search(r"<button[^>]* hidden[^>]*data-commandlinker-command", html)
    without = re.sub(r"<style>.*?</style>|</?button[^>]*>", "", html, flags=re.DOTALL)  # as GitHub shows it
    assert "Open dashboard" in html and "Open dashboard" not in without


def test_a_head_that_is_stopped_is_shown_as_it_was_with_its_age() -> None:
    with Client(n_workers=1, threads_per_worker=3, set_as_default=False) as client:
        assert "workers=1, threads=3" in repr(client)
        head = psutil.Process(client._record.pid)
        head.send_signal(signal.SIGSTOP)
        try:
            eventually(lambda: "as of" in repr(client))
            assert "workers=1, threads=3" in repr(client)
            html = client._repr_html_()
            assert "not answering" in html and "this is what it said" in html and "<td>3</td>" in html
        finally:
            head.send_signal(signal.SIGCONT)


def test_blocks_of_a_persisted_array_are_coloured_by_their_state(client: Client, tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    array = ga.arange(100, 104, chunks=1)
    held = array.map_blocks(lambda block: block if block.max(initial=0) <= 100 else tasks.wait_for(go, block))
    held = held.persist(scheduler=client)
    eventually(lambda: held._repr_html_().count(FINISHED) == 2)  # a block, and the legend
    html = held._repr_html_()
    assert html.count("<rect x=") >= 4 and f'fill="{COLOURS["pending"]}"' in html
    assert "3 pending" in html and "1 finished" in html and "when shown" in html
    Path(go).touch()
    eventually(lambda: "4 finished" in held._repr_html_())
    assert "when shown" not in held._repr_html_()


def test_the_card_of_a_persisted_collection_tells_what_the_head_knows_of_its_blocks(tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    with Client(n_workers=1, threads_per_worker=1, memory_limit="300 MB", set_as_default=False) as client:
        array = ga.arange(100, 102, chunks=1)
        waiting = array.map_blocks(lambda block: block if block.max(initial=0) < 100 else tasks.wait_for(go, block))
        waiting = waiting.persist(scheduler=client)
        at_s = 0.0
        blocks = FollowedBlocks(waiting, lambda array, told: array_html(array.expr, told), lambda: at_s)

        def states() -> dict[str, int]:
            blocks.look()
            return dict(Counter(blocks.facts()))

        eventually(lambda: states() == {"running": 1, "pending": 1})
        html = blocks.bundle()["text/html"]
        assert "1 running" in html and "1 pending" in html and "when shown" in html
        assert blocks.next_look_s() == 1
        Path(go).touch()
        eventually(lambda: states() == {"in memory": 2})
        at_s = QUIET_S + 1
        assert blocks.next_look_s() is None
        large = ga.ones(2**23, chunks=2**20).map_blocks(lambda block: block * 2).persist(scheduler=client)
        blocks = FollowedBlocks(large, lambda array, told: array_html(array.expr, told))
        more = ga.ones(2**24, chunks=2**20).map_blocks(lambda block: block * 3).persist(scheduler=client)
        eventually(lambda: states().get("spilled", 0) > 0)
        assert "spilled" in blocks.bundle()["text/html"]
        del large
        gc.collect()
        assert blocks.bundle() is None and blocks.next_look_s() is None
        del more


def test_a_notebook_shows_each_persisted_collection_with_its_own_card(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards: list[LiveCard] = []
    monkeypatch.setattr(LiveCard, "show", lambda card: cards.append(card))
    pdf = pd.DataFrame({"x": range(4), "name": list("abcd")})
    frame = gd.from_pandas(pdf, npartitions=2)
    lazy = [
        ga.ones(4, chunks=2), frame[["x"]], frame, frame["x"], frame["x"] + 1, frame["name"], frame.index, frame["x"].sum(),
        gb.from_sequence(range(4), npartitions=2), gb.from_sequence(range(4), npartitions=2).sum(), gl.delayed(sum)([1, 2]),
    ]  # fmt: skip
    for each in lazy:
        held = each.persist(scheduler=client)
        if hasattr(type(held), "_ipython_display_"):
            held._ipython_display_()
            bundle = cards[-1]._bundle()
            assert bundle is not None and bundle["text/plain"] == repr(held) and "<rect" in bundle["text/html"]
        else:
            assert held._repr_html_()
    assert len({id(card) for card in cards}) == len(cards) >= len(lazy) - 2


def test_blocks_are_lost_when_the_client_is_closed_unless_they_are_here_already() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        array = ga.ones(2**18, chunks=2**17).map_blocks(lambda block: block * 2).persist(scheduler=client)
        small = gl.delayed(sum)([1, 2]).persist(scheduler=client)
        gl.wait([array, small])
        assert "2 finished" in array._repr_html_() and "2.00 MiB</span>" in array._repr_html_()
    html = array._repr_html_()
    assert "2 lost" in html and "finished" not in html and "2.00 MiB</span>" not in html
    assert "1 finished" in small._repr_html_() and futures_of(small)[0].result() == 3


def test_a_future_whose_result_went_with_the_client_says_so_and_a_saved_card_says_when_it_was_there() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        future, small = client.submit(bytes, 2**21), client.submit(bytes, 3)
        gl.wait([future, small])
        assert re.search(r"finished<span[^>]*> when shown, \d{4}-", future._repr_html_())
    html = future._repr_html_()
    assert future.status == "lost" and "finished" not in html + repr(future) and "2.00 MiB" not in html
    assert "gone: " in html
    assert small.status == "finished" and small.result() == bytes(3)


def test_a_sanitized_page_shows_what_a_card_says_and_not_its_style_sheet() -> None:
    exporter = HTMLExporter(template_name="basic", sanitize_html=True)
    data = {"text/html": ga.ones((4, 4), chunks=2)._repr_html_()}
    cell = new_code_cell(outputs=[new_output("execute_result", data=data)])
    page, _ = exporter.from_notebook_node(new_notebook(cells=[cell]))
    assert "float64" in page and "--glm2-" not in page


def test_what_the_head_told_is_put_together_with_what_futures_know() -> None:
    class Held:
        def __init__(self, status: str) -> None:
            self.key, self.status = "k", status

    held = [Held(status) for status in ("pending", "pending", "finished", "finished", "pending", "error", "finished")]
    told = ["running", "unknown", "shared", "held", "held", "failed", "failed"]
    expected = ["running", "pending", "shared", "in memory", "in memory", "failed", "finished"]
    assert block_states(held, told) == expected
    assert block_states(held[2:4], ["in memory", "held"], is_on_gpu=True) == ["in memory", "on GPU"]
    assert "when shown" in states_html(["shared"], 0, was_told=True)


def test_blocks_in_this_process_are_in_memory() -> None:
    html = ga.ones((4, 4), chunks=2).persist(scheduler="threads")._repr_html_()
    assert "4 in memory" in html and html.count(f'fill="{COLOURS["in memory"]}"') == 5
    assert "in memory" not in ga.ones((4, 4), chunks=2)._repr_html_()
    frame = gd.from_pandas(pd.DataFrame({"x": range(6)}), npartitions=3).persist(scheduler="threads")
    assert "3 in memory" in frame._repr_html_()
    assert "1 in memory" in gl.delayed(sum)([1, 2]).persist(scheduler="threads")._repr_html_()
    assert "<rect" not in gl.delayed(sum)([1, 2])._repr_html_()
    bag = gb.from_sequence(range(4), npartitions=2)
    assert "2 in memory" in bag.persist(scheduler="threads")._repr_html_() and "<rect" not in bag._repr_html_()


def test_what_counts_most_is_drawn_where_blocks_share_a_place() -> None:
    states = ["finished"] * 1000
    states[500] = "failed"
    drawn = str(chunk_grid([[1] * 1000], states))
    assert drawn.count(COLOURS["failed"]) == 1
    assert 10 < drawn.count(COLOURS["finished"]) < 50
    deep = str(chunk_grid([[1, 1], [1, 1], [1, 1]], ["pending", *["finished"] * 7]))
    assert (deep.count(COLOURS["pending"]), deep.count(COLOURS["finished"])) == (1, 3)


def test_states_that_are_not_known_are_pending_and_values_may_be_on_a_gpu() -> None:
    class Odd:
        key, status = "k", "something new"

    assert block_states([Odd(), np.ones(1)], is_on_gpu=True) == ["pending", "on GPU"]
    assert str(states_html([], 0)) == ""


@pytest.mark.parametrize(
    ("n_blocks", "total_bytes", "largest_bytes", "words"),
    [
        (10, 1e9, 1e8, ""),
        (10, 1e6, 1e5, ""),
        (2_000, 2e7, 1e4, "2,000 chunks of 9.77 KiB on average"),
        (200_000, 2e10, 1e5, "200,000 chunks"),
        (2, 2 * LARGE_BYTES, LARGE_BYTES, "Chunks of up to 2.00 GiB"),
        (5_000, float("nan"), float("nan"), ""),
    ],
)
def test_absurd_chunks_get_advice(n_blocks: int, total_bytes: float, largest_bytes: float, words: str) -> None:
    advice = chunk_advice(n_blocks, total_bytes, largest_bytes, noun="chunks", remedy="x.rechunk()")
    assert advice.startswith(words) and bool(advice) == bool(words)


def test_advice_is_shown() -> None:
    assert "x.rechunk(&#34;auto&#34;) makes fewer" in ga.ones((2000, 2000), chunks=20)._repr_html_()
    assert 'role="note"' not in ga.ones((2000, 2000))._repr_html_()
    frame = gd.from_pandas(pd.DataFrame({"x": range(2000)}), npartitions=2000)
    assert "repartition(npartitions=...)" in frame._repr_html_()


def test_a_wide_graph_is_folded_to_the_width_of_a_page() -> None:
    wide = [gl.delayed(abs)(number) for number in range(60)]
    total = gl.delayed(sum)(wide)
    drawn = gl.visualize(total)
    assert [(node.label, node.detail) for node in drawn.nodes] == [("abs", "60 tasks"), ("sum", "")]
    assert len(gl.visualize(total, layers=False).nodes) == 61
    assert len(gl.visualize(gl.delayed(sum)(wide[:5])).nodes) == 6
    many = gl.visualize(*[gl.delayed(abs, name=f"n{number}")(number) for number in range(40)])
    assert width_of(many) <= PAGE_PX
    assert many.nodes[-1].label == "others"
    long_names = [gl.delayed(abs, name=f"the-orders-of-the-year-{number:05}")(number) for number in range(12)]
    assert width_of(gl.visualize(*long_names)) <= PAGE_PX
    few = gl.visualize(*[gl.delayed(abs, name=f"n{number}")(number) for number in range(14)])
    assert [node.label for node in few.nodes] == [f"n{number}" for number in range(14)]


def width_of(drawing: Drawing) -> float:
    return float(ElementTree.fromstring(svg_text(drawing.nodes)).attrib["width"])


def test_a_drawing_is_an_image_no_wider_than_its_page() -> None:
    drawn = gl.visualize(gl.delayed(sum)([gl.delayed(abs)(-1), 2]))
    image = ElementTree.fromstring(drawn._repr_html_().replace(">", "/>"))
    assert image.tag == "img" and "max-width: 100%" in image.attrib["style"]
    assert image.attrib["alt"] == "Graph of 2 nodes"
    kind, _, code = image.attrib["src"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(code).decode() == drawn.svg


def test_a_display_asks_nobody_and_still_knows_of_workers_that_come_and_go() -> None:
    with LocalCluster(n_workers=1, threads_per_worker=2) as cluster, Client(cluster, set_as_default=False) as client:
        head = psutil.Process(cluster.record.pid)
        cluster.scale(2)
        head.send_signal(signal.SIGSTOP)  # it answers nothing any more
        try:
            assert "workers=2, threads=4" in repr(cluster)
            eventually(lambda: "workers=2, threads=4" in repr(client))
            assert "<td>4</td>" in client._repr_html_() and "<td>4</td>" in cluster._repr_html_()
        finally:
            head.send_signal(signal.SIGCONT)
        cluster.scale(0)
        assert "workers=0, threads=0" in repr(cluster)
