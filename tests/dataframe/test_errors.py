"""What a person gets wrong is said at once, at their line, with the values and the way out."""

from __future__ import annotations

import inspect
import pickle
import re
import traceback

import glassloom.dataframe as gd
import pandas as pd
import pytest
from glassloom.errors import DivisionError, MetaError, OptionError, UnknownColumn


@pytest.fixture
def frame():
    return gd.from_pandas(pd.DataFrame({"carrier": list("abcd"), "delay": [1, 2, 3, 4]}), npartitions=2)


def test_unknown_columns_come_with_the_one_that_was_meant(frame):
    with pytest.raises(
        UnknownColumn, match=r"no column 'dleay': did you mean 'delay'\? The columns are 'carrier', 'delay'"
    ):
        frame["dleay"]
    with pytest.raises(AttributeError, match=r"no attribute 'carier' \(no column 'carier': did you mean 'carrier'"):
        _ = frame.carier
    with pytest.raises(UnknownColumn, match="no column 'x'. The columns are 'carrier', 'delay'"):
        frame[["delay", "x"]]
    for call in (
        lambda: frame.drop(columns="x"),
        lambda: frame.dropna(subset="x"),
        lambda: frame.set_index("x"),
        lambda: frame.nlargest(2, "x"),
        lambda: frame.astype({"x": int}),
        lambda: frame.loc[:, ["x"]],
        lambda: frame.merge(pd.DataFrame({"x": [1]}), on="x"),
        lambda: frame.drop_duplicates(subset=["x"]),
    ):
        with pytest.raises(UnknownColumn, match="no column 'x'"):
            call()
    wide = gd.from_pandas(pd.DataFrame({f"c{number}": [1] for number in range(50)}))
    with pytest.raises(UnknownColumn, match=r"'c19'\.\.\. \(50 in all\)"):
        wide["zzz"]


def test_the_error_is_raised_at_the_users_line(frame):
    try:
        frame["dleay"]
    except UnknownColumn as error:
        assert traceback.extract_tb(error.__traceback__)[0].filename == __file__


def test_an_error_while_computing_is_the_tasks_own(frame):
    def fail(block):
        raise ZeroDivisionError(f"no luck with {len(block)} rows")

    with pytest.raises(ZeroDivisionError, match="no luck with 2 rows"):
        frame.map_partitions(fail, meta=frame).compute()


def test_frames_whose_labels_are_not_in_known_partitions_are_not_combined(frame):
    other = gd.from_pandas(pd.DataFrame({"x": [1, 2, 3, 4]}), npartitions=3, sort=False)
    message = (
        r"add: the operands are cut differently: 2 partitions with divisions \(0, 2, 3\) and 3 partitions with unknown divisions. "
        r"Take both from the same frame, compute\(\) the smaller one first, join them with merge\(\), or sort both by index: "
        r"set_index\(\) and sort_index\(\) find the divisions"
    )
    with pytest.raises(DivisionError, match=message):
        frame.delay + other.x
    with pytest.raises(DivisionError, match=r"frame\[condition\]: the operands are cut differently"):
        frame[other.x > 1]
    with pytest.raises(
        DivisionError, match="assigning column 'z': the operands are cut differently.*Labels of rows count"
    ):
        frame.assign(z=other.reset_index().x)
    with pytest.raises(DivisionError, match="2 partitions with divisions .* and 2 partitions with unknown divisions"):
        frame.delay + frame.set_index("carrier", sort=False).delay
    texts = gd.from_pandas(pd.DataFrame({"x": [1, 2, 3, 4]}, index=list("abcd")), npartitions=3)
    with pytest.raises(
        DivisionError, match="add: labels of 2 partitions .* and 3 partitions .* have no common order: "
    ):
        frame.delay + texts.x
    with pytest.raises(
        NotImplementedError, match=r"clip\(lower=<DataFrame>\) isn't supported: it has other rows: assign\(\) it"
    ):
        frame[["delay"]].clip(other)


def test_frames_of_equal_known_divisions_are_combined():
    one = gd.from_pandas(pd.DataFrame({"x": [1, 2, 3, 4]}), npartitions=2)
    other = gd.from_pandas(pd.DataFrame({"y": [10, 20, 30, 40]}), npartitions=2)
    assert (one.x + other.y).compute().tolist() == [11, 22, 33, 44]


def test_numbers_of_partitions_are_checked(frame):
    plain = pd.DataFrame({"x": [1, 2, 3]})
    for bad in (0, -1, 2.5, "two", True):
        with pytest.raises(ValueError, match="npartitions=.* should be a whole number, 1 or more"):
            gd.from_pandas(plain, npartitions=bad)
        with pytest.raises(ValueError, match="npartitions=.* should be a whole number, 1 or more"):
            frame.repartition(npartitions=bad)
    with pytest.raises(ValueError, match="chunksize=0 should be a whole number"):
        gd.from_pandas(plain, chunksize=0)
    with pytest.raises(ValueError, match="give npartitions=1 or chunksize=1, not both"):
        gd.from_pandas(plain, npartitions=1, chunksize=1)
    with pytest.raises(TypeError, match="from_pandas takes a pandas DataFrame or Series, got list"):
        gd.from_pandas([1, 2])
    with pytest.raises(IndexError, match="partition 2 doesn't exist; there are 2, numbered from 0"):
        frame.partitions[2]
    with pytest.raises(IndexError, match="chooses none of the 2 partitions"):
        frame.partitions[5:]
    with pytest.raises(OptionError, match="npartitions=9 should be -1 or 1 to 2"):
        frame.head(npartitions=9)
    with pytest.raises(OptionError, match="split_every=1 should be a whole number, 2 or more"):
        frame.delay.sum(split_every=1)


def test_a_function_that_fails_on_made_up_rows_asks_for_meta(frame):
    with pytest.raises(
        MetaError,
        match=r"map_partitions\(missing\) was tried on two made-up rows .* KeyError: 'nope'. Say what it returns with meta=",
    ):

        def missing(block):
            return block["nope"]

        frame.map_partitions(missing)
    with pytest.raises(MetaError, match=r"map\(map-lambda\) was tried on two made-up rows"):
        frame.carrier.map(lambda letter: {"z": 1}[letter])
    assert frame.carrier.map(lambda letter: ord(letter), meta=("code", int)).sum().compute() == sum(b"abcd")


@pytest.mark.parametrize("dtype", ["str", object])
def test_made_up_texts_are_letters_or_if_these_are_refused_words(dtype):
    names = gd.from_pandas(pd.DataFrame({"name": ["Ada L", "Alan T"]}, dtype=dtype), npartitions=2).name
    assert names.apply(lambda name: name[0] + name.split()[1]).compute().tolist() == ["AL", "AT"]
    letters = names.str[-1]
    codes = letters.map(ord)
    assert (codes.dtype, codes.compute().tolist()) == ("int64", [ord("L"), ord("T")])
    if names.dtype == object:  # which are either texts or numbers
        return
    both = names.to_frame().assign(number=pd.Series([1, 2], dtype=object), letter=letters)
    made = both.map_partitions(lambda part: part.assign(more=part.number + 1, code=part.letter.map(ord)))
    assert made.compute().code.tolist() == [ord("L"), ord("T")]


def test_a_function_that_returns_something_else_than_meta_says_is_named(frame):
    wrong = frame.map_partitions(lambda block: block, meta={"carrier": str, "hour": int})
    with pytest.raises(
        MetaError, match=r"returned the columns \['carrier', 'delay'\], but meta says \['carrier', 'hour'\]"
    ):
        wrong.compute()
    wrong = frame.map_partitions(lambda block: block, meta={"delay": int, "carrier": str})
    with pytest.raises(MetaError, match=r"but meta says \['delay', 'carrier'\] \(in this order\)"):
        wrong.compute()
    wrong = frame.map_partitions(lambda block: block, meta=("delay", int))
    with pytest.raises(MetaError, match="returned a DataFrame, but meta says a Series"):
        wrong.compute()
    with pytest.raises(MetaError, match="meta='what' can't be understood; give an empty pandas object"):
        frame.map_partitions(lambda block: block, meta="what")


def test_what_isnt_there_yet_says_what_works(frame):
    with pytest.raises(OptionError, match="how='sideways' should be one of"):
        frame.merge(pd.DataFrame({"carrier": ["a"]}), on="carrier", how="sideways")
    with pytest.raises(NotImplementedError, match=r"loc\[\{'a'\}\]: labels, lists and slices of them"):
        frame.loc[{"a"}]
    with pytest.raises(
        KeyError, match=r"loc\['a':'b'\] takes the rows from one label to another, .* sort_index\(\) before"
    ):
        gd.from_pandas(pd.DataFrame({"x": range(4)}, index=list("acbd")), npartitions=2, sort=False).loc[
            "a":"b"
        ].compute()
    with pytest.raises(NotImplementedError, match=r"apply\(axis=0\): the function chose or moved rows of each column"):
        frame.apply(lambda column: column[column > column.min()])
    with pytest.raises(TypeError, match="the truth of a lazy Series isn't known; compute"):
        bool(frame.delay > 1)
    with pytest.raises(TypeError, match="column 'z' can be assigned a lazy series of the same rows, .* not a set"):
        frame["z"] = set()
    with pytest.raises(TypeError, match="has no attribute|Can only use .str accessor|can only use .str"):
        try:
            _ = frame.delay.str
        except AttributeError as error:
            raise TypeError(str(error)) from error


def test_an_index_that_isnt_sorted_is_not_taken_for_sorted(frame):
    assert frame.set_index("delay", sorted=True).divisions == (1, 3, 4)
    assert frame.set_index("delay", sorted=True).loc[2:3].carrier.compute().tolist() == ["b", "c"]
    down = gd.from_pandas(pd.DataFrame({"x": [2, 1, 4, 3]}), npartitions=2)
    with pytest.raises(DivisionError, match="partition 0 isn't sorted by 'x'"):
        down.set_index("x", sorted=True)
    back = gd.from_pandas(pd.DataFrame({"x": [1, 3, 2, 3]}), npartitions=2)
    with pytest.raises(DivisionError, match="partitions 0 and 1 overlap: one ends at x=3, the next begins at 2"):
        back.set_index("x", sorted=True)
    twice = gd.from_pandas(pd.DataFrame({"x": [1, 2, 2, 3]}), npartitions=2)
    with pytest.raises(DivisionError, match="partitions 0 and 1 both have rows of x=2"):
        twice.compute_current_divisions("x")
    with pytest.raises(DivisionError, match="partition 1 has no rows, so its first 'x' isn't known"):
        twice[twice.x == 1].compute_current_divisions("x")
    with pytest.raises(DivisionError, match="divisions of categories can't be found out: set_index"):
        twice.astype({"x": "category"}).set_index("x", sorted=True)


def test_functions_may_change_their_partition_without_changing_the_source():
    plain = pd.DataFrame({"x": [1, 2, 3, 4]})
    held = gd.from_pandas(plain, npartitions=2).persist()

    def spoil(block):
        block["y"] = 1
        block.loc[:, "x"] = 0
        return block

    assert held.map_partitions(spoil).x.sum().compute() == 0
    assert held.compute().to_dict("list") == {"x": [1, 2, 3, 4]}
    assert plain.to_dict("list") == {"x": [1, 2, 3, 4]}


USERS_KNOW = ("DataFrame", "Series", "Index", "GroupBy", "Rolling", "Expanding", "Exponential", "Resampler", "Scalar")


@pytest.mark.parametrize("kind", USERS_KNOW)
def test_no_message_names_a_class_that_only_implements_others(kind):
    index = pd.date_range("2021", periods=4)
    frame = gd.from_pandas(pd.DataFrame({"x": range(4), "c": pd.Categorical(list("abab"))}, index=index), npartitions=2)
    series = frame.x
    of_kind = {
        "DataFrame": [frame],
        "Series": [series, frame.c.cat],
        "Index": [frame.index],
        "GroupBy": [frame.groupby("c"), series.groupby(frame.c)],
        "Rolling": [series.rolling(2), series.groupby(frame.c).rolling(2)],
        "Expanding": [series.expanding()],
        "Exponential": [series.ewm(span=2)],
        "Resampler": [series.resample("2D")],
        "Scalar": [series.sum()],
    }
    named = 0
    for one in of_kind[kind]:
        for name, inherited in inspect.getmembers(type(one), inspect.isfunction):
            if name.startswith("_"):
                continue
            assert inherited.__qualname__.rpartition(".")[0] in ("", kind, f"{kind}.cat"), name
            try:
                getattr(one, name)(no_such_argument=1)
            except TypeError as error:
                found = re.match(r"(\w+)\.[\w.]+\(\) ", str(error))
                assert found is None or found[1] in (*USERS_KNOW, "Categorical"), error
                named += found is not None
            except (NotImplementedError, MetaError, ValueError, KeyError, AttributeError):
                pass
    assert named


def test_methods_that_have_been_named_are_pickled_by_their_names(frame):
    for method in (gd.DataFrame.head, gd.DataFrame.sort_values, gd.Series.map):
        assert pickle.loads(pickle.dumps(method)) is method


TRIED = {
    "rolling().apply": lambda frame: frame.delay.rolling(2).apply(_raise),
    "reduction": lambda frame: frame.reduction(_raise),
    "resample().apply": lambda frame: frame.set_index("day", sorted=True).delay.resample("D").apply(_raise),
    "correlations of groups": lambda frame: (
        frame.astype({"carrier": "string"}).groupby("delay")[["carrier", "delay"]].corr()
    ),
}


def _raise(values):
    raise ValueError(f"of {list(values)}")


@pytest.mark.parametrize("of", TRIED)
def test_errors_that_come_of_made_up_rows_say_so(of, frame):
    frame["day"] = pd.date_range("2021", periods=4)
    with pytest.raises(ValueError, match="of |could not convert") as caught:
        TRIED[of](frame)
    assert [note.partition(" of the")[0] for note in caught.value.__notes__] == ["This came of two made-up rows"]


def test_errors_that_come_of_real_rows_do_not_say_that_rows_were_made_up(frame):
    with pytest.raises(ValueError, match="could not convert string to float: '[a-d]'") as caught:
        frame.corr().compute(scheduler="inline")
    assert not any("made-up" in note for note in getattr(caught.value, "__notes__", ()))


def test_lazy_arguments_of_groups_are_refused(frame):
    groups, most = frame.groupby("carrier").delay, frame.delay.max()
    for call in (
        lambda: groups.agg(lambda values, more: values.max() + more, most),
        lambda: groups.agg(lambda values, more: 1, more={"most": most}),
        lambda: groups.apply(lambda values, more: values, most),
        lambda: groups.transform(lambda values, more: values, most),
        lambda: groups.shift(1, fill_value=most),
    ):
        with pytest.raises(TypeError, match=r"GroupBy\.\w+: \w+= is a .*compute\(\) (it|them) before"):
            call()
    with pytest.raises(TypeError, match="fill_value should be a value that is known"):
        frame.pivot_table("delay", "carrier", fill_value=most)
