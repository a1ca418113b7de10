"""Configuration: where values come from, which one counts, what is refused, and that each option does something."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import glassloom
import glassloom.array as ga
import glassloom.dataframe as gd
import pytest
from glassloom import config, delayed
from glassloom.array.chunks import normalize_chunks
from glassloom.errors import ConfigError, OptionError
from glassloom.expr import lower, optimize
from glassloom.local.threads import default_threads

MIB = 2**20

Write = Callable[[str], Path]


@pytest.fixture(autouse=True)
def only_our_configuration(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no file and no variable of the machine count, and nothing that a test sets outlive it."""
    for variable in [name for name in os.environ if name.startswith("GLASSLOOM_") and "__" in name]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("GLASSLOOM_THREADS__PUBLISH", "false")  # a pool lives as long as the process
    monkeypatch.setenv("GLASSLOOM_CONFIG", "")
    config.refresh()
    yield
    monkeypatch.undo()
    config.refresh()


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the user's file and reads the configuration again."""

    def write(text: str) -> Path:
        path = tmp_path / "glassloom.yaml"
        path.write_text(text)
        monkeypatch.setenv("GLASSLOOM_CONFIG", str(path))
        config.refresh()
        return path

    return write


# Where values come from


def test_an_option_has_a_default() -> None:
    assert config.get("array.chunk-size") == 128 * MIB


@pytest.mark.parametrize("name", ["array.chunk_size", "array__chunk_size", "ARRAY.CHUNK-SIZE"])
def test_names_are_found_however_they_are_written(name: str) -> None:
    assert config.get(name) == 128 * MIB


def test_a_file_sets_options(written: Write) -> None:
    written("array:\n  chunk-size: 16 MiB\ncluster.n-workers: 3\nthreads: # nothing\n")
    assert config.get("array.chunk-size") == 16 * MIB
    assert config.get("cluster.n-workers") == 3
    assert config.get("threads.n-threads") is None


def test_an_empty_file_sets_nothing(written: Write) -> None:
    written("# array:\n#   chunk-size: 16 MiB\n")
    assert config.get("array.chunk-size") == 128 * MIB


def test_of_several_files_in_a_folder_the_last_by_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "10-site.yaml").write_text("{array.chunk-size: 1 MiB, cluster.n-workers: 7}")
    (tmp_path / "20-mine.yml").write_text("array.chunk-size: 2 MiB")
    (tmp_path / "30-notes.txt").write_text("array.chunk-size: 3 MiB")
    monkeypatch.setenv("GLASSLOOM_CONFIG", str(tmp_path))
    config.refresh()
    assert (config.get("array.chunk-size"), config.get("cluster.n-workers")) == (2 * MIB, 7)


def test_the_users_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSLOOM_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "glassloom").mkdir()
    (tmp_path / "glassloom" / "any.yaml").write_text("array.chunk-size: 5 MiB")
    config.refresh()
    assert config.get("array.chunk-size") == 5 * MIB


def test_the_environments_folder_comes_before_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, own = tmp_path / "etc" / "glassloom", tmp_path / "own"
    for folder, text in ((shared, "{array.chunk-size: 5 MiB, cluster.n-workers: 6}"), (own, "array.chunk-size: 7 MiB")):
        folder.mkdir(parents=True)
        (folder / "a.yaml").write_text(text)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("GLASSLOOM_CONFIG", str(own))
    config.refresh()
    assert (config.get("array.chunk-size"), config.get("cluster.n-workers")) == (7 * MIB, 6)


def test_the_environment_wins_over_files(written: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSLOOM_ARRAY__CHUNK_SIZE", "8 MiB")
    written("array.chunk-size: 16 MiB")
    assert config.get("array.chunk-size") == 8 * MIB


def test_a_call_of_set_wins_over_the_environment_until_refresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSLOOM_ARRAY__CHUNK_SIZE", "8 MiB")
    config.refresh()
    config.set({"array.chunk-size": "4 MiB"})
    assert config.get("array.chunk-size") == 4 * MIB
    config.refresh()
    assert config.get("array.chunk-size") == 8 * MIB


def test_the_environment_is_read_once() -> None:
    script = (
        "import os; from glassloom import config; before = config.get('cluster.n-workers');"
        "os.environ['GLASSLOOM_CLUSTER__N_WORKERS'] = '5'; print(before, config.get('cluster.n-workers'));"
        "config.refresh(); print(config.get('cluster.n-workers'))"
    )
    assert run(script, GLASSLOOM_CLUSTER__N_WORKERS="4") == "4 4\n5\n"


def test_a_variable_of_ours_that_is_no_option_is_left_alone() -> None:
    assert (
        run("from glassloom import config; print(config.get('cluster.n-workers'))", GLASSLOOM_LONG_TESTS="1")
        == "None\n"
    )


def test_yaml_is_loaded_only_for_a_file(tmp_path: Path) -> None:
    script = "import sys; from glassloom import config; config.get('array.chunk-size'); print('yaml' in sys.modules)"
    assert run(script) == "False\n"
    (tmp_path / "a.yaml").write_text("")
    assert run(script, GLASSLOOM_CONFIG=str(tmp_path)) == "True\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("threads.n-threads", "none", None),
        ("threads.n-threads", "", None),
        ("threads.n-threads", "7", 7),
        ("threads.publish", "off", False),
        ("threads.publish", "True", True),
        ("cluster.memory-limit", "auto", "auto"),
        ("cluster.memory-limit", "0.5", 0.5),
        ("cluster.memory-limit", "1.5GB", 1_500_000_000),
        ("cluster.memory-limit", "2000000000", 2_000_000_000),
        ("cluster.memory-limit", "none", None),
        ("cluster.memory-spill-fraction", "0.65", 0.65),
        ("cluster.start-timeout", "2 min", 120.0),
        ("cluster.spill-compression", "lz4", "lz4"),
        ("cluster.local-directory", "/scratch", "/scratch"),
    ],
)
def test_text_of_the_environment_becomes_a_value(
    name: str, text: str, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(config.OPTIONS[name].variable, text)
    config.refresh()
    assert config.get(name) == expected


@pytest.mark.parametrize("name", config.OPTIONS)
def test_what_set_has_set_travels_to_other_processes(name: str) -> None:
    option = config.OPTIONS[name]
    with config.set({name: option.default}):
        sent = config.environment()
        value = config.get(name)
    assert list(sent) == [option.variable]
    assert option.parsed(sent[option.variable], "test") == value


# Setting


def test_set_in_a_with_block_holds_for_the_block() -> None:
    with config.set(array__chunk_size="1 MiB"):
        with config.set({"array.chunk-size": "2 MiB", "cluster.n-workers": 4}):
            assert (config.get("array.chunk-size"), config.get("cluster.n-workers")) == (2 * MIB, 4)
        assert (config.get("array.chunk-size"), config.get("cluster.n-workers")) == (1 * MIB, None)
    assert config.get("array.chunk-size") == 128 * MIB


def test_a_block_takes_back_its_values_when_it_raises() -> None:
    with pytest.raises(KeyError, match="out"), config.set(array__chunk_size="1 MiB"):
        raise KeyError("out")
    assert config.get("array.chunk-size") == 128 * MIB


def test_a_block_leaves_what_a_call_had_set() -> None:
    config.set(array__chunk_size="3 MiB")
    with config.set(array__chunk_size="1 MiB"):
        assert seen_by_a_thread("array.chunk-size") == 3 * MIB
    assert config.get("array.chunk-size") == 3 * MIB


def test_a_call_in_a_block_holds_after_the_block_and_elsewhere() -> None:
    with config.set(array__chunk_size="1 MiB"):
        config.set(array__chunk_size="5 MiB")
        assert config.get("array.chunk-size") == 1 * MIB
        assert seen_by_a_thread("array.chunk-size") == 5 * MIB
    assert config.get("array.chunk-size") == 5 * MIB


def test_other_threads_see_calls_and_not_blocks() -> None:
    config.set(cluster__n_workers=3)
    with config.set(array__chunk_size="1 MiB"):
        assert seen_by_a_thread("array.chunk-size") == 128 * MIB
        assert seen_by_a_thread("cluster.n-workers") == 3


def test_asyncio_tasks_have_blocks_of_their_own() -> None:
    async def in_block(size: str, begun: asyncio.Event, others: asyncio.Event) -> int:
        with config.set(array__chunk_size=size):
            begun.set()
            await others.wait()
            return int(config.get("array.chunk-size"))

    async def both() -> list[int]:
        one, other = asyncio.Event(), asyncio.Event()
        with config.set(cluster__n_workers=9):
            return await asyncio.gather(
                in_block("1 MiB", one, other), in_block("2 MiB", other, one), started_in_a_block()
            )

    async def started_in_a_block() -> int:
        return int(config.get("cluster.n-workers"))

    assert asyncio.run(both()) == [1 * MIB, 2 * MIB, 9]


def test_options_can_be_set_by_section() -> None:
    with config.set({"array": {"chunk_size": "1 MiB"}, "cluster": {"n-workers": 2}}):
        assert (config.get("array.chunk-size"), config.get("cluster.n-workers")) == (1 * MIB, 2)


def test_threads_that_set_at_once_lose_nothing() -> None:
    names = ["cluster.n-workers", "cluster.threads-per-worker", "threads.n-threads", "visualize.max-tasks"]
    start = threading.Barrier(len(names))

    def count_up(name: str) -> None:
        start.wait(60)
        for number in range(1, 500):
            config.set({name: number})
            assert config.get(name) == number

    threads = [threading.Thread(target=count_up, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [config.get(name) for name in names] == [499] * 4


def test_nothing_is_set_if_one_value_is_wrong() -> None:
    with pytest.raises(ConfigError, match="threads.publish=3"):
        config.set({"array.chunk-size": "1 MiB", "threads.publish": 3})
    assert config.get("array.chunk-size") == 128 * MIB


def test_a_forked_child_can_set_options() -> None:
    script = """
import os
from glassloom import config
from glassloom.config import settings
settings._lock.acquire()  # another thread is setting something
pid = os.fork()
if not pid:
    config.set(cluster__n_workers=2)
    os._exit(config.get("cluster.n-workers"))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert run(script) == "2\n"


# What is refused


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("array.chunksize", "did you mean 'array.chunk-size' or 'array.backend'?"),
        ("chunk-size", "did you mean 'array.chunk-size'?"),
        ("worker.memory-limit", "did you mean 'cluster.memory-limit'?"),
        ("xyz", "there are array.backend, array.chunk-size, "),
    ],
)
def test_an_unknown_name_is_told_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.get(name)
    assert str(caught.value).startswith(f"config.get: no option is called {name!r}; {hint}")


def test_an_unknown_keyword_is_told_the_nearest() -> None:
    with pytest.raises(
        OptionError, match="config.set: no option is called 'array__chunks_size'; did you mean 'array.chunk-size'"
    ):
        config.set(array__chunks_size=3)


def test_an_unknown_variable_is_told_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSLOOM_ARRAY__CHUNKSIZE", "3")
    with pytest.raises(ConfigError, match="variable GLASSLOOM_ARRAY__CHUNKSIZE: no option .* 'array.chunk-size'"):
        config.refresh()


def test_a_variable_with_one_underscore_is_told_the_right_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSLOOM_ARRAY_CHUNK_SIZE", "3 MiB")
    with pytest.raises(ConfigError, match="write GLASSLOOM_ARRAY__CHUNK_SIZE, with two underscores"):
        config.refresh()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("array.chunk-size", "big", "array.chunk-size='big' (config.set): expected a size in bytes, such as 1000000 or '128 MiB'"),
        ("array.chunk-size", 0, "array.chunk-size=0 (config.set): expected a size in bytes, such as 1000000 or '128 MiB'"),
        ("array.chunk-size", float("inf"), "array.chunk-size=inf (config.set): expected a size in bytes, such as 1000000 or '128 MiB'"),
        ("array.chunk-size", None, "array.chunk-size=None (config.set): expected a size in bytes, such as 1000000 or '128 MiB'"),
        ("threads.n-threads", 0, "threads.n-threads=0 (config.set): expected a whole number, 1 or more, or none"),
        ("threads.n-threads", True, "threads.n-threads=True (config.set): expected a whole number, 1 or more, or none"),
        ("threads.n-threads", 1.5, "threads.n-threads=1.5 (config.set): expected a whole number, 1 or more, or none"),
        ("threads.publish", "maybe", "threads.publish='maybe' (config.set): expected true or false"),
        ("cluster.memory-pause-fraction", 80, "cluster.memory-pause-fraction=80 (config.set): expected a number above 0, up to 1, or none"),
        ("cluster.spill-compression", "zip", "cluster.spill-compression='zip' (config.set): expected one of 'lz4', 'zstd', or none"),
        ("cluster.spill-compression", ["lz4"], "cluster.spill-compression=['lz4'] (config.set): expected one of 'lz4', 'zstd', or none"),
        ("cluster.start-timeout", "soon", "cluster.start-timeout='soon' (config.set): expected a time above 0: seconds, or text such as '500ms' or '2 min'"),
        ("cluster.local-directory", 7, "cluster.local-directory=7 (config.set): expected the path of a folder, or none"),
        ("cluster.memory-limit", True, "cluster.memory-limit=True (config.set): expected bytes, text such as '4GB', a fraction of the memory that there is, such as 0.5, or 'auto', or none"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_what_is_expected(name: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.set({name: value})
    assert str(caught.value) == message


def test_a_file_that_is_not_yaml_is_told_its_line(written: Write) -> None:
    with pytest.raises(
        ConfigError, match=r"yaml, line 4: not YAML: while parsing a flow sequence, line 3: expected ',' or ']'"
    ):
        written("array:\n  chunk-size: 1 MiB\n  oops: [1, 2\n")


def test_a_file_that_is_not_text_is_refused(written: Write, tmp_path: Path) -> None:
    path = written("")
    path.write_bytes(b"array: \xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"glassloom\.yaml: not YAML: "):
        config.refresh()


def test_an_unknown_name_in_a_file_is_told_its_line(written: Write) -> None:
    with pytest.raises(
        ConfigError, match=r"yaml, line 3: no option is called 'array.chunksize'; did you mean 'array.chunk-size'"
    ):
        written("# mine\narray:\n  chunksize: 1 MiB\n")


def test_a_wrong_value_in_a_file_is_told_its_line(written: Write) -> None:
    with pytest.raises(ConfigError, match=r"chunk-size=\[1, 2\] \(.*yaml, line 2\): expected a size"):
        written("array:\n  chunk-size: [1, 2]\n")


def test_a_file_without_names_is_refused(written: Write) -> None:
    with pytest.raises(ConfigError, match=r"yaml, line 1: expected options by name, such as 'array:'"):
        written("- array\n")


def test_a_file_cannot_make_objects(written: Write) -> None:
    with pytest.raises(ConfigError, match="not YAML: could not determine a constructor"):
        written("array:\n  chunk-size: !!python/object/apply:os.getpid []\n")


def test_a_place_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSLOOM_CONFIG", "/no/such/file.yaml")
    with pytest.raises(ConfigError, match="GLASSLOOM_CONFIG='/no/such/file.yaml': no such file or folder"):
        config.refresh()


def test_after_a_refused_refresh_all_is_as_before(written: Write) -> None:
    config.set(array__chunk_size="3 MiB")
    with pytest.raises(ConfigError, match="line 1"):
        written("array.chunk-size: wrong")
    assert config.get("array.chunk-size") == 3 * MIB


# Describing


def test_describe_says_what_holds_and_where_it_was_said(written: Write) -> None:
    path = written("array:\n  chunk-size: 16 MiB\n")
    (setting,) = config.describe("array.chunk-size")
    assert (setting.option.name, setting.value, setting.source) == ("array.chunk-size", "16 MiB", f"{path}, line 2")


def test_describe_shows_every_option() -> None:
    config.set(threads__publish=False)
    shown = config.describe()
    assert [setting.option.name for setting in shown] == list(config.OPTIONS)
    assert len(repr(shown).splitlines()) == len(config.OPTIONS)
    assert "<td>threads.publish</td><td>false</td><td></td><td>config.set</td>" in shown._repr_html_()


def test_an_argument_that_is_not_given_names_its_option() -> None:
    assert repr(config.Configured("cluster.n-workers")) == "config.get('cluster.n-workers')"
    with config.set(cluster__n_workers=5):
        assert config.chosen(config.Configured("cluster.n-workers")) == 5
    assert config.chosen(None) is None


def seen_by_a_thread(name: str) -> object:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(config.get(name)))
    thread.start()
    thread.join()
    return found[0]


def run(script: str, *arguments: str, **variables: str) -> str:
    environment = {**os.environ, "GLASSLOOM_CONFIG": "", **variables}
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


# What each option does


def test_array_chunk_size_is_the_size_of_automatic_blocks() -> None:
    assert normalize_chunks("auto", (4 * MIB,), "u1") == ((4 * MIB,),)
    with config.set(array__chunk_size="1 MiB"):
        assert normalize_chunks("auto", (4 * MIB,), "u1") == ((MIB,) * 4,)
        assert normalize_chunks("2 MiB", (4 * MIB,), "u1") == ((2 * MIB,) * 2,)


def test_csv_block_size_is_how_files_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "1\n" * 2000)
    with config.set(dataframe__csv_block_size="1 kB"):
        assert gd.read_csv(path).npartitions == 4
        assert gd.read_csv(path, blocksize=None).npartitions == 1
    assert gd.read_csv(path).npartitions == 1


def test_compute_fuse_makes_one_task_of_operations_that_follow_each_other() -> None:
    lazy = ga.from_array([1.0, 2.0], chunks=1) + 1
    twice = lazy * 2
    fused = len(lower(optimize([twice.expr]))[0])
    with config.set(compute__fuse=False):
        assert len(lower(optimize([twice.expr]))[0]) > fused
        assert twice.compute().tolist() == [4.0, 6.0]


def test_n_threads_is_the_size_of_the_pool() -> None:
    with config.set(threads__n_threads=3):
        names = glassloom.compute(*[delayed(thread_name, pure=False)() for _ in range(20)], scheduler="threads")
        assert default_threads().nthreads == 3
    assert set(names) <= {"glassloom-0", "glassloom-1", "glassloom-2"}
    with config.set(threads__n_threads=1):
        names = glassloom.compute(*[delayed(thread_name, pure=False)() for _ in range(20)], scheduler="threads")
    assert set(names) == {"glassloom-0"}


@pytest.mark.parametrize("is_published", [True, False])
def test_publish_puts_the_pool_into_the_registry(is_published: bool) -> None:
    script = (
        "import os, sys, time; import glassloom as gl; from glassloom_metrics.registry import read_records\n"
        "gl.delayed(abs)(-1).compute(); patience_s = time.monotonic() + float(sys.argv[-1])\n"
        "is_there = lambda: os.getpid() in [record.pid for record in read_records()]\n"
        "while not is_there() and time.monotonic() < patience_s: time.sleep(0.01)\n"
        "print(is_there())"
    )
    patience_s = "60" if is_published else "0"  # a thread of the pool's own writes the record
    assert run(script, patience_s, GLASSLOOM_THREADS__PUBLISH=str(is_published)) == f"{is_published}\n"


def test_max_tasks_is_when_layers_are_drawn() -> None:
    total = ga.ones(10, chunks=1).sum()
    assert len(total.visualize().nodes) > 10
    with config.set(visualize__max_tasks=5):
        assert len(total.visualize().nodes) < 5
        assert len(total.visualize(layers=False).nodes) > 10


def thread_name() -> str:
    return threading.current_thread().name
