"""What the array API standard asks for, and results put into lazy arrays."""

import inspect

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, equal, full_shapes, values_of
from hypothesis import given
from hypothesis import strategies as st


@given(arrays(full_shapes, ("float64", "int64")), st.data())
def test_results_go_into_lazy_arrays_where_a_condition_holds(pair, data):
    array, lazy = pair
    mask = data.draw(values_of(array.shape, "bool"))
    target, lazy_target = np.full(array.shape, 7.0), ga.full(array.shape, 7.0, chunks=2)
    assert np.add(lazy, 1, out=lazy_target, where=ga.from_array(mask, chunks=2)) is lazy_target
    np.add(array, 1, out=target, where=mask)
    equal(lazy_target, target)
    lazy_target *= 2
    np.negative(lazy_target, lazy_target)
    equal(lazy_target, -2 * target)


def test_wrong_targets_are_errors():
    x = ga.arange(4, chunks=2)
    with pytest.raises(TypeError, match="must be lazy arrays"):
        np.add(x, 1, out=np.zeros(4))
    with pytest.raises(TypeError, match="float64 doesn't go into out="):
        np.sqrt(x, out=x)
    with pytest.raises(ValueError, match="doesn't broadcast"):
        np.add(x, 1, out=ga.zeros(3))


@given(arrays(full_shapes, ("int64", "float64")))
def test_outer_products_and_accumulations_of_ufuncs(pair):
    array, lazy = pair
    equal(np.add.outer(lazy, lazy), np.add.outer(array, array))
    equal(np.add.accumulate(lazy), np.add.accumulate(array), rtol=1e-9)


def test_the_namespace_says_what_it_is():
    x = ga.ones(4, chunks=2)
    assert x.__array_namespace__() is ga
    assert x.__array_namespace__(api_version="2024.12") is ga
    with pytest.raises(ValueError, match="api_version='1999.1'"):
        x.__array_namespace__(api_version="1999.1")
    info = ga.__array_namespace_info__()
    assert info.dtypes(kind="bool") == {"bool": np.dtype(bool)}
    assert x.to_device(x.device) is x
    with pytest.raises(ValueError, match="only 'cpu' is there"):
        x.to_device("gpu")
    np.testing.assert_array_equal(np.from_dlpack(x), np.ones(4))
    equal(ga.from_dlpack(np.arange(3)), np.arange(3))
    assert ga.result_type(x, "c8") == np.dtype("complex128")
    assert ga.isdtype(x.dtype, "real floating")
    assert ga.concat is ga.concatenate


def test_the_second_of_evenly_spaced_values_is_rounded_once_as_numpys_is():
    equal(ga.arange(-2.0, 0.0, 1.354777761732679, chunks=1, dtype="f4"), np.arange(-2.0, 0.0, 1.354777761732679, "f4"))


def test_a_type_a_copy_and_a_device_may_be_asked_for():
    equal(ga.asarray([1, 2], dtype="f4"), np.asarray([1, 2], dtype="f4"))
    source = np.arange(3)
    copied = ga.asarray(source, copy=True)
    source[0] = 9
    equal(copied, [0, 1, 2])
    equal(ga.ones(2, device="cpu"), np.ones(2))
    for make in (lambda: ga.asarray(1, device="gpu"), lambda: ga.zeros_like(copied, device="gpu")):
        with pytest.raises(ValueError, match="device='gpu': only 'cpu' is there"):
            make()
    with pytest.raises(ValueError, match="needs a copy"):
        ga.asarray(source, dtype="f4", copy=False)


def test_what_is_not_there_yet_says_so():
    with pytest.raises(AttributeError, match=r"glassloom.array has no 'is_busday' yet; map_blocks"):
        ga.is_busday  # noqa: B018
    with pytest.raises(AttributeError, match="module 'glassloom.array' has no attribute 'nonsense'"):
        ga.nonsense  # noqa: B018


def test_tuples_and_limits_are_as_the_standard_has_them():
    assert isinstance(ga.broadcast_arrays(ga.ones(2), 1), tuple)
    assert ga.broadcast_shapes((2, 1), (3,)) == (2, 3)
    limits = ga.finfo(ga.ones(2, dtype="c8"))
    assert (limits.bits, type(limits.eps), limits.dtype) == (32, float, np.dtype("f4"))
    assert limits.smallest_normal == np.finfo("f4").smallest_normal
    assert ga.__array_namespace_info__().devices() == ("cpu",)


def test_the_correction_of_a_variance_has_two_names():
    x = ga.arange(5, chunks=2)
    assert x.var(correction=1).compute() == x.var(ddof=1).compute() == np.var(range(5), ddof=1)
    with pytest.raises(ValueError, match="ddof=1 and correction=2 mean the same"):
        x.std(ddof=1, correction=2)


def test_signatures_of_reductions_show_their_parameters():
    assert list(inspect.signature(ga.sum).parameters) == [
        "array", "axis", "dtype", "keepdims", "split_every", "out", "initial", "where",
    ]  # fmt: skip


def test_evenly_spaced_values_take_the_type_of_all_three_numbers():
    equal(ga.arange(3.0, step=2), np.arange(3.0, step=2))
    equal(ga.arange(3.0), np.arange(3.0))
    equal(ga.eye(2, k=2**70), np.zeros((2, 2)))


def test_an_order_is_one_of_numpys():
    with pytest.raises(ValueError, match="order='B' is none of"):
        ga.reshape(ga.ones(4), (2, 2), order="B")


def test_asking_for_no_copy_gives_the_same_array_or_an_error():
    x = ga.arange(3, chunks=2)
    assert ga.asarray(x, dtype=x.dtype, copy=False) is x
    assert ga.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="asarray to type f4 of an array of type int64 needs a copy"):
        ga.asarray(x, dtype="f4", copy=False)
    equal(ga.take(x, ga.asarray([2, 0])), [2, 0])


def test_expm1_of_complex_infinity_is_what_the_standard_says():
    inf, nan = float("inf"), float("nan")
    for argument, real, imaginary in [
        (complex(0, 0), 0, 0), (complex(-0.0, 0), 0, 0), (complex(inf, 0), inf, 0), (complex(inf, inf), inf, nan),
        (complex(inf, nan), inf, nan), (complex(-inf, inf), -1, 0), (complex(-inf, nan), -1, 0), (complex(nan, 0), nan, 0),
        (complex(1, inf), nan, nan), (complex(nan, nan), nan, nan), (complex(inf, 1), inf, inf), (complex(-inf, 1), -1, 0),
    ]:  # fmt: skip
        with np.errstate(all="ignore"):
            made = ga.expm1(ga.from_array(np.array([argument, 1 + 1j]), chunks=1)).compute(scheduler="inline")
        np.testing.assert_array_equal([made[0].real, made[0].imag], [real, imaginary], err_msg=str(argument))
        assert made[1] == np.expm1(1 + 1j)
    numbers = np.linspace(-2, 2, 9) + 1j * np.linspace(3, -1, 9)
    equal(ga.expm1(ga.from_array(numbers, chunks=4)), np.expm1(numbers), rtol=1e-15)
