"""The notebooks run from top to bottom, and what they find is right. They are kept without outputs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FOUND = {
    "02-arrays": "[mean, std, error, pi, same, float(s[0].compute())]",
    "03-dataframes": "[len(smoothed), len(train_values), int(train_values.isna().sum()), *means, *one_user.since.dt.days.tolist()]",
    "04-functions": "[best['pair'], best['coefficients'].round(2).tolist(), pi, len(results)]",
}


@pytest.mark.parametrize("name", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_notebook_is_kept_without_outputs(name: str) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def found_by(name: str, folder: Path) -> list[Any]:
    """Run a notebook in a folder; return what it found."""
    shutil.copy(NOTEBOOKS / f"{name}.ipynb", folder)
    notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
    show = f"import json\nprint(json.dumps({FOUND[name]}, default=float))\nclient.close()"
    notebook.cells.append(nbformat.v4.new_code_cell(show))
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=500, kernel_name="python3", resources=resources).execute()
    (output,) = notebook.cells[-1].outputs
    found: list[Any] = json.loads(output.text)
    return found


@pytest.mark.long
def test_arrays(tmp_path: Path) -> None:
    mean, std, error, pi, same, largest = found_by("02-arrays", tmp_path)
    # 10**8 numbers drawn from a normal distribution; six standard errors
    assert abs(mean - 11) < 6e-4
    assert abs(std - 1) < 5e-4
    assert error < 1e-12
    assert abs(pi - 3.14159265) < 6 * 1.65 / 200_000_000**0.5
    assert same
    # The first singular value of a matrix of uniform numbers is about half the root of its number of elements.
    assert largest == pytest.approx((100_000 * 500 / 4) ** 0.5, rel=0.01)


@pytest.mark.long
def test_data_frames(tmp_path: Path) -> None:
    n_smoothed, n_encoded, n_missing, bought, looked, *days = found_by("03-dataframes", tmp_path)
    assert (n_smoothed, n_encoded, n_missing) == (2_592_000, 2_000_000, 0)
    assert bought > looked + 0.1
    assert all(after is None or after != after or after >= 0 for after in days)


@pytest.mark.long
def test_functions(tmp_path: Path) -> None:
    pair, coefficients, pi, n_results = found_by("04-functions", tmp_path)
    assert pair == ["f7", "f31"]
    assert coefficients == pytest.approx([0, 2, -3], abs=0.02)
    assert abs(pi - 3.14159265) < 6 * 1.65 / 19_500_000**0.5
    assert n_results == 3
    assert (tmp_path / "data" / "fits.html").stat().st_size > 100_000
