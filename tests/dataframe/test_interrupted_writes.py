"""Writes that a full disk, Ctrl-C or a lost worker interrupts: nothing half-written is left or to be seen."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from threading import Event

import glassloom as gl
import glassloom.dataframe as gd
import pandas as pd
import pytest
from glassloom.cluster import options
from glassloom.dataframe.io import sql_writing
from glassloom.dataframe.io.filesystems import LOCAL
from glassloom.dataframe.io.staging import staging_in

SCRIPT = """
import json, os, resource, signal, sys, threading
from pathlib import Path
import glassloom.dataframe as gd, numpy as np, pandas as pd

folder = Path(sys.argv[1])
small = gd.from_pandas(pd.DataFrame({"x": range(4)}), npartitions=2)
big = pd.DataFrame({"x": np.random.default_rng(0).random(60_000)})
most = big.x.max()
WRITERS = {
    "parquet": lambda frame, to: frame.to_parquet(to, overwrite=True),
    "csv": lambda frame, to: frame.to_csv(to, overwrite=True),
    "again": lambda frame, to: with_unlike_numbers(frame).to_csv(to, overwrite=True, index=False),
    "one.csv": lambda frame, to: frame.to_csv(to / "one.csv", single_file=True),
    "json": lambda frame, to: frame.to_json(to, overwrite=True),
    "orc": lambda frame, to: frame.to_orc(to, overwrite=True),
    "sql": lambda frame, to: frame.to_sql("t", to / "a.db", if_exists="replace"),
}

def with_unlike_numbers(frame):
    # As floats, as which they are written again, the numbers of all partitions but one take two bytes more each.
    def numbers(block):
        is_last = block.x.max() in (most, 3)
        return pd.DataFrame({"y": 0.5 if is_last else np.zeros(len(block), dtype="int8")}, index=block.index[: 9 if is_last else None])

    return frame.map_partitions(numbers, meta={"y": "int8"})

def bytes_in(place):
    return {str(path.relative_to(place)): path.read_bytes().hex() for path in sorted(place.rglob("*")) if path.is_file()}

def outcome(write, frame, place):
    before = bytes_in(place)
    try:
        write(frame, place)
    except (Exception, KeyboardInterrupt) as error:
        may_go_on.set()
        return [type(error).__name__, str(error)[:80], "a.db" in before or bytes_in(place) == before]
    return ["nothing raised", "", False]

def interrupt(block):
    # The first partition is written while the last one has Ctrl-C pressed and goes on afterwards.
    if block.x.max() == 3:
        while not list(folder.rglob("*part-0000*")):
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        may_go_on.wait(60)
    return block

made = {}
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
for name, write in WRITERS.items():
    place = folder / name
    place.mkdir()
    may_go_on = threading.Event()
    write(small, place)
    resource.setrlimit(resource.RLIMIT_FSIZE, (90_000 if name == "again" else 200_000, hard))  # what a full disk does: writing fails in the middle
    made[name] = outcome(write, gd.from_pandas(big, npartitions=2), place)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    if name not in ("sql", "one.csv"):  # whose tasks run one after the other, or have other names
        may_go_on = threading.Event()
        made[name + " interrupted"] = outcome(write, small.map_partitions(interrupt, meta={"x": "int64"}), place)
print(json.dumps(made))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are Unix's")
def test_a_full_disk_or_ctrl_c_leaves_what_was_there_and_nothing_else(tmp_path):
    run = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    made = json.loads(done.stdout.splitlines()[-1])
    assert len(made) == 12
    for name, (error, message, is_as_before) in made.items():
        assert is_as_before, (name, error, message)
        assert error == ("KeyboardInterrupt" if name.endswith("interrupted") else error), (name, message)
        assert error in ("OSError", "KeyboardInterrupt", "OperationalError", "DatabaseError"), (name, error, message)
    with closing(sqlite3.connect(tmp_path / "sql" / "a.db")) as connection:
        assert connection.execute("select name from sqlite_master where type = 'table'").fetchall() == [("t",)]
        assert connection.execute("select x from t order by x").fetchall() == [(0,), (1,), (2,), (3,)]
    for path in tmp_path.iterdir():
        assert not [one for one in path.rglob("*") if one.name.startswith(".writing") or one.is_dir()]


def test_a_task_that_runs_twice_at_once_writes_two_files_of_which_one_gets_the_name(tmp_path):
    staging = staging_in(LOCAL, str(tmp_path)).made()
    with staging.open("part-0.csv") as slow:
        slow.write(b"the beg")
        with staging.open("part-0.csv") as other:
            other.write(b"the whole\n")
        staging.publish(["part-0.csv"])
        slow.write(b"inning and more than that\n")
    assert (tmp_path / "part-0.csv").read_bytes() == b"the whole\n"
    staging.publish(["part-0.csv"])  # as a task does that finds it moved
    staging.remove()
    staging.publish(["part-0.csv"])
    with pytest.raises(FileNotFoundError):
        staging.publish(["part-1.csv"])
    assert [path.name for path in tmp_path.iterdir()] == ["part-0.csv"]


def test_rows_of_a_partition_go_into_a_table_once_also_if_its_task_runs_again(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    how = {"how": {"index": False}, "first": "append", "engine": {}, "mark": "mark"}
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("create table mark (partition integer primary key, n_rows integer)")
        connection.commit()
        parts = [pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [3]})]
        assert [sql_writing._append(parts[number], url, "t", how, number, None) for number in (0, 1, 0, 1)] == [
            2,
            1,
            2,
            1,
        ]
        rows = lambda: [x for (x,) in connection.execute("select x from t order by rowid")]  # noqa: E731
        assert rows() == [1, 2, 3]
        connection.execute("delete from mark where partition = 1")  # its worker was lost before it could say so
        connection.commit()
        sql_writing._append(parts[1], url, "t", how, 1, None)
        assert rows() == [1, 2, 3]


def test_a_worker_that_is_stopped_and_lost_in_the_middle_of_a_write_leaves_nothing(tmp_path):
    def wait(block):
        if block.x.max() == 3:
            (tmp_path / f"begun-{os.getpid()}").touch()
            while not (tmp_path / "go").exists():
                Event().wait(0.01)
        return block

    to = tmp_path / "to"
    frame = gd.from_pandas(pd.DataFrame({"x": range(4)}), npartitions=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options, "_PRELOADED", ("numpy", "pandas", "pyarrow", "glassloom.array", "glassloom.dataframe"))
        with gl.Client(n_workers=2, threads_per_worker=1) as client:
            writing = client.compute(gd.to_parquet(frame.map_partitions(wait, meta={"x": "int64"}), to, compute=False))
            first = wait_for(lambda: next(tmp_path.glob("begun-*"), None))
            wait_for(lambda: list(to.rglob("part-0000.parquet")))
            pid = int(first.name.partition("-")[2])
            os.kill(pid, signal.SIGSTOP)
            assert [path for path in to.iterdir() if not path.name.startswith(".")] == []
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: [path for path in tmp_path.glob("begun-*") if path != first])
            (tmp_path / "go").touch()
            assert writing.result() == 4
    assert sorted(path.name for path in to.iterdir()) == ["part-0000.parquet", "part-0001.parquet"]
    assert gd.read_parquet(to).x.compute().tolist() == [0, 1, 2, 3]


def wait_for(condition):
    """Return what a condition gives once it isn't false."""
    deadline_s = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < deadline_s
        Event().wait(0.01)
    return found
