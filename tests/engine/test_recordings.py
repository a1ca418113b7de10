"""Recordings of real clusters: begun late, stopped, killed, on full disks, of threads, and from the shell."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

import glassloom
import psutil
import pytest
from fault_helpers import eventually
from glassloom import Client, LocalCluster, wait
from glassloom.errors import ClusterError, ForkedError
from glassloom_metrics.errors import RecordingError
from glassloom_metrics.open_recordings import read_recording_records
from glassloom_metrics.protocol import Action, Layers, Life, Progress, Runs, TaskEvents, WorkerJoined, column
from glassloom_metrics.recording import read_recording
from glassloom_metrics.registry import find_record
from test_full_disk import run_with_small_disk


def tasks_by_layer(path: Path) -> Counter[str]:
    """Return how many computed tasks of each layer a recording has; fail if it is damaged."""
    recording, names, counts = read_recording(path), {}, Counter()
    for message in recording:
        if isinstance(message, Layers):
            names.update(zip(message.ids, message.names, strict=True))
        elif isinstance(message, TaskEvents):
            rows = zip(column(message, "layer"), column(message, "action"), strict=True)
            counts.update(names[layer] for layer, action in rows if action == Action.COMPUTE)
    assert (recording.damage, recording.unreadable) == ("", 0)
    return counts


def early(x: int) -> int:
    return x


def late(x: int) -> int:
    return x + 1


def missed(x: int) -> int:
    return x + 2


@pytest.fixture(scope="module")
def client():
    with Client(n_workers=2, threads_per_worker=1, memory_limit="1GB", name="recorded") as client:
        yield client


def test_what_happens_inside_a_with_block_is_recorded_after_a_snapshot_of_what_was(client, tmp_path):
    path, before = tmp_path / "run.glr", tmp_path / "before.glr"
    with client.record(before, since_start=True):
        client.gather(client.map(early, range(50)))
        eventually(lambda: tasks_by_layer(before)["early"] == 50)
    with client.record(path) as recording:
        client.gather(client.map(late, range(50)))
        assert recording.is_running
    client.gather(client.map(missed, range(50)))
    assert not recording.is_running and recording.problem == ""
    counts = tasks_by_layer(path)
    assert (counts["late"], counts["missed"]) == (50, 0) and not counts["early"]
    messages = list(read_recording(path))
    assert sorted(message.name for message in messages if isinstance(message, WorkerJoined)) == [
        "recorded-0",
        "recorded-1",
    ]
    assert any("early" in message.names for message in messages if isinstance(message, Layers))
    runs = [message for message in messages if isinstance(message, Runs)]
    assert runs and "map" in runs[-1].kinds


def test_all_since_the_start_is_recorded_if_asked_for_and_stop_may_be_called_twice(client, tmp_path):
    path = tmp_path / "run.glr"
    client.gather(client.map(late, range(50), pure=False))
    recording = client.record(path, since_start=True)
    assert repr(recording) == f"<Recording of 'recorded': '{path}', recording>"
    recording.stop()
    recording.stop()
    assert repr(recording) == f"<Recording of 'recorded': '{path}', ended>"
    assert tasks_by_layer(path)["late"] >= 50
    assert path.stat().st_size == recording.nbytes
    messages = list(read_recording(path))
    assert any(isinstance(message, WorkerJoined) for message in messages)
    assert any(isinstance(message, Progress) for message in messages)


def test_a_file_that_is_there_is_not_overwritten_unless_asked(client, tmp_path):
    path = tmp_path / "run.glr"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="there is a file already"):
        client.record(path)
    assert path.read_text() == "mine"
    client.record(path, overwrite=True).stop()
    assert tasks_by_layer(path) == {}


@pytest.mark.fault("the head is stopped while a recording is to end")
def test_a_recording_of_a_stopped_head_ends_in_time_and_says_what_it_may_lack(client, tmp_path):
    path = tmp_path / "run.glr"
    recording = client.record(path, since_start=True)
    head = client._record.pid
    os.kill(head, signal.SIGSTOP)
    try:
        before_s = time.monotonic()
        with pytest.warns(
            UserWarning, match="cluster 'recorded' hasn't answered for 3 s: the recording may lack its end"
        ):
            recording.stop()
        assert time.monotonic() - before_s < 30
    finally:
        os.kill(head, signal.SIGCONT)
    assert not recording.is_running
    assert tasks_by_layer(path)["late"] >= 50


@pytest.mark.fault("a cluster is killed while it is recorded")
def test_a_recording_ends_with_its_cluster_closed_or_killed(tmp_path):
    with (
        LocalCluster(1, 1, name="short", memory_limit="1GB") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        closed = client.record(tmp_path / "closed.glr")
        client.submit(late, 1).result()
        client.shutdown()
        closed.wait()
        assert closed.problem == ""
        *_, last = read_recording(closed.path)
        assert isinstance(last, Life) and last.event == "closing"
    with (
        LocalCluster(1, 1, name="short", memory_limit="1GB") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        killed = client.record(tmp_path / "killed.glr")
        os.kill(cluster.record.pid, signal.SIGKILL)
        killed.wait()
        assert re.match(r"cluster 'short' ended without a word: its process \d+ is gone", killed.problem)
        with pytest.warns(UserWarning, match="ended without a word"):
            killed.stop()
        assert tasks_by_layer(killed.path) == {}


def test_an_asynchronous_client_records_too(tmp_path):
    path = tmp_path / "run.glr"

    async def main() -> None:
        async with (
            Client("recorded", asynchronous=True, set_as_default=False) as client,
            await client.record(path) as recording,
        ):
            assert await client.submit(late, 1000) == 1001
            assert recording.is_running

    with LocalCluster(1, 1, name="other", memory_limit="1GB"):
        asyncio.run(main())
    assert tasks_by_layer(path) == {"late": 1}


@pytest.mark.usefixtures("client")
def test_a_forked_child_cannot_stop_its_parents_recording(client, tmp_path):
    recording = client.record(tmp_path / "run.glr")
    child = os.fork()
    if not child:
        try:
            recording.stop()
        except ForkedError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    recording.stop()
    assert recording.problem == ""


def test_a_cluster_that_cannot_be_recorded_leaves_no_file(client, tmp_path):
    import msgspec
    from glassloom.recordings.cluster_recording import start_recording

    stranger = msgspec.structs.replace(client._record, secret="wrong")
    with pytest.raises(ClusterError, match="cluster 'recorded' refused the connection: the secret is wrong"):
        start_recording(stranger, tmp_path / "run.glr", since_start=False, overwrite=False)
    assert list(tmp_path.iterdir()) == []


def run_script(script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, env={**os.environ, **environ}
    )


def test_threads_without_a_client_are_recorded_and_so_is_what_a_script_forgets_to_stop(tmp_path):
    path = tmp_path / "run.glr"
    script = f"""
import glassloom

@glassloom.delayed
def work(x):
    return x + 1

recording = glassloom.record({str(path)!r})
print(sum(glassloom.compute(*[work(i) for i in range(40)])))
"""
    done = run_script(script, GLASSLOOM_THREADS__PUBLISH="true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "820\n", "")
    assert tasks_by_layer(path) == {"work": 40}
    again = run_script(script, GLASSLOOM_THREADS__PUBLISH="false")
    assert "OptionError: the pool of threads publishes no metrics" in again.stderr


def test_what_collections_compute_on_is_recorded(client, tmp_path):
    with glassloom.record(tmp_path / "run.glr"):
        client.submit(late, 5000).result()
    assert tasks_by_layer(tmp_path / "run.glr") == {"late": 1}


@pytest.mark.fault("the process that records is killed")
def test_a_recording_whose_writer_is_killed_opens_as_far_as_it_goes(client, tmp_path):
    path = tmp_path / "run.glr"
    command = [sys.executable, "-m", "glassloom", "record", "recorded", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"Recording cluster 'recorded' to {path}. To end it: Ctrl-C\n"
        client.gather(client.map(late, range(30), pure=False))
        eventually(lambda: tasks_by_layer(path)["late"] == 30)
        process.kill()
    assert tasks_by_layer(path) == {"late": 30}
    assert not path.read_bytes()[-8:].startswith(b"glr-end")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_the_command_records_until_it_is_interrupted(client, tmp_path, sent):
    path = tmp_path / "run.glr"
    command = [sys.executable, "-m", "glassloom", "record", "recorded", str(path), "--since-start"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        client.gather(client.map(missed, range(30), pure=False))
        process.send_signal(sent)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert re.fullmatch(rf"Recorded .*B\. To see it: glassloom replay {path}\n", out)
    assert tasks_by_layer(path)["missed"] >= 30
    assert path.read_bytes()[-8:].startswith(b"glr-end")


def test_the_command_records_what_has_happened_until_now(client, tmp_path):
    client.gather(client.map(missed, range(30), pure=False))
    path = tmp_path / "run.glr"
    command = [sys.executable, "-m", "glassloom", "record", "recorded", str(path), "--since-start", "--until-now"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(rf"Recorded .*B\. To see it: glassloom replay {path}\n", done.stdout)
    assert tasks_by_layer(path)["missed"] >= 30


@pytest.mark.fault("the disk is full while a cluster is recorded")
def test_a_recording_on_a_full_disk_says_so_and_stays_readable(tmp_path):
    script = """
import logging, warnings
from glassloom_metrics.recording import read_recording
logging.basicConfig(stream=sys.stdout, format="%(message)s")
client = Client(n_workers=1, threads_per_worker=1, memory_limit="1GB")
recording = client.record(disk + "/run.glr")
client.gather(client.map(tasks.inc, range(100)))
eventually(lambda: recording.nbytes > 3000)
fill()
recording.wait()
with warnings.catch_warnings(record=True) as caught:
    recording.stop()
assert str(caught[0].message) == recording.problem
assert client.submit(tasks.inc, 1).result() == 2
read = read_recording(disk + "/run.glr")
print(len(list(read)) > 3, repr(read.damage))
client.close()
"""
    out = run_with_small_disk(tmp_path, "size=1m", script)
    problem = r"the recording '.*/run.glr' ends early: the disk is full \(No space left on device\)"
    assert re.fullmatch(f"{problem}\nTrue ''\n", out)


def test_the_command_names_what_is_wrong(client, tmp_path):
    path = tmp_path / "run.glr"
    path.write_text("mine")
    command = [sys.executable, "-m", "glassloom", "record"]
    done = subprocess.run([*command, "recorded", str(path)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"glassloom: can't record to '{path}': there is a file already")
    done = subprocess.run([*command, "nobody", str(path)], capture_output=True, text=True, timeout=300)
    assert done.stderr == "glassloom: no cluster 'nobody'; running: 'recorded'\n"
    assert find_record("recorded").id == client.id


# Shown again


@pytest.fixture(scope="module")
def recording(client, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("made") / "run.glr"
    with client.record(path):
        client.gather(client.map(late, range(30), pure=False))
    return path


def fetch(link: str) -> tuple[int, str]:
    """Return the status and text of a page of dashboards that ask for a cookie."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(link, timeout=60) as answer:
        return answer.status, answer.read().decode()


def test_a_script_sees_a_recording_in_dashboards_that_end_with_it(recording):
    with glassloom.replay(recording) as replay:
        assert re.fullmatch(
            r"<Replay of 'run.glr': http://127\.0\.0\.1:\d+/recording-[0-9a-f]{12}/status\?token=[\w-]+>", repr(replay)
        )
        status, text = fetch(replay.link)
        assert status == 200 and "recorded" in text
        (dashboards,) = [
            child for child in psutil.Process().children() if "glassloom_dashboards" in " ".join(child.cmdline())
        ]
    assert not dashboards.is_running()
    replay.close()


def test_dashboards_of_a_replay_end_with_a_script_that_is_killed(recording):
    script = f"""
import glassloom, os, psutil, signal
replay = glassloom.replay({str(recording)!r})
print(*[child.pid for child in psutil.Process().children()], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    pid = int(run_script(script).stdout)
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_in_a_notebook_the_dashboards_of_jupyter_show_a_recording(recording, monkeypatch):
    monkeypatch.setattr("glassloom.recordings.replay.jupyter_base_url", lambda: "/user/o'x/")
    replay = glassloom.replay(recording)
    (record,) = read_recording_records()
    assert (record.path, record.name) == (str(recording), "recorded (run.glr)")
    assert replay.link == f"/user/o'x/glassloom/dash/{record.id}/status"
    assert f'<a href="/user/o&#39;x/glassloom/dash/{record.id}/status"' in replay._repr_html_()
    replay.close()
    assert read_recording_records() == []


def test_the_command_serves_a_recording_and_names_what_is_none(recording, tmp_path):
    command = [sys.executable, "-m", "glassloom", "replay"]
    with subprocess.Popen([*command, str(recording)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        status, _ = fetch(process.stdout.readline().strip())
        assert status == 200
        for child in psutil.Process(process.pid).children():
            child.terminate()
    other = tmp_path / "other"
    other.write_text("no recording")
    done = subprocess.run([*command, str(other)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stderr == f"glassloom: '{other}' is not a Glassloom recording (it begins with b'no recor')\n"
    with pytest.raises(RecordingError, match="is not a Glassloom recording"):
        glassloom.replay(other)
    with pytest.raises(FileNotFoundError):
        glassloom.replay(tmp_path / "nothing")


# Reports


def bad(x: int) -> int:
    raise ValueError(f"<img src=x onerror=alert({x})>")


def test_a_report_holds_what_ran_inside_the_block_as_one_page_that_loads_nothing(client, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("an older one")
    client.gather(client.map(early, range(20), pure=False))
    with glassloom.performance_report(path, title="My <b>report</b>"):
        client.gather(client.map(late, range(40), pure=False))
        wait(client.map(bad, range(3)))
    text = path.read_text()
    assert "<h1>My &lt;b&gt;report&lt;/b&gt;</h1>" in text and "<img src=x" not in text
    assert re.search(r'<th scope="row">late</th><td class="number">40</td><td class="number">0</td>', text)
    assert re.search(r"ValueError: &lt;img src=x onerror=alert\([012]\)&gt;</th>", text)
    assert "<dt>cluster</dt><dd>recorded (processes)</dd>" in text
    assert "default-src 'none'" in text
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_of_threads_needs_no_client(tmp_path):
    path = tmp_path / "report.html"
    script = f"""
import glassloom

@glassloom.delayed
def work(x):
    return x + 1

with glassloom.performance_report({str(path)!r}):
    print(sum(glassloom.compute(*[work(i) for i in range(40)])))
"""
    done = run_script(script, GLASSLOOM_THREADS__PUBLISH="true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "820\n", "")
    assert '<th scope="row">work</th><td class="number">40</td>' in path.read_text()


def test_a_block_that_raises_has_its_report_and_its_own_error(client, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    with pytest.raises(ValueError, match="alert"), glassloom.performance_report(path):
        client.submit(bad, 7).result()
    assert "bad" in path.read_text()
    monkeypatch.setattr("glassloom.recordings.report._TIMEOUT_S", 0.01)
    (kept := tmp_path / "kept").mkdir()
    monkeypatch.setattr("tempfile.tempdir", os.fspath(kept))
    words = r"wasn't drawn within .*; what was recorded is kept: glassloom report /.*\.glr no.html$"
    with pytest.raises(ClusterError, match=words), glassloom.performance_report(tmp_path / "no.html"):
        pass
    with (
        pytest.raises(KeyError),
        pytest.warns(UserWarning, match="wasn't drawn within"),
        glassloom.performance_report(tmp_path / "no.html"),
    ):
        raise KeyError("mine")
    assert not (tmp_path / "no.html").exists()
    recordings = list(kept.iterdir())
    assert len(recordings) == 2 and all(list(read_recording(each)) for each in recordings)


def test_what_cannot_be_written_is_said_before_the_work(client, tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="there is no such folder"),
        glassloom.performance_report(tmp_path / "a/b"),
    ):
        raise AssertionError("it has begun")
    with pytest.raises(IsADirectoryError, match="it is a folder"), glassloom.performance_report(tmp_path):
        raise AssertionError("it has begun")
    os.mkfifo(fifo := tmp_path / "fifo")
    with pytest.raises(FileExistsError, match="it is a FIFO"), glassloom.performance_report(fifo):
        raise AssertionError("it has begun")
    long = tmp_path / f"{'a' * 249}.html"  # there is no room for the name of a draft beside it
    with pytest.raises(OSError, match="can't write a report to '.*': File name too long"):  # noqa: SIM117
        with glassloom.performance_report(long):
            raise AssertionError("it has begun")
    assert list(tmp_path.iterdir()) == [fifo]


@pytest.mark.long
def test_the_command_makes_the_report_of_a_recording(recording, tmp_path):
    path = tmp_path / "r.html"
    command = [sys.executable, "-m", "glassloom", "report", str(recording)]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert '<th scope="row">late</th><td class="number">30</td>' in path.read_text()
    done = subprocess.run([*command, "/nowhere/r.html"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert re.fullmatch(r"glassloom: the report '/nowhere/r.html' can't be written: .*No such file .*\n", done.stderr)
