"""What of pandas isn't there says so, and the page that says what is there says what is there."""

import importlib.util
import json
from pathlib import Path

import glassloom.dataframe as gd
import pandas as pd
import pytest
from glassloom.dataframe import support
from glassloom.errors import NotSupported

DOCS = Path(__file__).parents[2] / "docs"
FRAME = pd.DataFrame({"x": [1, 2, 3], "style": [1, 2, 3]})


def generator(name="dataframe_support"):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_code_says():
    made = generator()
    written = (DOCS / "dataframe-support.md").read_text()
    if f"pandas {made.version()}'s" not in written:
        pytest.skip(f"the page is of another pandas than {made.version()}")
    assert written == made.page(), "run: python docs/dataframe_support.py"


def test_every_row_says_what_the_method_does():
    rows = [line for line in (DOCS / "dataframe-support.md").read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 400
    assert [row for row in rows if "|  |" in row] == []


def test_every_row_says_whether_partitions_stay_on_a_device():
    made = generator()
    if f"pandas {made.version()}'s" not in (DOCS / "dataframe-support.md").read_text():
        pytest.skip("the page is of another pandas")
    found = json.loads((DOCS / "dataframe-on-device.json").read_text())
    there = {kind: {name for name, _ in made._there(kind)} for kind in made.OURS}
    assert {kind: set(names) ^ there[kind] for kind, names in found.items()} == {kind: set() for kind in there}, (
        "run: python docs/dataframe_on_device.py && python docs/dataframe_support.py"
    )
    answers = [answer for names in found.values() for answer in names.values()]
    assert answers.count("yes") > 180 and answers.count("not tried") < 15
    assert {answer.partition(":")[0].partition(";")[0] for answer in answers} <= {
        "yes",
        "no",
        "needs no rows",
        "not tried",
    }


@pytest.mark.long
def test_what_is_said_of_devices_is_so(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    assert generator("dataframe_on_device").found() == json.loads((DOCS / "dataframe-on-device.json").read_text())


@pytest.mark.parametrize("kind", support.PANDAS)
def test_every_public_name_of_pandas_is_there_or_says_what_to_use(kind):
    frame = gd.from_pandas(FRAME[["x"]], npartitions=2)
    lazy = {"DataFrame": frame, "Series": frame.x, "Index": frame.index}[kind]
    unlisted = []
    for name in dir(support.PANDAS[kind]):
        if name.startswith("_") or hasattr(type(lazy), name):
            continue
        assert not hasattr(lazy, name)
        with pytest.raises(NotImplementedError, match=rf"^{kind}\.{name} isn't supported: .+\. Use .+"):
            getattr(lazy, name)
        if (kind, name) not in support.NOT_THERE:
            unlisted.append(name)
    assert unlisted == [], "say why, and what to use instead, in glassloom/dataframe/support.py"


def test_columns_come_before_what_isnt_there_and_other_names_are_unknown():
    frame = gd.from_pandas(FRAME, npartitions=2)
    assert frame["style"].compute().tolist() == frame.style.compute().tolist() == [1, 2, 3]
    with pytest.raises(NotSupported, match=r"DataFrame\.to_pickle isn't supported: a pickle is one object"):
        frame.to_pickle  # noqa: B018
    with pytest.raises(AttributeError, match="DataFrame has no attribute 'styel'.*did you mean 'style'"):
        frame.styel  # noqa: B018
    with pytest.raises(AttributeError, match="Series has no attribute 'rnak'"):
        frame.x.rnak  # noqa: B018
    with pytest.raises(AttributeError, match="Index has no attribute 'rnak'"):
        frame.index.rnak  # noqa: B018


def test_misspelt_and_missing_functions_are_named():
    with pytest.raises(AttributeError, match="has no attribute 'read_parqet'; did you mean 'read_parquet'"):
        gd.read_parqet  # noqa: B018
    with pytest.raises(NotSupported, match=r"json_normalize isn't there: .* or a bag's to_dataframe"):
        gd.json_normalize  # noqa: B018
    frame = gd.from_pandas(FRAME, npartitions=2)
    with pytest.raises(
        NotImplementedError, match=r"DataFrame.applymap isn't supported: it is called map .* Use map\(\)"
    ):
        frame.applymap(str)
    with pytest.raises(
        AttributeError, match=r"^DataFrame has no attribute 'name'; did you mean 'rename'\? \(no column 'name'"
    ):
        frame.name  # noqa: B018
    assert gd.isnull(frame.x).compute().tolist() == [False] * len(FRAME)
    with pytest.raises(NotImplementedError, match=r"^ewm\(times=<Index>\) isn't supported: leave it out"):
        frame.x.ewm(halflife=2, times=frame.index)


def test_labels_have_the_fields_and_methods_of_their_dtype():
    labels = pd.date_range("2020-01-31", periods=5, freq="D", name="t")
    index = gd.from_pandas(pd.DataFrame({"x": range(5)}, index=labels), npartitions=2).index
    assert index.year.compute().tolist() == [2020] * 5
    assert index.is_month_end.compute().tolist() == labels.is_month_end.tolist()
    assert index.date.compute().tolist() == list(labels.date)
    assert index.floor("2D").compute().equals(labels.floor("2D"))
    assert index.day_name().compute().equals(labels.day_name())
    assert index.tz is None
    assert index.tz_localize("UTC").tz == labels.tz_localize("UTC").tz
