"""Publisher and subscribers over real sockets."""

from __future__ import annotations

import asyncio
import itertools
import os
import stat
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from glassloom_metrics.errors import CommandRefused, ConnectionRefused, OtherVersion
from glassloom_metrics.framing import frame
from glassloom_metrics.protocol import (
    NOW,
    PROTOCOL_VERSION,
    Command,
    Connect,
    Dropped,
    Hello,
    Layers,
    Life,
    Log,
    Position,
    Refused,
    decode,
    decode_known,
    encode,
    task_events,
)
from glassloom_metrics.publisher import Publisher, read_frame
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import ClusterRecord
from glassloom_metrics.subscriber import send_command, subscribe, subscribe_frames

SECRET = "right"
HELLO = Hello(2, "c1", "demo", "processes", 0.0, "log1", "1.2.3")


class Cluster:
    def __init__(
        self, directory: Path, secret: str, hello: Hello = HELLO, log_directory: Path | None = None, **log_options
    ) -> None:
        self.path = str(directory / "s")
        self.recorder = Recorder(hello, directory=log_directory, **log_options)
        self.commands: list[str] = []
        self.publisher = Publisher(self.recorder, SECRET, self._handle_command)
        self.record = ClusterRecord(
            "c1", "demo", "processes", os.getpid(), 0.0, self.path, secret, 0.0, str(directory), ""
        )  # fmt: skip

    async def _handle_command(self, command: Command) -> str:
        self.commands.append(command.name)
        if command.arguments:
            raise CommandRefused(f"no {dict(command.arguments)}")
        return f"{command.name} is done"

    def add(self, *messages) -> None:
        for message in messages:
            self.recorder.record(message)
        self.publisher.notify()


@asynccontextmanager
async def cluster(directory: Path, secret: str = SECRET, hello: Hello = HELLO, **log_options):
    running = Cluster(directory, secret, hello, **log_options)
    await running.publisher.serve(running.path)
    try:
        yield running
    finally:
        await running.publisher.close(timeout_s=0.2)
        await until_all_end(asyncio.all_tasks() - {asyncio.current_task()})


async def until_all_end(tasks: set[asyncio.Task]) -> None:
    """Wait for the end of tasks that are ending: some do so in threads, which may take their time on a busy machine."""
    if tasks:
        _, still = await asyncio.wait(tasks, timeout=60)
        assert not still


def run(body, directory: Path, **options) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), cluster(directory, **options) as running:
            await body(running)

    asyncio.run(main())


async def take(stream, count: int) -> list:
    got = []
    async for message in stream:
        got.append(message)
        if len(got) == count:
            break
    await stream.aclose()
    return got


def test_a_late_subscriber_gets_the_backlog_and_then_what_happens(tmp_path):
    async def body(cluster):
        cluster.add(Life(1.0, "started"))
        stream = subscribe(cluster.record)
        assert [await anext(stream), await anext(stream)] == [HELLO, Life(1.0, "started")]
        cluster.add(Life(2.0, "later"))
        assert await anext(stream) == Life(2.0, "later")
        await stream.aclose()

    run(body, tmp_path)


def test_what_happens_soon_after_subscribers_were_told_is_told_the_next_time(tmp_path):
    async def body(cluster):
        stream = subscribe(cluster.record)
        assert await anext(stream) == HELLO
        cluster.add(Life(1.0, "started"))
        assert await anext(stream) == Life(1.0, "started")
        woken = cluster.publisher._grown
        cluster.recorder.record(Life(2.0, "soon after"))
        cluster.publisher.notify(apart_s=60.0)
        assert cluster.publisher._grown is woken
        cluster.publisher.notify()
        assert await anext(stream) == Life(2.0, "soon after")
        await stream.aclose()

    run(body, tmp_path)


def test_topics_and_no_backlog_leave_out_the_rest_but_never_hello_and_how_things_stand(tmp_path):
    async def body(cluster):
        cluster.add(Life(1.0, "started"), Layers([0], ["old"], [1], [""]))
        only = subscribe(cluster.record, ["layers"])
        new = subscribe(cluster.record, since=NOW)
        assert [await anext(new) for _ in range(3)] == [HELLO, Layers([0], ["old"], [1], [""]), Life(1.0, "started")]
        cluster.add(Life(2.0, "later"), Layers([1], ["new"], [1], [""]))
        assert await take(only, 3) == [HELLO, Layers([0], ["old"], [1], [""]), Layers([1], ["new"], [1], [""])]
        assert await take(new, 2) == [Life(2.0, "later"), Layers([1], ["new"], [1], [""])]

    run(body, tmp_path)


def test_who_begins_now_and_names_the_log_gets_its_newest_lines(tmp_path):
    async def body(cluster):
        cluster.add(*[Log(float(n), 0, "stdout", f"line {n}", 0, "") for n in range(300)])
        lines = await take(subscribe(cluster.record, ["log"], since=NOW), 201)
        assert [line.text for line in lines[1:]] == [f"line {n}" for n in range(100, 300)]
        all_topics = subscribe(cluster.record, since=NOW)
        assert await anext(all_topics) == HELLO
        cluster.add(Life(2.0, "later"))
        assert await take(all_topics, 1) == [Life(2.0, "later")]

    run(body, tmp_path)


def test_the_socket_is_for_this_user_alone(tmp_path):
    async def body(cluster):
        assert stat.S_IMODE(os.stat(cluster.path).st_mode) == 0o600

    run(body, tmp_path)


def test_a_wrong_secret_is_refused_in_words(tmp_path):
    async def body(cluster):
        with pytest.raises(ConnectionRefused, match="cluster 'demo' refused the connection: the secret is wrong"):
            await take(subscribe(cluster.record), 1)
        with pytest.raises(ConnectionRefused, match="the secret is wrong"):
            await send_command(cluster.record, "shutdown")
        assert cluster.commands == []

    run(body, tmp_path, secret="wröng")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (
            Connect("metrics", SECRET, version=7, min_version=5),
            "the caller speaks version 7 of the metrics protocol, this cluster 2: upgrade Glassloom in the cluster's env",
        ),
        (
            Connect("metrics", SECRET, version=1),
            "the caller speaks version 1 of the metrics protocol, this cluster 2: upgrade Glassloom in the caller's env",
        ),
        (Connect("worker", SECRET), "begins with a `connect` frame of role 'metrics'"),
        (Command("shutdown"), "begins with a `connect` frame of role 'metrics'"),
    ],
)
def test_whoever_does_not_begin_as_a_subscriber_of_this_version_is_told_why_not(tmp_path, request_, words):
    async def body(cluster):
        reader, writer = await asyncio.open_unix_connection(cluster.path)
        writer.write(frame(encode(request_)))
        answer = decode(await read_frame(reader))
        assert isinstance(answer, Refused) and words in answer.reason
        assert (answer.version, answer.engine) == ((2, "1.2.3") if "version" in words else (0, ""))
        assert await reader.read() == b""
        writer.close()
        assert cluster.commands == []

    run(body, tmp_path)


async def _answer_with(path: str, payloads: list[bytes]) -> asyncio.Server:
    """Listen at `path` and answer every connection with these frames, whatever it asks."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frame(reader)
        writer.writelines(frame(payload) for payload in payloads)
        await writer.drain()
        writer.close()

    return await asyncio.start_unix_server(answer, path)


@pytest.mark.fault("a cluster speaks an older or newer version of the protocol only")
@pytest.mark.parametrize(
    ("refused", "version", "words"),
    [
        # as version 1 says it
        (Refused("the caller speaks version 2 of the protocol, this cluster 1"), 1, "'demo' speaks version 1 of the"),
        (Refused("no", 9, 8, "7.0"), 9, r"'demo' \(Glassloom 7.0\) speaks version 9 of the"),
    ],
)
def test_a_cluster_of_another_version_is_named_with_both_versions_and_what_to_do(tmp_path, refused, version, words):
    async def body(cluster):
        os.unlink(cluster.path)
        server = await _answer_with(cluster.path, [encode(refused)])
        with pytest.raises(OtherVersion, match=words) as caught:
            await take(subscribe(cluster.record), 1)
        assert (caught.value.cluster_version, caught.value.reader_version) == (version, PROTOCOL_VERSION)
        older = "the cluster's environment" if version == 1 else "the environment of the dashboards"
        assert str(caught.value).endswith(
            f"metrics protocol; this Glassloom reads {PROTOCOL_VERSION}: upgrade Glassloom in {older}"
        )
        with pytest.raises(OtherVersion):
            await send_command(cluster.record, "shutdown")
        server.close()

    run(body, tmp_path)


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (b"\xc1", "sent a first message that cannot be read: "),
        (encode(Life(0.0, "started")), r"sent Life\(.*\) where it should say hello"),
        (msgspec.msgpack.encode({"type": "from-the-future"}), "sent None where it should say hello"),
    ],
)
def test_a_cluster_that_does_not_say_hello_is_refused_in_words(tmp_path, first, words):
    async def body(cluster):
        os.unlink(cluster.path)
        server = await _answer_with(cluster.path, [first])
        with pytest.raises(ConnectionRefused, match=f"cluster 'demo' {words}"):
            await take(subscribe(cluster.record), 1)
        server.close()

    run(body, tmp_path)


@pytest.mark.fault("a message is of a later protocol, or damaged")
def test_messages_that_are_unknown_or_cannot_be_read_do_not_end_a_subscription(tmp_path, caplog):
    uneven = encode(Layers([1, 2], ["a"], [1], [""]))
    future = msgspec.msgpack.encode({"type": "novelties", "ids": [1]})
    closing = Life(1.0, "closing")

    async def body(cluster):
        os.unlink(cluster.path)
        server = await _answer_with(cluster.path, [encode(HELLO), uneven, b"\xc1", future, encode(closing)])
        assert await take(subscribe(cluster.record), 2) == [HELLO, closing]
        server.close()

    run(body, tmp_path)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and "'layers' has columns of different lengths: {'ids': 2, 'names': 1" in said[0]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"layer": b"12345"}, "different lengths"),
        ({"layer": b""}, "different lengths"),
        ({"start_s": b"12345678"}, "different lengths"),  # floats are never packed in fewer bytes
        ({"lane": 2**16}, "'lane'"),
        ({"worker": -1}, "'worker'"),
        ({"attempt": 1.5}, "'attempt'"),
        ({"nbytes": 2**63}, "'nbytes'"),
        ({"layer": b"12", "index": []}, "different lengths"),
    ],
)
def test_task_events_whose_columns_cannot_be_right_are_refused(columns, words):
    sound = task_events(
        0, ["0", "1"], layer=[3, 2**20], lane=2**16 - 1, start_s=[1, 2], nbytes=-(2**63), ready_wait_s=1
    )
    assert encode(decode_known(encode(sound))) == encode(sound)
    with pytest.raises(msgspec.DecodeError, match=words):
        decode_known(encode(msgspec.structs.replace(sound, **columns)))


@pytest.mark.parametrize("junk", [b"", b"GET / HTTP/1.1\r\n\r\n", frame(b"\xc1"), frame(b"\x81\xa4type\xa2\xff\xfe")])
def test_junk_closes_that_connection_and_no_other(tmp_path, junk):
    async def body(cluster):
        stream = subscribe(cluster.record)
        assert await anext(stream) == HELLO
        reader, writer = await asyncio.open_unix_connection(cluster.path)
        writer.write(junk)
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        cluster.add(Life(1.0, "still here"))
        assert await anext(stream) == Life(1.0, "still here")
        await stream.aclose()

    run(body, tmp_path)


def test_a_pool_of_threads_takes_no_commands(tmp_path):
    async def body(cluster):
        with pytest.raises(
            CommandRefused, match=r"^'demo' is the pool of threads of process \d+: it ends with that process"
        ):
            await send_command(cluster.record, "shutdown")
        assert cluster.commands == []

    run(body, tmp_path, hello=Hello(2, "c1", "demo", "threads", 0.0, "log1"))


def test_a_command_has_arrived_when_it_was_sent_whatever_goes_the_other_way(tmp_path):
    async def body(cluster):
        for number in range(100):
            sending = asyncio.ensure_future(send_command(cluster.record, f"command-{number}"))
            while not sending.done():
                cluster.add(Life(1.0, "x"))
                await asyncio.sleep(0)
            await sending
        assert cluster.commands == [f"command-{number}" for number in range(100)]

    run(body, tmp_path)


def test_a_command_to_a_head_that_does_not_answer_ends_in_time(tmp_path):
    async def main():
        silent = await asyncio.start_unix_server(lambda reader, writer: None, str(tmp_path / "s"))
        with pytest.raises(
            TimeoutError, match=r"the head of cluster 'demo' \(process \d+\) didn't answer within 0.1 s"
        ):
            await send_command(Cluster(tmp_path, SECRET).record, "shutdown", timeout_s=0.1)
        silent.close()

    asyncio.run(main())


def test_commands_are_answered_in_words(tmp_path):
    async def body(cluster):
        assert await send_command(cluster.record, "shutdown") == "shutdown is done"
        with pytest.raises(CommandRefused, match=r"^no \{'n': 4\}$"):
            await send_command(cluster.record, "scale", {"n": 4})
        assert cluster.commands == ["shutdown", "scale"]

    run(body, tmp_path)


def test_a_ping_is_answered_by_pools_of_threads_too_and_is_no_command(tmp_path):
    async def body(cluster):
        assert await send_command(cluster.record, "ping") == "The cluster answers."
        assert cluster.commands == []

    run(body, tmp_path, hello=Hello(2, "c1", "demo", "threads", 0.0, "log1"))


def test_an_older_cluster_that_closes_without_an_answer_has_taken_a_shutdown_and_knows_nothing_else(tmp_path):
    async def main():
        async def serve(reader, writer):
            writer.write(frame(encode(HELLO)))
            await reader.read()
            writer.close()

        older = await asyncio.start_unix_server(serve, str(tmp_path / "s"))
        record = Cluster(tmp_path, SECRET).record
        assert await send_command(record, "shutdown") == ""
        with pytest.raises(CommandRefused, match="doesn't know 'scale': its Glassloom is older"):
            await send_command(record, "scale", {"n": 1})
        older.close()

    asyncio.run(main())


def test_every_sign_of_life_is_heard(tmp_path):
    async def body(cluster):
        heard = []
        stream = subscribe(cluster.record, [], heard=lambda: heard.append(1))
        assert isinstance(await anext(stream), Hello)
        waiting = asyncio.ensure_future(anext(stream))
        while len(heard) < 2:  # a position, which isn't yielded
            await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await stream.aclose()

    run(body, tmp_path)


@pytest.mark.fault("a viewer stops reading")
def test_a_subscriber_that_does_not_read_holds_up_nobody_and_gets_everything_when_it_does(tmp_path):
    async def body(cluster):
        slow, fast = subscribe(cluster.record), subscribe(cluster.record)
        await anext(slow)
        await anext(fast)
        text = "x" * 10_000
        for number in range(1000):
            cluster.add(Life(float(number), text))
        assert [message.at_s for message in await take(fast, 1000)] == list(range(1000))
        assert [message.at_s for message in await take(slow, 1000)] == list(range(1000))

    run(body, tmp_path)


def test_closing_sends_what_is_left_and_ends_the_stream(tmp_path):
    async def body(cluster):
        stream = subscribe(cluster.record)
        assert await anext(stream) == HELLO
        cluster.recorder.record(Life(9.0, "closing"))
        closing = asyncio.create_task(cluster.publisher.close())
        assert [message async for message in stream] == [Life(9.0, "closing")]
        await closing

    run(body, tmp_path)


def test_closing_does_not_wait_for_a_subscriber_that_never_reads(tmp_path):
    async def body(cluster):
        reader, writer = await asyncio.open_unix_connection(cluster.path)
        reader._transport.pause_reading()
        writer.write(frame(encode(Connect("metrics", SECRET))))
        for number in range(200):
            cluster.add(Life(float(number), "x" * 50_000))
        await asyncio.sleep(0.1)
        before = asyncio.all_tasks()
        await cluster.publisher.close(timeout_s=0.1)
        await until_all_end(before - {asyncio.current_task()})
        writer.close()

    run(body, tmp_path)


def test_a_cluster_that_is_gone_is_an_os_error(tmp_path):
    async def main():
        gone = Cluster(tmp_path, SECRET)
        with pytest.raises(FileNotFoundError):
            await take(subscribe(gone.record), 1)

    asyncio.run(main())


async def everything(record: ClusterRecord, **options) -> list:
    """Return a cluster's messages up to the first position."""
    messages = []
    async for payload in subscribe_frames(record, **options):
        messages.append(decode(payload))
        if isinstance(messages[-1], Position):
            return messages
    raise AssertionError(f"no position after {messages}")


def test_a_newer_caller_that_can_speak_our_version_is_let_in(tmp_path):
    async def body(cluster):
        reader, writer = await asyncio.open_unix_connection(cluster.path)
        writer.write(frame(encode(Connect("metrics", SECRET, version=7, min_version=2))))
        assert decode(await read_frame(reader)) == HELLO
        writer.close()

    run(body, tmp_path)


def test_a_subscriber_goes_on_where_it_was(tmp_path):
    async def body(cluster):
        lives = [Life(float(number), "x") for number in range(200)]
        cluster.add(*lives)
        *_, position = await everything(cluster.record)
        assert position.next == 201
        cluster.add(Life(300.0, "later"))
        again = await everything(cluster.record, since=position.next, log_id="log1")
        assert again[:2] == [HELLO, Life(300.0, "later")] and again[2].next == 202
        of_another_log = await everything(cluster.record, since=position.next, log_id="log0")
        assert of_another_log[:-1] == [HELLO, *lives, Life(300.0, "later")]
        beyond = await everything(cluster.record, since=10**9)
        assert beyond == of_another_log[:-1] + beyond[-1:]

    run(body, tmp_path)


@pytest.mark.fault("the beginning of a cluster's log is gone")
def test_who_comes_too_late_for_the_oldest_frames_is_told_and_gets_a_snapshot(tmp_path):
    async def body(cluster):
        cluster.add(Layers([0], ["old"], [1], ["cell 1"]))
        cluster.add(*(Life(float(number), "x" * 50) for number in range(500)))
        hello, dropped, layers, life, *left, position = await everything(cluster.record)
        assert (hello, dropped) == (HELLO, Dropped(1, cluster.recorder.dropped(0).last))
        assert (layers, life) == (Layers([0], ["old"], [1], ["cell 1"]), Life(499.0, "x" * 50))
        assert [message.at_s for message in left] == list(range(dropped.last - 1, 500))
        assert position.next == len(cluster.recorder) == 502

    run(body, tmp_path, memory_bytes=4000, log_directory=tmp_path / "missing")


@pytest.mark.fault("a cluster is idle")
def test_an_idle_cluster_gives_signs_of_life(tmp_path):
    async def body(cluster):
        stream = subscribe_frames(cluster.record)
        assert decode(await anext(stream)) == HELLO
        beats = [decode(await anext(stream)) for _ in range(3)]
        assert all(isinstance(beat, Position) and beat.next == 1 for beat in beats)
        assert [later.at_s > earlier.at_s for earlier, later in itertools.pairwise(beats)] == [True, True]
        await stream.aclose()

    run(body, tmp_path)


@pytest.mark.parametrize(("frames", "length"), [(20_000, 1), (400, 100_000)])
def test_a_long_backlog_lets_the_loop_do_other_things(tmp_path, monkeypatch, frames, length):
    written, write = [], asyncio.StreamWriter.writelines

    def note(writer, parts):
        parts = list(parts)
        written.append(sum(map(len, parts)))
        write(writer, parts)

    monkeypatch.setattr(asyncio.StreamWriter, "writelines", note)

    async def body(cluster):
        cluster.add(*(Life(float(number), "x" * length) for number in range(frames)))
        turns = 0
        reading = asyncio.ensure_future(everything(cluster.record))
        while not reading.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns > frames / 64
        assert len(reading.result()) == frames + 2
        assert max(written) < 2**18 + 2 * length + 1000  # one frame more than enough, and how far that was

    run(body, tmp_path)
