"""Every method takes the arguments of pandas' and Dask's, in pandas' order, with pandas' defaults, or says by name why it doesn't."""

import inspect
import warnings

import glassloom.dataframe as gd
import pandas as pd
import pytest
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe import arguments, support

TIMES = pd.date_range("2000-01-01", periods=4)
FRAME = pd.DataFrame({"x": [1, 2, 3, 4], "k": [1, 1, 2, 2]}, index=TIMES)
TEXTS = pd.Series(["a", "b"], name="text")


def pairs(lazy):
    """Yield objects of ours, pandas' or Dask's by kind, made of pandas' by ``lazy``."""
    frame, texts = lazy(FRAME), lazy(TEXTS)
    yield "DataFrame", frame
    yield "Series", frame.x
    yield "Index", frame.index
    yield "GroupBy", frame.groupby("k")
    yield "SeriesGroupBy", frame.groupby("k").x
    yield "Rolling", frame.rolling(2)
    yield "SeriesRolling", frame.x.rolling(2)
    yield "Resampler", frame.resample("2D")
    yield "str", texts.str
    yield "dt", lazy(TIMES.to_series(name="t")).dt
    yield "cat", lazy(TEXTS.astype("category")).cat
    if not hasattr(type(frame), "dask"):
        yield "Expanding", frame.expanding()
        yield "Exponential", frame.ewm(alpha=0.5)


OURS = {"function": gd, **dict(pairs(lambda value: gd.from_pandas(value, npartitions=1)))}
PANDAS = {"function": pd, **dict(pairs(lambda value: value))}
CLASS = {"SeriesGroupBy": "GroupBy", "SeriesRolling": "Rolling"}
"""Our class of what is two in pandas."""


def dasks():
    dd = pytest.importorskip("dask.dataframe")
    return {"function": dd, **dict(pairs(lambda value: dd.from_pandas(value, npartitions=1)))}


def signature(owner, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            method = getattr(owner, name)
        except (
            AttributeError,
            NotImplementedError,
            TypeError,
            RuntimeError,
        ):  # Dask raises the last for what pandas has removed
            return None
    if inspect.isclass(method) or not callable(method):
        return None
    try:
        return inspect.signature(method)
    except (ValueError, TypeError):
        return None


WRITERS = ("to_csv", "to_json", "to_orc", "to_parquet", "to_sql")
"""Methods that are functions of ours too."""


def methods_of(theirs, own):
    for name in dir(theirs):
        if not name.startswith("_") and name not in FRAME.columns:
            found, ours = signature(theirs, name), signature(own, name)
            if found is not None and ours is not None:
                yield name, found, ours


def named(parameters):
    return [one for one in parameters.parameters.values() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]


def other_names(kind, method):
    of = "function" if method in WRITERS else CLASS.get(kind, kind)
    return arguments.OTHER_NAMES.get((of, method), {})


def lacking(kind, method, theirs, ours):
    known = {*ours.parameters, *other_names(kind, method)}
    return [
        f"{method}({one.name}=)"
        for one in named(theirs)
        if one.name not in known and (kind, method, one.name) not in arguments.DIFFERENT
    ]


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="arguments are those of pandas 3, which has dropped some")
@pytest.mark.parametrize("kind", OURS)
def test_every_argument_of_pandas_is_there(kind):
    found = [
        problem
        for method, theirs, ours in methods_of(PANDAS[kind], OURS[kind])
        for problem in lacking(kind, method, theirs, ours)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", [kind for kind in OURS if kind not in ("Expanding", "Exponential")])
def test_every_argument_of_dask_is_there(kind):
    found = [
        problem
        for method, theirs, ours in methods_of(dasks()[kind], OURS[kind])
        for problem in lacking(kind, method, theirs, ours)
    ]
    assert not found, "\n".join(found)


def places(parameters):
    return [one.name for one in named(parameters) if one.kind is not one.KEYWORD_ONLY]


@pytest.mark.skipif(
    not HAS_COPY_ON_WRITE, reason="the order is that of pandas 3, which lets fewer arguments be given by position"
)
@pytest.mark.parametrize("kind", OURS)
def test_arguments_by_position_are_those_of_pandas(kind):
    found = []
    for method, theirs, ours in methods_of(PANDAS[kind], OURS[kind]):
        names = other_names(kind, method)
        wanted = [names.get(name, name) for name in places(theirs)]
        takes_any = any(one.kind is one.VAR_POSITIONAL for one in ours.parameters.values())
        if places(ours)[: len(wanted)] != wanted and not takes_any and (kind, method, "") not in arguments.DIFFERENT:
            found.append(f"{method}({', '.join(wanted)}), not ({', '.join(places(ours))})")
    assert not found, "\n".join(found)


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="defaults are those of pandas 3")
@pytest.mark.parametrize("kind", OURS)
def test_defaults_are_those_of_pandas(kind):
    found = []
    for method, theirs, ours in methods_of(PANDAS[kind], OURS[kind]):
        for one in named(theirs):
            own = ours.parameters.get(one.name)
            if own is None or "default" in repr(one.default).lower() or repr(own.default) == repr(one.default):
                continue
            if (kind, method, one.name) not in arguments.DIFFERENT:
                found.append(f"{method}({one.name}={own.default!r}), pandas has {one.default!r}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", ["DataFrame", "Series", "Index"])
def test_every_method_of_dask_is_there_or_says_what_is(kind):
    theirs = dasks()[kind]
    lost = []
    for name in dir(type(theirs)):
        if name.startswith("_") or hasattr(OURS[kind], name):
            continue
        if support.not_supported(kind, name) is None and (kind, name) not in INSIDE_DASK:
            lost.append(name)
    assert not lost, ", ".join(lost)


@pytest.mark.parametrize("kind", [kind for kind in OURS if kind not in ("function", "DataFrame", "Series", "Index")])
def test_every_method_of_groups_windows_and_accessors_is_there_or_says_what_is(kind):
    for name in dir(PANDAS[kind]):
        if name.startswith("_") or name in FRAME.columns or signature(PANDAS[kind], name) is None:
            continue
        try:
            getattr(OURS[kind], name)
        except NotImplementedError as error:
            assert len(str(error)) > 30, f"{kind}.{name}: {error}"


@pytest.mark.parametrize("library", ["pandas", "dask.dataframe"])
def test_every_function_is_there_or_says_what_is(library):
    theirs = pytest.importorskip(library)
    lost = []
    for name in dir(theirs):
        value = getattr(theirs, name)
        is_function = callable(value) and not inspect.isclass(value) and not name.startswith("_")
        if is_function and not hasattr(gd, name) and name not in support.NO_FUNCTIONS:
            lost.append(name)
    assert set(lost) <= {"show_versions", "test", "set_eng_float_format"}, ", ".join(lost)
    assert [name for name in support.NO_FUNCTIONS if hasattr(gd, name)] == []


def test_functions_that_are_not_there_say_what_is():
    with pytest.raises(NotImplementedError, match="glassloom.dataframe.read_excel isn't there: .* Use from_map"):
        gd.read_excel("a.xlsx")
    with pytest.raises(AttributeError, match="has no attribute 'raed_csv'"):
        gd.raed_csv  # noqa: B018


INSIDE_DASK = {
    (kind, name) for kind in ("DataFrame", "Series", "Index") for name in ("expr", "dask", "to_legacy_dataframe", "exists", "make")
}  # fmt: skip
"""What isn't for users."""


@pytest.mark.parametrize("kind", [kind for kind in OURS if kind in {of for of, _ in arguments.UNTAKEN}])
def test_arguments_that_are_not_used_are_refused_by_name(kind):
    for (of, method), untaken in arguments.UNTAKEN.items():
        for argument, rule in untaken.items() if of == kind else ():
            value = "some other value"
            if rule.usual is arguments.ANY:
                assert rule.allows(value)
                continue
            with pytest.raises(NotImplementedError) as error:
                getattr(OURS[kind], method)(**{argument: value})
            where = method if kind == "function" else f"{kind}.{method}"
            assert str(error.value) == f"{where}({argument}={value!r}) isn't supported: {rule.instead}"


def test_arguments_that_change_nothing_are_taken():
    frame = OURS["DataFrame"]
    assert frame.add(1, level=None).compute().x.tolist() == [2, 3, 4, 5]
    assert frame.astype("float64", copy=False).dtypes.astype(str).tolist() == ["float64", "float64"]
    assert frame.groupby("k").x.mean(engine="cython").compute().tolist() == [1.5, 3.5]
    assert frame.x.sort_values(kind="quicksort").compute().tolist() == [1, 2, 3, 4]
    assert int(frame.x.sum(out=None, dtype=None).compute()) == 10


def test_arguments_are_given_by_position_as_in_pandas():
    frame, x = OURS["DataFrame"], OURS["Series"]
    other = gd.from_pandas(FRAME.x, npartitions=1)
    assert frame.add(other, 0).compute().equals(FRAME.add(FRAME.x, 0))
    assert frame.x.add(gd.from_pandas(FRAME.x, npartitions=1), None, 5).compute().equals(FRAME.x.add(FRAME.x, None, 5))
    assert x.add(1, None, 0).compute().equals(FRAME.x.add(1, None, 0))
    assert frame.groupby(None, 0).x.sum().compute().equals(FRAME.groupby(None, level=0).x.sum())
    assert x.quantile(0.5, "lower").compute() == FRAME.x.quantile(0.5, "lower")
    with pytest.raises(
        TypeError, match=r"DataFrame.add takes 4 arguments by position \(other, axis, level, fill_value\), got 5"
    ):
        frame.add(1, 0, None, None, 7)
    with pytest.raises(TypeError, match="DataFrame.add got axis= twice"):
        frame.add(1, 0, axis=0)


def test_other_names_of_arguments():
    frame = OURS["DataFrame"]
    assert frame.astype(dtypes="float64").dtypes.astype(str).tolist() == ["float64", "float64"]
    assert frame.x.apply(function=lambda value: value + 1).compute().tolist() == [2, 3, 4, 5]
    with pytest.raises(TypeError, match="got dtypes= and dtype=, which are the same"):
        frame.astype(dtype="float64", dtypes="float64")


def test_unknown_arguments_are_mistakes():
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        OURS["DataFrame"].sum(foo=1)
    with pytest.raises(TypeError, match="it takes numeric_only, engine, engine_kwargs"):
        OURS["Rolling"].sum(foo=1)


def test_signatures_in_notebooks_show_what_is_taken():
    assert list(inspect.signature(gd.DataFrame.add).parameters) == ["self", "other", "axis", "level", "fill_value"]
    assert "engine" in inspect.signature(OURS["GroupBy"].mean).parameters
    assert list(inspect.signature(OURS["str"].center).parameters) == ["width", "fillchar"]
