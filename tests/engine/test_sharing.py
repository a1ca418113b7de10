"""What tasks are handed of other tasks' results: theirs to read, whatever the runtime; and how large results are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import glassloom.array as ga
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from glassloom import compute, delayed, persist
from glassloom.backends.sharing import read_only_view
from glassloom.backends.sizeof import sizeof
from glassloom.store.pickling import dump_buffers, loads
from glassloom.store.segment import SegmentWriter, read_location
from scipy import sparse

MIB = 2**20
SPARSE_FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


@pytest.fixture(params=["threads", "inline", "processes"])
def scheduler(request: pytest.FixtureRequest) -> Any:
    """Return each runtime in turn."""
    return request.getfixturevalue("client") if request.param == "processes" else request.param


def write_into(array: np.ndarray) -> float:
    array[0] = 7.0
    return float(array.max())


def write_into_first(arrays: Any) -> float:
    return write_into(arrays[0])


def add_column(frame: pd.DataFrame) -> int:
    frame["new"] = 1
    frame.iloc[0, 0] = 100
    return len(frame.columns)


def append(values: list[int]) -> list[int]:
    values.append(4)
    return values


# Read-only inputs, whatever the runtime


@pytest.mark.parametrize("n_elements", [3, 100_000])
def test_a_task_that_writes_into_its_input_gets_numpys_error_and_the_remedy(scheduler: Any, n_elements: int) -> None:
    ones = delayed(np.ones)(n_elements)
    with pytest.raises(ValueError, match="assignment destination is read-only") as error:
        compute(delayed(write_into)(ones), scheduler=scheduler)
    if scheduler != "inline":  # there the exception leaves as it is
        assert any("change a copy: x = x.copy()" in note for note in error.value.__notes__)


def test_arrays_inside_lists_are_read_only_too(scheduler: Any) -> None:
    pair = delayed(lambda: [np.ones(100_000), 1])()
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        compute(delayed(write_into_first)(pair), scheduler=scheduler)


def test_what_a_task_does_to_a_frame_stays_with_it(scheduler: Any) -> None:
    frame = delayed(pd.DataFrame)({"x": np.arange(100_000)})
    changes = [delayed(add_column)(frame), delayed(add_column)(delayed(lambda same: same)(frame))]
    assert compute(*changes, scheduler=scheduler) == (2, 2)
    (kept,) = persist(frame, scheduler=scheduler)
    assert compute(delayed(add_column)(kept), scheduler=scheduler) == (2,)
    (after,) = compute(kept, scheduler=scheduler)
    assert (list(after.columns), after.iloc[0, 0]) == (["x"], 0)


def test_what_a_task_does_to_a_list_stays_with_it(scheduler: Any) -> None:
    (kept,) = persist(delayed(lambda: [1, 2, 3])(), scheduler=scheduler)
    assert compute(delayed(append)(kept), scheduler=scheduler) == ([1, 2, 3, 4],)
    assert compute(kept, scheduler=scheduler) == ([1, 2, 3],)


def test_the_users_own_array_is_not_changed_either(scheduler: Any) -> None:
    own = np.zeros((200, 200))
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        compute(ga.from_array(own, chunks=100).map_blocks(lambda block: write_into(block) + block), scheduler=scheduler)
    assert own.sum() == 0.0


@pytest.mark.parametrize("name", ["threads", "inline"])
def test_results_are_their_users_own_without_other_processes(name: str) -> None:
    (kept,) = persist(delayed(np.ones)(5), scheduler=name)
    (same,) = compute(delayed(lambda array: array)(kept), scheduler=name)
    same[0] = 9.0
    (again,) = compute(delayed(lambda array: array * 1)(kept), scheduler=name)
    again[0] = 8.0
    assert compute(delayed(lambda array: array.sum())(kept), scheduler=name) == (5.0,)


def test_a_shared_array_is_a_view() -> None:
    array = np.ones(5)
    handed = read_only_view({"a": [array, (array, "text")]})
    assert handed["a"][0] is not array and np.shares_memory(handed["a"][1][0], array)
    assert array.flags.writeable
    masked = read_only_view(np.ma.masked_less(np.arange(4.0), 2))
    assert (masked.sum(), masked.data.flags.writeable) == (5.0, False)


@pytest.mark.parametrize("form", SPARSE_FORMATS)
def test_sparse_matrices_are_shared_without_a_copy(form: str) -> None:
    matrix = sparse.eye_array(1000, format=form)
    handed = read_only_view(matrix)
    assert (handed != matrix).nnz == 0
    if form in ("csr", "csc", "coo", "bsr", "dia"):
        assert np.shares_memory(handed.data, matrix.data)
        with pytest.raises(ValueError, match="read-only"):
            handed.data[:] = 5


# Through shared memory


TABLE = pa.table({"number": range(100_000), "text": [f"row {number}" for number in range(100_000)]})
COPIED_WITHOUT = [
    TABLE,
    TABLE["text"],
    TABLE.to_batches()[0],
    pd.Series(TABLE["text"].to_pylist(), dtype="str"),
    pd.Series(TABLE["text"].to_pylist(), dtype="string[pyarrow]"),
    pd.Series(TABLE["text"].to_pylist(), dtype="category"),
    TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    sparse.random_array((1000, 1000), density=0.1, format="csr"),
    sparse.csc_matrix(np.eye(600)),
]


@pytest.mark.parametrize("value", COPIED_WITHOUT, ids=lambda value: type(value).__name__)
def test_columns_and_matrices_travel_as_buffers_and_are_mapped_without_a_copy(value: Any, tmp_path: Any) -> None:
    head, buffers = dump_buffers(value)
    assert len(head) < 2000 and sum(buffer.nbytes for buffer in buffers) >= 7000
    assert _equal(loads(head, buffers), value)
    location = SegmentWriter("p-", str(tmp_path), "w").place(value, on_disk=True)
    read = read_location(location)
    assert _equal(read, value)
    if isinstance(value, pa.Table):
        (data,) = read["number"].chunks
        maps = Path("/proc/self/maps").read_text().splitlines()
        mapped = [line for line in maps if str(tmp_path) in line]
        low, high = (int(bound, 16) for bound in mapped[0].split()[0].split("-"))
        assert low <= data.buffers()[1].address < high


def _equal(left: Any, right: Any) -> bool:
    if sparse.issparse(left):
        return (left != right).nnz == 0
    return bool(left.equals(right))


# Sizes


@pytest.mark.parametrize("form", SPARSE_FORMATS)
@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
@pytest.mark.parametrize("make", [sparse.random_array, lambda shape, **kw: sparse.random(*shape, **kw)])
def test_a_sparse_matrix_is_as_large_as_what_it_keeps(form: str, make: Any) -> None:
    matrix = make((1000, 1000), density=0.01).asformat(form)
    head, buffers = dump_buffers(matrix)
    kept = len(head) + sum(buffer.nbytes for buffer in buffers)
    if form in ("lil", "dok"):  # Python objects, which pickle smaller than they are
        assert 10_000 * 8 < sizeof(matrix) < 10_000 * 400
    else:
        assert sizeof(matrix) == pytest.approx(kept, rel=0.05)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (TABLE, TABLE.nbytes),
        (TABLE.slice(0, 1000), TABLE.slice(0, 1000).nbytes),
        (TABLE["text"], TABLE["text"].nbytes),
        (TABLE.to_batches()[0], TABLE.nbytes),
        (pa.py_buffer(bytes(5000)), 5000),
        (pd.Series(["x" * 90] * 1000, dtype="str"), 98_000),
        (pd.Series(["x" * 90] * 1000, dtype="category"), 1000),
        (np.broadcast_to(np.ones(10), (10_000, 10)), 80),
        (np.array(["x" * 1000] * 500, dtype=object), 500 * (8 + 1049)),
        (np.ma.masked_less(np.ones(1000), 0.5), 8001),
    ],
    ids=lambda value: type(value).__name__,
)
def test_sizes_are_those_of_what_is_kept(value: Any, expected: int) -> None:
    assert sizeof(value) == pytest.approx(expected, rel=0.1, abs=600)
