"""Of `export`, `pulls` and `formats`."""

from __future__ import annotations

import base64
import csv
import io
import json
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.facts.codes import PullSysFlag, RequestCode, SysFlag
from rocketwire.wire.message import MessageRecord, encode_record
from tests.cli.endpoint import Addresses, Answers, Command, FakeAnswer, FakeServer, fake_server, real_endpoint
from tests.cli.store.support import Command as StoreCommand
from tests.cli.store.support import Ran
from tests.server.processes import Caller

BODIES = [b"plain", b"\xff\x00", b'zwei\nZeilen, "zitiert"', "第三".encode(), b" ", b"last"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("export") / "store"


@pytest.fixture(scope="module")
def endpoint(store: Path) -> Iterator[Addresses]:
    """A real endpoint with the topics T, of two queues, and Empty."""
    with real_endpoint(store) as addresses:
        with Caller(str(addresses.broker)) as caller:
            caller.create_topic("T", 2)
            caller.create_topic("Empty")
            for number, body in enumerate(BODIES * 20):
                properties = f"UNIQ_KEY\x01U{number:07d}\x02TAGS\x01tag\x02KEYS\x01k{number} all"
                caller.send("T", body, queue_id=number % 2, properties=properties)
            packed = zlib.compress(b"packed " * 100)
            caller.send("T", packed, queue_id=0, sys_flag=SysFlag.COMPRESSED)
        yield addresses


@pytest.fixture
def export(endpoint: Addresses, capsys: pytest.CaptureFixture[str]) -> Any:
    command = Command(capsys, str(endpoint.name_server))
    return lambda *arguments: command("message", "export", *arguments)


def test_the_same_objects_as_of_the_store(export: Any, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = export("--topic", "T")
    assert (ran.code, ran.err) == (0, "")
    stored = StoreCommand(capsys)("cat", store, "--topic", "T", "--json").objects
    for one in stored:
        assert one.pop("broker") is None
    stored.sort(key=lambda one: (one["queue_id"], one["queue_offset"]))
    exported = ran.objects
    assert {one.pop("broker") for one in exported} == {"broker-a"}
    assert exported == stored
    assert len(exported) == len(BODIES) * 20 + 1
    assert exported[60]["body"] == "packed " * 100
    assert [one["body"] for one in exported[:3]] == ["plain", 'zwei\nZeilen, "zitiert"', " "]
    assert [one["body"] for one in exported[61:64]] == [None, "第三", "last"]
    assert base64.b64decode(exported[61]["body_base64"]) == b"\xff\x00"


def test_csv_has_the_same_messages(export: Any) -> None:
    objects = export("--topic", "T").objects
    rows = list(csv.DictReader(io.StringIO(export("--topic", "T", "--format", "csv").out, newline="")))
    assert len(rows) == len(objects)
    for row, one in zip(rows, objects, strict=True):
        assert json.loads(row.pop("properties")) == one.pop("properties")
        assert row.pop("keys") == " ".join(one.pop("keys"))
        assert row.pop("body_base64") == one.pop("body_base64", "")
        assert row == {name: "" if value is None else str(value) for name, value in one.items()}


def offsets(ran: Ran) -> list[tuple[int, int]]:
    assert ran.code == 0
    return [(one["queue_id"], one["queue_offset"]) for one in ran.objects]


def test_a_part_by_offsets(export: Any) -> None:
    one = [(1, offset) for offset in range(60)]
    assert offsets(export("--topic", "T", "--queue", 1)) == one
    assert offsets(export("--topic", "T", "--queue", 1, "--queue", 0)) == [(0, n) for n in range(61)] + one
    assert offsets(export("--topic", "T", "--from", 59)) == [(0, 59), (0, 60), (1, 59)]
    assert offsets(export("--topic", "T", "--queue", 1, "--from", 3, "--to", 5)) == one[3:5]
    assert offsets(export("--topic", "T", "--queue", 1, "--to", 40)) == one[:40]
    assert offsets(export("--topic", "T", "--from", 5, "--to", 5)) == []
    assert offsets(export("--topic", "T", "--from", 9_999_999_999)) == []


def test_a_part_by_times(export: Any) -> None:
    objects = [one for one in export("--topic", "T").objects if one["queue_id"] == 1]
    times = [one["store_timestamp"] for one in objects]
    for time in (times[0], times[30], times[-1], times[-1] + 1):
        later = sum(each >= time for each in times)
        assert len(export("--topic", "T", "--queue", 1, "--from", time).objects) == later
        assert len(export("--topic", "T", "--queue", 1, "--to", time).objects) == len(times) - later
    assert export("--topic", "T", "--queue", 1, "--from", "2001-01-01T00:00").objects == objects
    assert export("--topic", "T", "--to", "2001-01-01").objects == []


def test_into_a_file(export: Any, tmp_path: Path) -> None:
    ran = export("--topic", "T", "--output", tmp_path / "out")
    assert (ran.code, ran.out, ran.err) == (0, "", "rocketwire: 121 messages of T exported\n")
    assert (tmp_path / "out").read_text() == export("--topic", "T").out
    ran = export("--topic", "T", "--output", tmp_path / "none" / "out")
    assert ran.code == 2
    assert ran.err == f"rocketwire: --output {tmp_path}/none/out: it cannot be written: No such file or directory\n"
    ran = export("--topic", "T", "--output", "/dev/full")
    assert ran.code == 2
    assert ran.err == "rocketwire: --output /dev/full: it cannot be written: No space left on device\n"


def test_a_topic_without_messages(export: Any) -> None:
    ran = export("--topic", "Empty")
    assert (ran.code, ran.out, ran.err) == (0, "", "rocketwire: 0 messages of Empty exported\n")
    assert export("--topic", "Empty", "--format", "csv").out.startswith("topic,queue_id,queue_offset,")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--topic", "Nope"], 1, "topic Nope: the name server"),
        (["--topic", "T", "--queue", "2"], 1, "--queue 2: topic T has the queues 0 to 1"),
        (["--topic", "Empty", "--queue", "1"], 1, "--queue 1: topic Empty has the queue 0 only"),
        (["--topic", "T", "--queue", "x"], 2, "--queue x: a whole number is needed, 0 or more"),
        (["--topic", "T", "--from", "soon"], 2, "--from soon: expected ISO 8601"),
        (["--topic", "T", "--to", "-1"], 2, "--to -1: expected ISO 8601"),
    ],
)
def test_a_wrong_option_is_one_line(arguments: list[str], code: int, text: str, export: Any) -> None:
    ran = export(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"rocketwire: {text}")
    assert ran.err.count("\n") == 1


def start(name_server: str) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "rocketwire", "message", "export", "--topic", "T", "--namesrv", name_server]
    return subprocess.Popen(
        program,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_ctrl_c,  # noqa: PLW1509 - sets a signal's handler, nothing else
    )


def heed_ctrl_c() -> None:
    """What a shell starts in the background ignores it, and so would the tests' processes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def record(offset: int, body: bytes = b"x" * 1000) -> bytes:
    return encode_record(MessageRecord(topic="T", queue_id=0, queue_offset=offset, body=body, store_timestamp=1))


class Log:
    """A fake broker's queue 0 of the topic T; the queue 1 is empty. Its answers are as long as `batch`."""

    def __init__(self, records: dict[int, bytes], *, end: int, batch: int = 2) -> None:
        self.records = records
        self.end = end
        self.batch = batch
        self.pulls: list[dict[str, str]] = []

    def answers(self) -> Answers:
        return {
            RequestCode.GET_MIN_OFFSET: lambda _: FakeAnswer(ext={"offset": "0"}),
            RequestCode.GET_MAX_OFFSET: lambda ext: FakeAnswer(ext={"offset": str(self.end * (ext["queueId"] == "0"))}),
            RequestCode.PULL_MESSAGE: self.pull,
        }

    def pull(self, ext: dict[str, str]) -> FakeAnswer | None:
        self.pulls.append(ext)
        offset = int(ext["queueOffset"])
        found = [self.records[n] for n in range(offset, offset + self.batch) if n in self.records]
        following = min((n for n in self.records if n > offset), default=self.end)
        if not found or offset not in self.records:
            return self.reported(21, following)
        return self.reported(0, offset + len(found), b"".join(found))

    def reported(self, code: int, reached: int, body: bytes = b"") -> FakeAnswer:
        ext = {"suggestWhichBrokerId": "0", "nextBeginOffset": str(reached), "minOffset": "0", "maxOffset": "0"}
        return FakeAnswer(code, ext, body)


def exported(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> Ran:
    return Command(capsys, server.address)("message", "export", "--topic", "T")


def test_pulls_neither_wait_nor_commit(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log({n: record(n) for n in range(7)}, end=5)
    with fake_server(log.answers()) as server:
        assert offsets(exported(server, capsys)) == [(0, n) for n in range(5)]
    assert [pull["queueOffset"] for pull in log.pulls] == ["0", "2", "4"]
    for pull in log.pulls:
        assert pull["consumerGroup"] == "TOOLS_CONSUMER"
        assert int(pull["sysFlag"]) == PullSysFlag.SUBSCRIPTION
    assert RequestCode.UPDATE_CONSUMER_OFFSET not in [code for code, _ in server.requests]


def test_messages_that_were_removed_meanwhile_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_server(Log({0: record(0), 1: record(1), 6: record(6)}, end=8).answers()) as server:
        ran = exported(server, capsys)
    assert [one["queue_offset"] for one in ran.objects] == [0, 1, 6]
    assert (ran.code, ran.err.splitlines()) == (
        1,
        [
            "rocketwire: T, broker b, queue 0: the messages from offset 2 up to 5 are gone",
            "rocketwire: T, broker b, queue 0: the messages from offset 7 up to 7 are gone",
        ],
    )


def test_a_queue_that_leads_nowhere_ends(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log({}, end=3)
    with fake_server({**log.answers(), RequestCode.PULL_MESSAGE: lambda _: log.reported(20, 0)}) as server:
        ran = exported(server, capsys)
    assert (ran.code, ran.out) == (1, "")
    assert "the messages from offset 0 up to 2 are gone" in ran.err


def test_a_damaged_message_is_reported_and_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    broken = bytearray(record(1))
    broken[100] ^= 1
    packed = encode_record(
        MessageRecord(topic="T", queue_id=0, queue_offset=3, body=b"no", sys_flag=SysFlag.COMPRESSED)
    )
    log = Log({0: record(0), 1: bytes(broken), 2: record(2), 3: packed, 4: bytes(100)}, end=5)
    with fake_server(log.answers()) as server:
        ran = exported(server, capsys)
    assert [one["queue_offset"] for one in ran.objects] == [0, 2, 3]
    assert ran.code == 1
    first, second, third = ran.err.splitlines()
    assert first.startswith("rocketwire: T, broker b, queue 0: a message cannot be read: message body is damaged")
    assert second.startswith("rocketwire: T, queue 0, offset 3: at physical offset 0: zlib body is damaged")
    assert third.endswith("no message record: the space was never written")
    assert base64.b64decode(ran.objects[2]["body_base64"]) == b"no"


def test_a_refusal_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log({0: record(0)}, end=1)
    refusal = FakeAnswer(16, remark="the broker[127.0.0.1] pulling message is forbidden")
    with fake_server({**log.answers(), RequestCode.PULL_MESSAGE: lambda _: refusal}) as server:
        ran = exported(server, capsys)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"rocketwire: broker {server.address} answered code 16: the broker[127.0.0.1] pulling message is forbidden\n"
    )


def test_a_time_is_searched_past_removed_messages(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_server(Log({n: record(n) for n in range(6, 9)}, end=9).answers()) as server:
        ran = Command(capsys, server.address)("message", "export", "--topic", "T", "--from", "1970-01-01")
    assert offsets(ran) == [(0, n) for n in range(6, 9)]


def endless() -> Log:
    log = Log({}, end=1 << 40)
    log.pull = lambda ext: log.reported(0, int(ext["queueOffset"]) + 1, record(int(ext["queueOffset"])))  # type: ignore[method-assign]
    return log


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    with fake_server(endless().answers()) as server, start(server.address) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        ran.stdout.readline()
        ran.stdout.close()
        assert ran.stderr.read() == b""
    assert ran.returncode == 141


def test_ctrl_c_ends_it_quietly() -> None:
    with fake_server(endless().answers()) as server, start(server.address) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        ran.stdout.readline()
        ran.send_signal(signal.SIGINT)
        ran.stdout.read()
        assert ran.stderr.read() == b""
    assert ran.returncode == 130
