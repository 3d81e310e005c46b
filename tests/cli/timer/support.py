"""`rocketwire timer` in this process, and a broker that has the timer's topic of the golden store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocketwire.cli import main
from rocketwire.server.core.clocks import clock
from rocketwire.store.offline.read.directory import discover
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.offline.read.selected import with_properties
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.message import decode_record
from rocketwire.wire.names import TIMER_TOPIC
from tests.cli.endpoint import Answers, FakeAnswer, FakeServer
from tests.cli.store.support import Ran

#: When the golden store was at rest: 14 s after its broker stopped, one message is due in half an hour.
GOLDEN_NOW = 1795252080000
RECALLED, HOUR, TWO_HOURS, DAY = (
    "C000020201C14E0E2F2A68F2FE7800DC",
    "C000020201C14E0E2F2A68F2FD8600D4",
    "C000020201C14E0E2F2A68F2FD9300D6",
    "C000020201C14E0E2F2A68F2FD9000D5",
)


class Command:
    """`rocketwire timer` at a set time; `where` are the arguments with the place to read."""

    def __init__(
        self, captured: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch, *where: object, now: int = GOLDEN_NOW
    ) -> None:
        self._captured = captured
        self._where = list(map(str, where))
        patch.setattr(clock, "system_clock", lambda: now)

    def __call__(self, command: str, *arguments: object) -> Ran:
        code = main(["timer", command, *map(str, arguments), *self._where])
        out, err = self._captured.readouterr()
        return Ran(code, out, err)


def records_of(root: Path, topic: str) -> list[bytes]:
    """The records of a topic's queue 0."""
    directory = discover(str(root))
    (files,) = (each for each in directory.queues_of(topic) if each.queue_id == 0)
    with QueueReader(files) as queue, CommitLogReader(directory.commit_log) as log:
        found = [log.record(queue.entry(offset)[0]) for offset in range(queue.end)]
    return [each for each in found if each is not None]


class TimerBroker(FakeServer):
    """Name server and broker with a timer's topic, whose answers are those of a broker with these files."""

    def __init__(self, root: Path, changes: Answers) -> None:
        self.records = records_of(root, TIMER_TOPIC)
        check = (root / "config" / "timercheck").read_bytes()[:56]
        metrics = b'{"timingCount":{"GoldenTimer":{"count":3,"timeStamp":1},"GoldenRecall":{"count":-6,"timeStamp":1}}}'
        runtime = b'{"table":{"timerReadBehind":"1","timerOffsetBehind":"0","msgPutTotalTodayNow":"7"}}'
        super().__init__(
            {
                RequestCode.GET_TIMER_CHECK_POINT: lambda _: FakeAnswer(body=check),
                RequestCode.GET_TIMER_METRICS: lambda _: FakeAnswer(body=metrics),
                RequestCode.GET_BROKER_RUNTIME_INFO: lambda _: FakeAnswer(body=runtime),
                RequestCode.GET_BROKER_CONFIG: lambda _: FakeAnswer(body=b"brokerName=b\ntimerPrecisionMs=1000\n"),
                RequestCode.GET_MIN_OFFSET: lambda _: FakeAnswer(ext={"offset": "0"}),
                RequestCode.GET_MAX_OFFSET: lambda _: FakeAnswer(ext={"offset": str(len(self.records))}),
                RequestCode.PULL_MESSAGE: self._pull,
                RequestCode.QUERY_MESSAGE: self._query,
                **changes,
            }
        )

    def route(self, topic: str) -> FakeAnswer:
        return super().route("T")

    def _pull(self, ext: dict[str, str]) -> FakeAnswer:
        assert (ext["topic"], ext["queueId"]) == (TIMER_TOPIC, "0")
        at = int(ext["queueOffset"])
        some = self.records[at : at + min(32, int(ext["maxMsgNums"]))]
        reached = str(at + len(some))
        reported = {"suggestWhichBrokerId": "0", "nextBeginOffset": reached, "minOffset": "0", "maxOffset": "52"}
        return FakeAnswer(0, reported, b"".join(some))

    def _query(self, ext: dict[str, str]) -> FakeAnswer:
        wanted: Callable[[bytes], bool] = lambda record: (  # noqa: E731 - used once
            with_properties(decode_record(record), len(record)).message_id == ext["key"]
        )
        found = list(filter(wanted, self.records)) if ext["topic"] == TIMER_TOPIC else []
        return FakeAnswer(
            0 if found else 22, {"indexLastUpdatePhyoffset": "0", "indexLastUpdateTimestamp": "0"}, b"".join(found)
        )
