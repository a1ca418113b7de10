"""Arrays and frames on GPUs give the results of the host: W1 to W4, scaled down."""

from __future__ import annotations

import glassloom as gl
import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from glassloom import config

pytestmark = pytest.mark.gpu


def plain(value):
    return value.get() if hasattr(value, "get") and not isinstance(value, pd.DataFrame) else value


def test_w1_a_large_random_array_is_reduced_on_the_device(client):
    import cupy

    rs = ga.random.RandomState(RandomState=cupy.random.RandomState, seed=12)
    x = rs.normal(10, 1, size=(8000, 8000), chunks=(2000, 2000))
    total = (x + 1)[::2, ::2].sum().compute()
    assert type(total).__module__.startswith("cupy")
    assert abs(float(total) / 16e6 - 11) < 0.01
    assert abs(float((x + 1)[::2, ::2].std().compute()) - 1) < 0.01


def bytes_of_cupys_pool(begin=False):
    """Return how much CuPy has taken from the device; from now on, if it `begin`s."""
    import cupy

    pool = cupy.get_default_memory_pool()
    if begin:
        pool.free_all_blocks()
    return pool.total_bytes()


def test_w1_drawn_by_index_writes_no_block(devices):
    from glassloom import Client, LocalCUDACluster

    with LocalCUDACluster(n_workers=1) as cluster, Client(cluster, set_as_default=False) as client:
        for name, expected, tolerance in (("sum", 176e6, 1e5), ("mean", 11, 0.01), ("std", 1, 0.01)):
            x = ga.random.default_rng(12, backend="cupy").normal(10, 1, size=(8000, 8000), chunks=8000)
            (before,) = client.run(bytes_of_cupys_pool, begin=True).values()
            lazy = getattr((x + 1)[::2, ::2], name)()
            assert abs(float(client.compute(lazy).result(300)) - expected) < tolerance
            (after,) = client.run(bytes_of_cupys_pool).values()
            assert after - before < 2**24, "a block has 512 MB, and what is read of it 128 MB"


def test_numbers_of_a_seed_are_those_of_the_definition(client):
    """As ``tests/array/test_device_draws.py`` has them."""
    x = ga.random.default_rng(12, backend="cupy").normal(0, 1, size=(2, 2), chunks=1)
    expected = [[3.467282644721558, -0.6459470676753679], [-0.8511929193997593, 1.0024962879320882]]
    np.testing.assert_allclose(plain(x.compute()), expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["slice", "chain", "transposed", "sum of rows", "sum of columns", "std"])
def test_drawn_numbers_are_the_same_in_any_kernel(client, name):
    operations = {
        "slice": lambda x: x[::3, 5:], "chain": lambda x: x * 2 + 1, "transposed": lambda x: x.T[::-2] + 1, "sum of rows": lambda x: (x + 1)[::2].sum(axis=1),
        "sum of columns": lambda x: (x + 1)[:, ::2].sum(axis=0), "std": lambda x: x.std(),
    }  # fmt: skip

    def drawn():
        return ga.random.default_rng(5, backend="cupy").normal(10, 1, size=(900, 700), chunks=(300, 400))

    host = plain(drawn().compute())
    np.testing.assert_allclose(plain(operations[name](drawn()).compute()), operations[name](host), rtol=1e-12)


def test_w1_by_the_configured_backend(client):
    with config.set({"array.backend": "cupy"}):
        x = ga.random.default_rng(3).normal(10, 1, size=(4000, 4000), chunks=2000)
    assert abs(float(x.mean().compute()) - 10) < 0.01


def test_w2_a_tall_svd_is_that_of_numpy(client):
    host = np.random.default_rng(0).random((20_000, 100))
    u, s, v = ga.linalg.svd(ga.from_array(host, chunks=(5000, 100)).to_backend("cupy"))
    u, s, v = gl.persist(u, s, v)
    np.testing.assert_allclose(plain(s.compute()), np.linalg.svd(host, compute_uv=False), rtol=1e-8)
    np.testing.assert_allclose(plain((u * s @ v).compute()), host, atol=1e-8)


def test_w2_spills_from_the_device_when_it_is_larger_than_the_limit(devices):
    from glassloom import Client, LocalCUDACluster

    with (
        LocalCUDACluster(n_workers=1, device_memory_limit="256MiB") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        x = ga.random.default_rng(1, backend="cupy").random((150_000, 1000), chunks=(5000, 1000))
        held = client.persist(x)
        assert abs(float(client.compute(held.mean()).result(300)) - 0.5) < 1e-3


@pytest.mark.parametrize("name", ["add", "sum", "mean", "where", "transpose", "slice", "fancy", "product", "sort", "cumsum", "argmax", "fft", "pad", "concatenate", "histogram", "percentile"])  # fmt: skip
def test_operations_give_numpys_results(client, name):
    host = np.random.default_rng(5).normal(size=(60, 40))
    operations = {
        "add": lambda x, xp: x * 2 + 1, "sum": lambda x, xp: x.sum(axis=0), "mean": lambda x, xp: x.mean(axis=1),
        "where": lambda x, xp: xp.where(x > 0, x, 0), "transpose": lambda x, xp: x.T + 1, "slice": lambda x, xp: x[3:50:7, ::-2],
        "fancy": lambda x, xp: x[[5, 1, 1]], "product": lambda x, xp: x.T @ x, "sort": lambda x, xp: xp.sort(x, axis=0),
        "cumsum": lambda x, xp: x.cumsum(axis=0), "argmax": lambda x, xp: x.argmax(axis=1), "pad": lambda x, xp: xp.pad(x, 1),
        "fft": lambda x, xp: xp.fft.fft(x.rechunk((60, 20)) if xp is ga else x, axis=0), "concatenate": lambda x, xp: xp.concatenate([x, x]),
        "histogram": lambda x, xp: xp.histogram(x, bins=7, range=(-3, 3))[0], "percentile": lambda x, xp: xp.median(x, axis=0),
    }  # fmt: skip
    lazy = ga.from_array(host, chunks=(20, 20)).to_backend("cupy")
    np.testing.assert_allclose(plain(operations[name](lazy, ga).compute()), operations[name](host, np), atol=1e-10)


def test_fused_kernels_give_numpys_results(client):
    host = np.random.default_rng(5).normal(size=(600, 400))
    lazy = ga.from_array(host, chunks=(200, 200)).to_backend("cupy")
    found, expected = plain((np.exp(-(lazy**2)) + 3 * np.sin(lazy)).compute()), np.exp(-(host**2)) + 3 * np.sin(host)
    # Where the two terms nearly cancel, what each is off by in its last bit is a large part of the rest.
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=4e-15)
    np.testing.assert_allclose(
        float((np.sqrt(abs(lazy)) + 1).sum().compute()), (np.sqrt(abs(host)) + 1).sum(), rtol=1e-12
    )


def test_w3_groups_of_a_time_series(client):
    cudf = pytest.importorskip("cudf")
    frame = gd.datasets.timeseries(end="2000-01-05")
    expected = frame.groupby("name").agg({"x": ["sum", "mean"]}).compute().sort_index()
    found = frame.to_backend("cudf").groupby("name").agg({"x": ["sum", "mean"]}).compute()
    found = found.to_pandas() if isinstance(found, cudf.DataFrame) else found
    pd.testing.assert_frame_equal(found.sort_index(), expected, check_dtype=False)


def test_w4_missing_keys_are_handled_alike_on_pandas_and_cudf(client):
    cudf = pytest.importorskip("cudf")
    host = pd.DataFrame({"brand": ["a", None, "b", "a", None], "target": [1, 0, 1, 0, 1]})

    def encoded(frame):
        means = frame.groupby("brand")["target"].mean().reset_index().rename(columns={"target": "mean"})
        return frame.merge(means, on="brand", how="left")["mean"].fillna(0.6)

    lazy = gd.from_pandas(host, npartitions=2)
    expected = sorted(encoded(lazy).compute())
    found = encoded(lazy.to_backend("cudf")).compute()
    assert sorted(found.to_pandas() if isinstance(found, cudf.Series) else found) == expected


@pytest.mark.parametrize(
    "name",
    [
        "sum",
        "mean",
        "std",
        "groups",
        "all keys",
        "two keys",
        "distinct",
        "left join",
        "inner join",
        "large join",
        "sort",
    ],
)
def test_frames_of_cudf_give_what_pandas_gives(client, name):
    cudf = pytest.importorskip("cudf")
    host = pd.DataFrame(
        {"k": [*("a", None, "b", "none") * 15], "m": [1, 2, 1] * 20, "n": range(60), "x": [*(1.0, 2.0, 0.5, None) * 15]}
    )
    table = pd.DataFrame({"k": ["b", None, "a", "a"], "z": [1, 2, 3, 4]})
    operations = {
        "sum": lambda f: f[["x", "n"]].sum(), "mean": lambda f: f.x.mean(), "std": lambda f: f.x.std(),
        "groups": lambda f: f.groupby("k").agg({"x": ["sum", "count", "mean", "min", "var"], "n": ["sum", "max"]}),
        "all keys": lambda f: f.groupby("k", dropna=False).x.sum(), "two keys": lambda f: f.groupby(["m", "k"]).n.mean(),
        "distinct": lambda f: f.groupby("m").k.nunique(), "left join": lambda f: f.merge(table, on="k", how="left"),
        "inner join": lambda f: f.merge(table, on="k"), "sort": lambda f: f.sort_values(["m", "x"], ascending=[False, True]),
        "large join": lambda f: f.merge(gd.from_pandas(table, npartitions=2), on="k", how="left", broadcast=False),
    }  # fmt: skip
    lazy = gd.from_pandas(host, npartitions=3)
    expected = operations[name](lazy).compute()
    found = operations[name](lazy.to_backend("cudf")).compute()
    found = found.to_pandas() if isinstance(found, (cudf.DataFrame, cudf.Series)) else found
    if isinstance(expected, (pd.DataFrame, pd.Series)):
        check = pd.testing.assert_frame_equal if isinstance(expected, pd.DataFrame) else pd.testing.assert_series_equal
        check(found, expected, check_dtype=False)
    else:
        assert found == pytest.approx(expected)
