"""What comes into the lazy world: nothing that is changed later changes a result."""

import pickle
import time

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pandas as pd
import pytest
from glassloom.array.sources.choice import source_of
from glassloom.array.sources.mapped import MappedSource
from glassloom.array.sources.memory import MemorySource, is_writeable, overlaps, owned
from glassloom.array.sources.versions import file_version
from glassloom.errors import ReadError

SQUARE = np.arange(16.0).reshape(4, 4)


@pytest.fixture(scope="module")
def client():
    """One for all tests that need another process: starting one takes as long as all else that they do."""
    with gl.Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        yield client


def _assigned(key, value):
    x = ga.ones((4, 4), chunks=2)
    x[key] = value
    return x


def _added(block, other):
    return block + other


WAYS = {
    "from_array": lambda a: ga.from_array(a, chunks=2),
    "from_array with a name": lambda a: ga.from_array(a, chunks=2, name="mine"),
    "asarray": ga.asarray,
    "array": ga.array,
    "asanyarray": ga.asanyarray,
    "operator": lambda a: ga.ones((4, 4), chunks=2) + a,
    "reflected operator": lambda a: a * ga.ones((4, 4), chunks=2),
    "comparison": lambda a: ga.ones((4, 4), chunks=2) < a,
    "ufunc": lambda a: np.hypot(ga.ones((4, 4), chunks=2), a),
    "ufunc with where": lambda a: np.add(ga.ones((4, 4), chunks=2), 1, where=a > 3),
    "matmul": lambda a: ga.ones((4, 4), chunks=2) @ a,
    "reflected matmul": lambda a: a @ ga.ones((4, 4), chunks=2),
    "dot": lambda a: ga.ones((4, 4), chunks=2).dot(a),
    "tensordot": lambda a: np.tensordot(ga.ones((4, 4), chunks=2), a),
    "einsum": lambda a: np.einsum("ij,jk->ik", ga.ones((4, 4), chunks=2), a),
    "outer": lambda a: np.outer(ga.ones(4, chunks=2), a),
    "where": lambda a: ga.where(ga.ones((4, 4), chunks=2) > 0, a, 0),
    "where of a mask": lambda a: ga.where(a > 3, ga.ones((4, 4), chunks=2), 0),
    "assigned value": lambda a: _assigned(slice(None), a),
    "assigned part": lambda a: _assigned(slice(0, 2), a[:2]),
    "assigned by positions": lambda a: _assigned([3, 1], a[:2]),
    "assigned to a lazy mask": lambda a: _assigned(ga.ones((4, 4), chunks=2) > 0, a[0, 0]),
    "assigned by a mask": lambda a: _assigned(a > 3, 5),
    "positions": lambda a: ga.from_array(SQUARE, chunks=2)[a[0].astype(int)],
    "mask": lambda a: ga.from_array(SQUARE, chunks=2)[a > 3],
    "take": lambda a: ga.arange(16, chunks=4).take(a.ravel().astype(int)),
    "concatenate": lambda a: ga.concatenate([ga.ones((4, 4), chunks=2), a]),
    "stack": lambda a: np.stack([ga.ones((4, 4), chunks=2), a]),
    "list of arrays": lambda a: ga.asarray([ga.ones((4, 4), chunks=2), a]),
    "broadcast_to": lambda a: ga.broadcast_to(a, (2, 4, 4)),
    "clip": lambda a: ga.full((4, 4), 5, chunks=2).clip(a, a + 1),
    "map_blocks": lambda a: ga.map_blocks(_added, ga.ones((4, 4), chunks=4), a),
    "map_blocks by keyword": lambda a: ga.map_blocks(_added, ga.ones((4, 4), chunks=4), other=a, dtype=float),
    "map_overlap": lambda a: ga.map_overlap(_added, ga.ones((4, 4), chunks=4), depth=0, other=a, dtype=float),
    "blockwise": lambda a: ga.blockwise(_added, "ij", ga.ones((4, 4), chunks=4), "ij", a, "ij", dtype=float),
    "blockwise by keyword": lambda a: ga.blockwise(_added, "ij", ga.ones((4, 4), chunks=4), "ij", other=a, dtype=float),
    "apply_gufunc": lambda a: ga.apply_gufunc(
        _added, "(i),(i)->(i)", ga.ones((4, 4), chunks=4), a, output_dtypes=float
    ),
    "interp": lambda a: ga.interp(ga.ones(4, chunks=2), a[0], a[1]),
    "histogram": lambda a: ga.histogram(ga.arange(16, chunks=4), bins=a[0])[0],
    "weights of a histogram": lambda a: ga.histogram(ga.arange(16, chunks=4), 4, range=(0, 16), weights=a.ravel())[0],
    "digitize": lambda a: ga.digitize(ga.arange(16, chunks=4), a[1]),
    "searchsorted": lambda a: ga.searchsorted(ga.arange(16, chunks=4), a[1]),
    "isin": lambda a: ga.isin(ga.arange(20, chunks=4), a),
    "average": lambda a: ga.average(ga.arange(16, chunks=4).reshape(4, 4), weights=a),
    "bincount": lambda a: ga.bincount(ga.arange(16, chunks=4), weights=a.ravel(), minlength=16),
    "percentile": lambda a: ga.percentile(ga.arange(16, chunks=16), a[0]),
    "pad": lambda a: ga.pad(ga.ones(4, chunks=2), 1, constant_values=a[0, :2]),
    "insert": lambda a: ga.insert(ga.ones((4, 4), chunks=2), 1, a[1], axis=0),
    "append": lambda a: ga.append(ga.ones((4, 4), chunks=2), a, axis=0),
    "choose": lambda a: ga.choose(ga.zeros((4, 4), chunks=2, dtype=int), [a, a]),
    "select": lambda a: ga.select([ga.ones((4, 4), chunks=2) > 0], [a]),
    "compress": lambda a: ga.compress(a[0] > 1, ga.ones((4, 4), chunks=2), axis=0),
    "repeat": lambda a: ga.repeat(ga.ones(4, chunks=2), a[0].astype(int)),
    "gradient": lambda a: ga.gradient(ga.arange(16.0, chunks=16).reshape(4, 4), a[0, 1] + 1)[0],
    "solve": lambda a: ga.linalg.solve(ga.eye(4, chunks=2) * 2, a),
    "random": lambda a: ga.random.default_rng(0).normal(a, 0, size=(4, 4), chunks=2),
    "choice": lambda a: ga.random.default_rng(0).choice(a.ravel(), 8, chunks=4),
    "masked": lambda a: ga.from_array(np.ma.MaskedArray(a, a > 9), chunks=2),
    "masked by": lambda a: ga.ma.masked_array(ga.ones((4, 4), chunks=2), a > 3),
    "filled by": lambda a: ga.ma.filled(ga.ma.masked_greater(ga.from_array(SQUARE, chunks=2), 3), a[0, 0]),
    "series": lambda a: ga.from_array(pd.Series(a[0], copy=False), chunks=2),
    "asarray of a series": lambda a: ga.asarray(pd.Series(a[0], copy=False)),
    "read-only view": lambda a: ga.from_array(np.broadcast_to(a, (2, 4, 4)), chunks=2),
    "memory view": lambda a: ga.asarray(memoryview(a)),
    "dlpack": ga.from_dlpack,
}

CHANGES = {
    "assignment": lambda a: a.__setitem__(..., -1),
    "in place": lambda a: a.__imul__(3),
    "through a view": lambda a: a.T.__setitem__(0, 99),
    "one element": lambda a: a.__setitem__((0, 1), 3),
    "sorted": lambda a: a[::-1].ravel().sort() or a.__setitem__(slice(None), a[::-1].copy()),
}


def _value(lazy):
    return np.ma.filled(lazy.compute(scheduler="inline"), -7)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_changed_later_changes_no_result(way):
    make = WAYS[way]
    expected = _value(make(SQUARE.copy()))
    for change in CHANGES.values():
        mine = SQUARE.copy()
        lazy = make(mine)
        change(mine)
        np.testing.assert_array_equal(_value(lazy), expected)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_changed_later_changes_no_array_that_was_made_of_the_same_values(way):
    make = WAYS[way]
    expected = _value(make(SQUARE.copy()))
    mine = SQUARE.copy()
    first = make(mine)
    mine[...] = 1
    second = make(SQUARE.copy())
    for value in gl.compute(first, second, scheduler="inline"):
        np.testing.assert_array_equal(np.ma.filled(value, -7), expected)


def test_a_buffer_that_is_filled_anew_makes_arrays_of_their_own(client):
    buffer, made = np.zeros(4), []
    for number in range(3):
        buffer[:] = number
        made.append(ga.from_array(buffer, chunks=2))
    assert [each.sum().compute() for each in made] == [0, 4, 8]
    buffer[:] = 3
    held = ga.from_array(buffer, chunks=2).persist(scheduler=client)
    buffer[:] = 4
    assert [each.sum().compute(scheduler=client) for each in [*made, held]] == [0, 4, 8, 12]


def test_weights_that_are_updated_in_place_count_as_they_were():
    weights, inputs, found = np.ones((2, 1)), ga.ones((3, 2), chunks=2), []
    for _ in range(3):
        found.append(inputs @ weights)
        weights -= 1
    assert [each.compute()[0, 0] for each in found] == [2, 0, -2]


def test_lists_and_dicts_among_arguments_count_as_they_were():
    numbers, named = [1, [2]], {"k": [3]}
    lazy = ga.map_blocks(lambda block, n, k: block + n[0] + n[1][0] + k[0], ga.ones(2), numbers, **named, dtype=float)
    numbers[0] = numbers[1][0] = named["k"][0] = 50
    assert lazy.compute().tolist() == [7, 7]


# What is copied, and what isn't.


def test_what_nobody_can_write_to_is_not_copied():
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    of_bytes = np.frombuffer(b"12345678", "u1")
    for array in (frozen, frozen[1:], of_bytes, of_bytes.reshape(2, 4)):
        assert not is_writeable(array)
        assert np.shares_memory(source_of(array).array, array)
        assert source_of(array).owned


def test_a_read_only_view_of_what_can_be_written_to_is_copied():
    base = np.arange(4.0)
    view = base[:]
    view.flags.writeable = False
    of_bytes = np.frombuffer(memoryview(bytearray(8)).toreadonly(), "u1")
    for array in (base, view, view[1:], np.broadcast_to(base, (3, 4))):
        assert is_writeable(array)
        assert not np.shares_memory(source_of(array).array, array)
    assert not is_writeable(of_bytes)  # the buffer says that it is constant: whoever made it read-only is believed


def test_copy_false_takes_the_array_as_it_is_and_copy_true_always_copies():
    array, frozen = np.arange(4.0), np.arange(4.0)
    frozen.flags.writeable = False
    for make in (ga.asarray, ga.from_array):
        assert np.shares_memory(make(array, copy=False).expr.source.array, array)
        assert not make(array, copy=False).expr.source.owned
        assert not np.shares_memory(make(frozen, copy=True).expr.source.array, frozen)
    assert np.shares_memory(ga.asarray(frozen).expr.source.array, frozen)


def test_what_is_repeated_is_copied_once():
    wide = np.broadcast_to(np.arange(4.0), (1_000_000_000, 4))
    copied = owned(wide)
    assert copied.strides == wide.strides and not np.shares_memory(copied, wide)
    assert ga.from_array(np.broadcast_to(np.arange(3.0), (5, 3))).sum().compute() == 15


@pytest.mark.parametrize("step", [1, 3, -1])
@pytest.mark.parametrize("dtype", ["f8", "i2", "S3"])
def test_of_windows_only_what_they_lie_in_is_copied(step, dtype):
    memory = np.arange(1000).astype(dtype)[::step]
    windows = np.lib.stride_tricks.sliding_window_view(memory, 200)
    for view in (windows, windows[:, ::-1], np.broadcast_to(windows, (2, *windows.shape)), windows[:1]):
        made, expected = owned(view), view.copy()
        if view.nbytes > 2 * memory.nbytes:
            assert made.shape == view.shape and overlaps(made[0] if made.ndim == 3 else made)
        assert not np.may_share_memory(made, memory)
        np.testing.assert_array_equal(made, expected)
        first, again = (ga.from_array(view, chunks=100) for _ in range(2))
        assert first.name == again.name
        np.testing.assert_array_equal(first.compute(), expected)
    other = ga.from_array(np.lib.stride_tricks.sliding_window_view(memory[::-1], 200))
    assert other.name != ga.from_array(windows).name


def test_copies_keep_their_layout_their_class_and_their_mask():
    fortran = np.asfortranarray(SQUARE.copy())
    assert owned(fortran).flags.f_contiguous
    assert type(owned(np.rec.array([(1, 2.0)]))) is np.recarray
    masked = np.ma.MaskedArray(np.arange(3), [False, True, False], fill_value=9)
    lazy = ga.from_array(masked)
    masked.mask[0] = True
    assert lazy.compute().mask.tolist() == [False, True, False] and lazy.compute().fill_value == 9


def test_copy_on_write_maps_are_copied_as_their_changes_are_not_the_files(tmp_path):
    np.save(tmp_path / "x.npy", SQUARE)
    own = np.load(tmp_path / "x.npy", mmap_mode="c")
    own[0] = 5
    assert isinstance(source_of(own), MemorySource)
    lazy = ga.from_array(own)
    own[0] = 6
    assert lazy[0].compute().tolist() == [5] * 4


# Memory maps


@pytest.fixture
def npy(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, SQUARE)
    _age(path)
    return path


def _age(path, by_s=100):
    """Let a file be older than it is: what has just changed may change again, so that it is equal to nothing."""
    import os

    found = os.stat(path)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns - int(by_s * 1e9)))
    while file_version(path) != file_version(path):
        pass  # that was a change, too: 20 ms


VIEWS = {
    "all": lambda m: m,
    "as an array": np.asarray,
    "rows": lambda m: m[1:3],
    "columns": lambda m: m[:, 1::2],
    "backwards": lambda m: m[::-1, ::-1],
    "transposed": lambda m: m.T[1:],
    "flat": lambda m: m.reshape(-1)[3:],
    "bytes": lambda m: m.view("u1")[:, 3:],
}


@pytest.mark.parametrize("view", VIEWS)
def test_memory_maps_are_named_by_their_file_and_never_hashed(npy, view, monkeypatch):
    monkeypatch.setattr(MemorySource, "__init__", None)
    mapped = VIEWS[view](np.load(npy, mmap_mode="r"))
    source = source_of(mapped)
    assert isinstance(source, MappedSource) and np.shares_memory(source.array, mapped)
    assert source_of(VIEWS[view](np.load(npy, mmap_mode="r"))).version == source.version
    assert source_of(np.load(npy, mmap_mode="r")[:1]).version != source.version
    sent = pickle.dumps(source)
    assert len(sent) < 1000
    np.testing.assert_array_equal(pickle.loads(sent).array, mapped)
    lazy = ga.from_array(mapped, chunks=2)
    np.testing.assert_array_equal(lazy.compute(), mapped)
    np.testing.assert_array_equal(lazy[::-1].compute(), mapped[::-1])
    np.testing.assert_array_equal(lazy.persist().compute(), mapped)


def test_a_map_of_a_file_that_is_mapped_for_writing_is_equal_to_nothing(npy):
    mapped = np.load(npy, mmap_mode="r")
    assert source_of(mapped).version == source_of(mapped).version
    writing = np.load(npy, mmap_mode="r+")
    assert source_of(mapped).version != source_of(mapped).version
    del writing
    _age(npy, by_s=1)
    assert source_of(mapped).version == source_of(mapped).version


def test_a_map_of_a_changed_file_has_another_name(npy):
    before = source_of(np.load(npy, mmap_mode="r")).version
    _age(npy, by_s=1)
    assert source_of(np.load(npy, mmap_mode="r")).version != before


def test_a_file_that_has_just_changed_is_equal_to_nothing(npy):
    import os

    os.utime(npy, ns=(0, time.time_ns() + 10**12))  # however slow this is
    assert source_of(np.load(npy, mmap_mode="r")).version != source_of(np.load(npy, mmap_mode="r")).version


def test_a_map_that_can_be_written_to_is_equal_to_nothing_and_read_when_it_is_needed(npy):
    mapped = np.load(npy, mmap_mode="r+")
    lazy = ga.from_array(mapped, chunks=2)
    assert lazy.name != ga.from_array(mapped, chunks=2).name
    held = lazy.persist()
    mapped[0] = 7
    assert lazy[0].compute().tolist() == [7] * 4
    assert held[0].compute().tolist() == [0, 1, 2, 3]


def _itself(block):
    return block


KEPT = {
    "all": lambda x: x,
    "transposed": lambda x: x.T,
    "new axis": lambda x: x[None],
    "slice": lambda x: x[1:, ::-1],
    "reshaped": lambda x: x.reshape(-1),
    "viewed": lambda x: x.view("i8"),
    "repeated": lambda x: ga.broadcast_to(x, (2, 4, 4)),
    "axes swapped": lambda x: ga.swapaxes(x, 0, 1),
    "mapped": lambda x: x.map_blocks(_itself),
    "mapped twice": lambda x: x.T.map_blocks(_itself).T,
    "part of a sum": lambda x: x.T + ga.zeros((4, 4), chunks=4),
}


@pytest.mark.parametrize("way", KEPT)
@pytest.mark.parametrize("chunks", [2, 4])
def test_what_is_kept_of_a_map_does_not_change_with_the_file(npy, way, chunks):
    mapped = np.load(npy, mmap_mode="r+")
    held = KEPT[way](ga.from_array(mapped, chunks=chunks)).persist(scheduler="threads")
    before = KEPT[way](ga.from_array(SQUARE, chunks=chunks)).compute()
    mapped[:] = 7
    np.testing.assert_array_equal(held.compute(scheduler="threads"), before)


def test_what_is_kept_of_a_stack_does_not_change_with_the_files(tmp_path):
    ga.to_npy_stack(tmp_path / "x", ga.from_array(SQUARE, chunks=2))
    held = [ga.from_npy_stack(tmp_path / "x").persist(), ga.from_npy_stack(tmp_path / "x").T.persist()]
    np.load(tmp_path / "x" / "0.npy", mmap_mode="r+")[:] = 7
    for each, expected in zip(held, (SQUARE, SQUARE.T), strict=True):
        np.testing.assert_array_equal(each.compute(), expected)


def test_worker_processes_open_maps_themselves_and_see_if_the_file_was_replaced(npy, tmp_path, client):
    lazy = ga.from_array(np.load(npy, mmap_mode="r"), chunks=2)
    np.testing.assert_array_equal((lazy + 1).compute(scheduler=client), SQUARE + 1)
    np.save(tmp_path / "y.npy", SQUARE)
    (tmp_path / "y.npy").replace(npy)
    with pytest.raises(ReadError, match="was replaced or cut since it was mapped"):
        (lazy + 2).compute(scheduler=client)
    assert isinstance(source_of(np.load(npy, mmap_mode="r")), MappedSource)


def test_a_map_whose_files_name_another_has_by_now_is_taken_as_memory(npy, tmp_path):
    mapped = np.load(npy, mmap_mode="r")
    np.save(tmp_path / "y.npy", SQUARE + 1)
    (tmp_path / "y.npy").replace(npy)
    assert isinstance(source_of(mapped), MemorySource)
    np.testing.assert_array_equal(ga.from_array(mapped).compute(), SQUARE)
