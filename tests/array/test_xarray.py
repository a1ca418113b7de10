"""xarray on our arrays: what its documentation shows gives what it gives on NumPy's, lazily where it is on Dask's."""

import contextlib
from unittest import mock

import glassloom.array as ga
import numpy as np
import pandas as pd
import pytest
from glassloom import collection

xr = pytest.importorskip("xarray")

SHAPE, CHUNKS = (12, 6, 8), (4, 3, 8)


def values(seed=0, holes=True):
    made = np.random.default_rng(seed).normal(10, 3, size=SHAPE)
    if holes:
        made[::5, 2, 3] = np.nan
    return made


def array_of(data):
    return xr.DataArray(
        data, dims=("time", "lat", "lon"), name="t",
        coords={
            "time": pd.date_range("2000-01-01", periods=SHAPE[0], freq="MS"),
            "lat": np.linspace(-50, 50, SHAPE[1]), "lon": np.arange(SHAPE[2]) * 45.0,
        },
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _ours_among_several():
    """Dask may be installed as well."""
    with xr.set_options(chunk_manager="glassloom"):
        yield


@pytest.fixture(scope="module")
def plain():
    return array_of(values())


@pytest.fixture(scope="module")
def lazy():
    return array_of(ga.from_array(values(), chunks=CHUNKS))


@contextlib.contextmanager
def counted_runs():
    """Count how often something is computed."""
    with mock.patch.object(collection, "choose_runtime", wraps=collection.choose_runtime) as runs:
        yield runs


def lazy_parts(result):
    """The arrays of a result's variables that aren't coordinates."""
    if isinstance(result, (tuple, list)):
        return [part for each in result for part in lazy_parts(each)]
    if isinstance(result, xr.Dataset):
        return [each.data for each in result.data_vars.values()]
    return [result.data]


def same(found, expected):
    if isinstance(expected, (tuple, list)):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    xr.testing.assert_allclose(found.compute(), expected)
    assert isinstance(expected, xr.Dataset) or found.dims == expected.dims


def ufunc(x):
    return xr.apply_ufunc(lambda block: block * 2, x, dask="parallelized", output_dtypes=[float])


def along_time(x):
    return xr.apply_ufunc(
        lambda lines: lines.max(axis=-1) - lines.min(axis=-1), x.chunk(time=-1) if x.chunks else x,
        input_core_dims=[["time"]], dask="parallelized", output_dtypes=[float],
    )  # fmt: skip


def vectorized(x):
    return xr.apply_ufunc(
        lambda line: np.polyfit(np.arange(len(line)), np.nan_to_num(line), 1), x.chunk(time=-1) if x.chunks else x,
        input_core_dims=[["time"]], output_core_dims=[["degree"]], vectorize=True, dask="parallelized",
        output_dtypes=[float], dask_gufunc_kwargs={"output_sizes": {"degree": 2}},
    )  # fmt: skip


LAZY = {
    # arithmetic and mathematics
    "add": lambda x: x + 1,
    "add another": lambda x: x + x.isel(time=0),
    "broadcast": lambda x: x * x.lat,
    "compare": lambda x: x > 10,
    "ufunc of NumPy": lambda x: np.sqrt(abs(x)),
    "clip": lambda x: x.clip(5, 12),
    "round": lambda x: x.round(1),
    "astype": lambda x: x.astype("float32"),
    "fillna": lambda x: x.fillna(0),
    "where": lambda x: x.where(x > 10),
    "where other": lambda x: x.where(x > 10, -1),
    "xr.where": lambda x: xr.where(x > 10, x, -x),
    "isnull": lambda x: x.isnull(),
    "notnull": lambda x: x.notnull(),
    "isin": lambda x: x.isin([1.0, 2.0]),
    "dot": lambda x: xr.dot(x.fillna(0), x.lat, dim="lat"),
    "conj": lambda x: x.conj(),
    # reductions
    "sum": lambda x: x.sum(),
    "sum min_count": lambda x: x.sum("time", min_count=3),
    "mean": lambda x: x.mean("time"),
    "mean skipna": lambda x: x.mean("time", skipna=False),
    "std": lambda x: x.std(["lat", "lon"]),
    "var ddof": lambda x: x.var("time", ddof=1),
    "min": lambda x: x.min("lon"),
    "max": lambda x: x.max("lon"),
    "prod": lambda x: (x / 10).prod("time"),
    "count": lambda x: x.count("time"),
    "any": lambda x: (x > 12).any("lon"),
    "all": lambda x: (x > 2).all("lon"),
    "argmax": lambda x: x.fillna(0).argmax("time"),
    "argmin": lambda x: x.fillna(0).argmin("lon"),
    "cumsum": lambda x: x.cumsum("time"),
    "cumprod": lambda x: (x / 10).cumprod("time"),
    "median": lambda x: x.chunk(time=-1).median("time") if x.chunks else x.median("time"),
    "quantile": lambda x: x.chunk(time=-1).quantile([0.1, 0.5], "time") if x.chunks else x.quantile([0.1, 0.5], "time"),
    "reduce": lambda x: x.reduce(np.mean, "time"),
    "weighted mean": lambda x: x.weighted(np.cos(np.deg2rad(x.lat))).mean(["lat", "lon"]),
    "weighted sum": lambda x: x.weighted(x.lat + 60).sum("lat"),
    "cov": lambda x: xr.cov(x, x + 1, dim="time"),
    "corr": lambda x: xr.corr(x, x**2, dim="time"),
    # indexing and selection
    "isel": lambda x: x.isel(time=3),
    "isel slice": lambda x: x.isel(time=slice(2, 9, 2), lat=slice(None, None, -1)),
    "isel list": lambda x: x.isel(lon=[5, 0, 2]),
    "sel": lambda x: x.sel(lon=90.0),
    "sel nearest": lambda x: x.sel(lat=[-20, 31], method="nearest"),
    "sel time": lambda x: x.sel(time="2000-03"),
    "sel slice": lambda x: x.sel(time=slice("2000-03", "2000-06")),
    "head": lambda x: x.head(time=3),
    "thin": lambda x: x.thin(time=5),
    "squeeze": lambda x: x.isel(time=[0]).squeeze(),
    # shape
    "transpose": lambda x: x.transpose("lon", "time", "lat"),
    "expand_dims": lambda x: x.expand_dims("member"),
    "stack": lambda x: x.stack(place=("lat", "lon")).drop_vars(["place", "lat", "lon"]),
    "unstack": lambda x: x.stack(place=("lat", "lon")).unstack("place"),
    "concat": lambda x: xr.concat([x, x + 1], "time"),
    "concat new": lambda x: xr.concat([x, x + 1], pd.Index([0, 1], name="run")),
    "merge": lambda x: xr.merge([x, (x + 1).rename("u")]),
    "broadcast_like": lambda x: x.isel(time=0).broadcast_like(x),
    "align": lambda x: xr.align(x.isel(time=slice(0, 8)), x.isel(time=slice(4, None)), join="outer"),
    "pad": lambda x: x.pad(lon=2, constant_values=0),
    "pad edge": lambda x: x.pad(lon=(1, 2), mode="edge"),
    "roll": lambda x: x.roll(lon=3),
    "shift": lambda x: x.shift(time=2),
    "sortby": lambda x: x.sortby("lat", ascending=False),
    "reindex": lambda x: x.reindex(lat=[-50.0, 0.0, 50.0]),
    "reindex_like": lambda x: x.reindex_like(x.isel(time=slice(2, 5))),
    "reindex nearest": lambda x: x.reindex(lon=[10.0, 100.0], method="nearest"),
    "to_dataset": lambda x: x.to_dataset(name="v"),
    "to_dataset by axis": lambda x: x.isel(lat=slice(2)).to_dataset(dim="lat").rename({-50.0: "s", -30.0: "n"}),
    "to_array": lambda x: xr.Dataset({"a": x, "b": x + 1}).to_array("v"),
    "assign": lambda x: x.to_dataset(name="v").assign(w=lambda ds: ds.v * 2),
    "swap_dims": lambda x: x.assign_coords(n=("time", np.arange(12))).swap_dims(time="n"),
    "drop_isel": lambda x: x.drop_isel(lon=[0, 1]),
    # derivatives, interpolation, windows
    "diff": lambda x: x.diff("time"),
    "differentiate": lambda x: x.differentiate("lon"),
    "integrate": lambda x: x.integrate("lon"),
    "cumulative_integrate": lambda x: x.cumulative_integrate("lon"),
    "interp": lambda x: x.interp(lat=[-15.0, 12.0]),
    "interp two": lambda x: x.interp(lat=[-15.0, 12.0], lon=[50.0, 60.0]),
    "interp_like": lambda x: x.interp_like(x.isel(lon=slice(2, 5))),
    "interpolate_na": lambda x: x.chunk(time=-1).interpolate_na("time") if x.chunks else x.interpolate_na("time"),
    "rolling mean": lambda x: x.rolling(time=3).mean(),
    "rolling max": lambda x: x.rolling(time=3, min_periods=1).max(),
    "rolling centre": lambda x: x.rolling(lon=3, center=True).sum(),
    "rolling construct": lambda x: x.rolling(time=3).construct("w").mean("w"),
    "coarsen": lambda x: x.coarsen(time=3).mean(),
    "coarsen trim": lambda x: x.coarsen(lon=3, boundary="trim").max(),
    "cumulative": lambda x: x.cumulative("time").sum(),
    # groups
    "groupby mean": lambda x: x.groupby("time.season").mean(),
    "groupby sum": lambda x: x.groupby("time.month").sum(),
    "groupby anomaly": lambda x: x.groupby("time.season") - x.groupby("time.season").mean(),
    "groupby map": lambda x: x.groupby("time.season").map(lambda group: group - group.mean("time")),
    "groupby first": lambda x: x.groupby("time.season").first(),
    "groupby_bins": lambda x: x.groupby_bins("lat", [-60, 0, 60]).mean(),
    "resample mean": lambda x: x.resample(time="QS").mean(),
    "resample max": lambda x: x.resample(time="2MS").max(),
    "resample ffill": lambda x: x.resample(time="QS").ffill(),
    # functions of the user's
    "apply_ufunc": ufunc,
    "apply_ufunc along": along_time,
    "apply_ufunc vectorised": vectorized,
    "map_blocks": lambda x: xr.map_blocks(lambda block: block + 1, x, template=x) if x.chunks else x + 1,
    "Dataset.map": lambda x: x.to_dataset(name="v").map(np.square),
    "pipe": lambda x: x.pipe(lambda y: y - y.mean()),
    "full_like": lambda x: xr.full_like(x, 3.0),
    "zeros_like": lambda x: xr.zeros_like(x),
    "polyval": lambda x: xr.polyval(x, xr.DataArray([1.0, 2.0], dims="degree", coords={"degree": [0, 1]})),
    "chunk": lambda x: x.chunk(time=5, lat=2),
    "chunk auto": lambda x: x.chunk("auto"),
}
"""What is lazy on Dask's arrays."""

COMPUTED = {
    "polyfit": lambda x: x.fillna(0).polyfit("time", 1),
    "dropna": lambda x: x.dropna("time"),
}
"""What looks at the values on Dask's arrays too, or may."""


@pytest.mark.parametrize("name", LAZY)
def test_what_is_lazy_on_dask_is_lazy_and_right(name, lazy, plain):
    with counted_runs() as runs:
        found = LAZY[name](lazy)
    assert runs.call_count == 0
    assert all(isinstance(part, ga.Array) for part in lazy_parts(found))
    same(found, LAZY[name](plain))


@pytest.mark.parametrize("name", COMPUTED)
def test_what_looks_at_the_values_is_right(name, lazy, plain):
    same(COMPUTED[name](lazy), COMPUTED[name](plain))


def test_the_list_is_as_long_as_it_is_said():
    assert len(LAZY) + len(COMPUTED) >= 76


def test_arrays_are_recognised_without_being_named(lazy):
    from xarray.namedarray.parallelcompat import get_chunked_array_type, list_chunkmanagers

    assert type(get_chunked_array_type(lazy.data)) is type(list_chunkmanagers()["glassloom"])


def test_compute_load_and_persist(plain):
    lazy = array_of(ga.from_array(values(), chunks=CHUNKS))
    assert isinstance(lazy.compute().data, np.ndarray) and isinstance(lazy.data, ga.Array)
    held = (lazy + 1).persist()
    assert isinstance(held.data, ga.Array)
    xr.testing.assert_allclose(held.compute(), plain + 1)
    assert isinstance(lazy.load().data, np.ndarray) and lazy.data is lazy.load().data


def test_variables_of_a_data_set_are_computed_together():
    lazy = array_of(ga.random.default_rng(1).normal(size=SHAPE, chunks=CHUNKS))
    both = xr.Dataset({"mean": lazy.mean(), "std": lazy.std()})
    with counted_runs() as runs:
        both.compute()
    assert runs.call_count == 1


def test_numpy_arrays_are_chunked_to_ours(plain):
    assert isinstance(plain.chunk(time=4, chunked_array_type="glassloom").data, ga.Array)
    assert plain.chunk(time=4).chunks[0] == (4, 4, 4)
    with xr.set_options(chunk_manager="glassloom"):
        assert isinstance(plain.chunk(time=4).data, ga.Array)


def test_chunks_and_unified_chunks(lazy):
    assert lazy.chunksizes["time"] == (4, 4, 4)
    one, two = xr.unify_chunks(lazy, lazy.chunk(time=6))
    assert one.chunks == two.chunks
    assert one.chunksizes["time"] == (4, 2, 2, 4)


def test_groups_are_moved_together(lazy, plain):
    moved = lazy.groupby("time.season").shuffle_to_chunks()
    assert isinstance(moved.data, ga.Array)
    xr.testing.assert_equal(moved.compute(), plain.groupby("time.season").shuffle_to_chunks())


def test_zarr_is_written_and_read(lazy, plain, tmp_path):
    pytest.importorskip("zarr")
    lazy.to_dataset().to_zarr(tmp_path / "it.zarr", consolidated=False)
    found = xr.open_zarr(tmp_path / "it.zarr", consolidated=False)
    assert isinstance(found.t.data, ga.Array)
    assert found.t.chunks == lazy.chunks
    with counted_runs() as runs:
        part = found.t.isel(time=slice(2, 6)).mean("lat")
    assert runs.call_count == 0
    xr.testing.assert_allclose(part.compute(), plain.isel(time=slice(2, 6)).mean("lat"))


def test_positions_along_several_axes_are_refused_by_xarray(lazy):
    """It takes arrays of the array API standard for ones that can't do it."""
    with pytest.raises(TypeError, match="Vectorized indexing is not supported"):
        lazy.isel(lat=xr.DataArray([0, 3], dims="p"), lon=xr.DataArray([1, 2], dims="p"))


def test_two_arrays_are_told_equal(lazy, plain):
    xr.testing.assert_equal(lazy, plain)
    assert lazy.equals(lazy.copy()) and not lazy.equals(lazy + 1)
    xr.testing.assert_identical(lazy, lazy.copy())
