"""Arrays in other libraries' functions, by NumPy's protocols: they compute what they need, or stay lazy."""

from __future__ import annotations

import glassloom.array as ga
import matplotlib
import numpy as np
import pandas as pd
import pytest
import scipy.fft
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.special
import scipy.stats
from matplotlib import pyplot
from sklearn import decomposition, linear_model, model_selection, preprocessing

matplotlib.use("agg")

X = np.random.default_rng(5).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)


def lazy(array):
    return ga.from_array(array, chunks=11)


def test_ufuncs_of_scipy_stay_lazy():
    made = scipy.special.expit(lazy(X))
    assert isinstance(made, ga.Array)
    np.testing.assert_array_equal(made.compute(), scipy.special.expit(X))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scipy.linalg.svdvals(x),
        lambda x: scipy.linalg.lstsq(x, x[:, 0])[0],
        lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
        lambda x: scipy.signal.welch(x[:, 0], nperseg=16)[1],
        lambda x: scipy.fft.rfft(x, axis=0),
        lambda x: scipy.stats.pearsonr(x[:, 0], x[:, 1]).statistic,
        lambda x: scipy.stats.ttest_ind(x[:, 0], x[:, 1]).pvalue,
        lambda x: scipy.sparse.csr_array(x).sum(),
        lambda x: scipy.interpolate.interp1d(np.arange(40), x[:, 0])([0.5, 3.25]),
    ],
)
def test_functions_of_scipy_compute_what_numpys_arrays_give(function):
    np.testing.assert_allclose(np.asarray(function(lazy(X))), np.asarray(function(X)), rtol=1e-12, atol=1e-14)


def test_pandas_takes_arrays():
    frame = pd.DataFrame(lazy(X), columns=["a", "b", "c"])
    pd.testing.assert_frame_equal(frame, pd.DataFrame(X, columns=["a", "b", "c"]))
    pd.testing.assert_series_equal(pd.Series(lazy(X)[:, 1]), pd.Series(X[:, 1]))
    frame["d"] = lazy(X)[:, 0] * 2
    np.testing.assert_array_equal(frame["d"], X[:, 0] * 2)
    assert pd.cut(lazy(X)[:, 0], 3).codes.tolist() == pd.cut(X[:, 0], 3).codes.tolist()


def test_scikit_learn_fits_and_predicts():
    model = linear_model.LogisticRegression().fit(lazy(X), lazy(Y))
    expected = linear_model.LogisticRegression().fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.predict(lazy(X)), expected.predict(X))
    assert model.score(lazy(X), lazy(Y)) == expected.score(X, Y)
    np.testing.assert_allclose(
        decomposition.PCA(2).fit(lazy(X)).explained_variance_, decomposition.PCA(2).fit(X).explained_variance_
    )
    np.testing.assert_allclose(
        preprocessing.StandardScaler().fit_transform(lazy(X)), preprocessing.StandardScaler().fit_transform(X)
    )
    train, test = model_selection.train_test_split(lazy(X), random_state=0)
    mine, theirs = model_selection.train_test_split(X, random_state=0)
    np.testing.assert_array_equal(np.asarray(train), mine)
    np.testing.assert_array_equal(np.asarray(test), theirs)


def test_matplotlib_draws_arrays():
    figure, axes = pyplot.subplots()
    (line,) = axes.plot(lazy(X)[:, 0], lazy(X)[:, 1])
    np.testing.assert_array_equal(line.get_xydata(), X[:, :2])
    image = axes.imshow(lazy(X))
    np.testing.assert_array_equal(np.asarray(image.get_array()), X)
    counts, _, _ = axes.hist(lazy(X)[:, 0], bins=5)
    np.testing.assert_array_equal(counts, np.histogram(X[:, 0], bins=5)[0])
    offsets = axes.scatter(lazy(X)[:, 0], lazy(X)[:, 1], c=lazy(X)[:, 2]).get_offsets()
    np.testing.assert_array_equal(np.asarray(offsets), X[:, :2])
    axes.contourf(lazy(X))
    figure.canvas.draw()
    pyplot.close(figure)


def test_functions_compiled_by_numba_are_applied_to_blocks():
    numba = pytest.importorskip("numba")  # not in our environment: it takes NumPy's newest versions late

    @numba.njit
    def doubled(block):
        return block * 2

    @numba.vectorize
    def added(a, b):
        return a + b

    @numba.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    def total(line, out):
        out[0] = 0
        for each in line:
            out[0] += each

    np.testing.assert_array_equal(lazy(X).map_blocks(doubled).compute(), X * 2)
    np.testing.assert_array_equal(ga.map_blocks(added, lazy(X), 1.0, dtype=float).compute(), X + 1)
    np.testing.assert_allclose(
        ga.apply_gufunc(total, "(n)->()", lazy(X).rechunk({1: -1}), output_dtypes=float).compute(), X.sum(1)
    )


def test_items_are_iterated_over_if_there_is_an_axis_and_no_two_arrays_share_memory():
    assert [float(item) for item in lazy(X)[:3, 0]] == X[:3, 0].tolist()
    with pytest.raises(TypeError):
        iter(lazy(X)[0, 0])  # here and now: others ask so whether there are items
    assert not np.may_share_memory(lazy(X), X)
    assert not np.shares_memory(lazy(X), lazy(X))
    assert type(lazy(X).to_numpy()) is np.ndarray
