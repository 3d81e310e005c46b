"""Spark reads stores that a broker is writing to: appends, new files, removed files, and a kill.

Every message carries its number and a checksum. A sender keeps sending while stores are read; so each read must be a
snapshot: of each queue a range without a gap, and all that had been acknowledged before the plan was made.
"""

from __future__ import annotations

import signal
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from rocketwire.spark.errors import DataLost
from tests.server.processes import Caller, Process, eventually, process
from tests.spark.reads import Read

TOPIC: Final = "Live"
QUEUES: Final = 3
LOG_FILE: Final = 64 << 10
SMALL: Final = ("--set", f"mapedFileSizeCommitLog={LOG_FILE}", "--set", "mapedFileSizeConsumeQueue=2000")
COLUMNS: Final = "queue_id,queue_offset,body,_corrupt_record"
#: Two plans for the same rows: by queues; by a scan of the log.
WAYS: Final[list[dict[str, Any]]] = [{"topic": TOPIC}, {}]


def body(number: int) -> bytes:
    """A number, filler of a length that differs, and a checksum of both."""
    data = b"%08d" % number + bytes(number * 131 % 900)
    return data + zlib.crc32(data).to_bytes(4)


def number_of(data: bytes) -> int:
    assert zlib.crc32(data[:-4]) == int.from_bytes(data[-4:])
    return int(data[:8])


class Sender(threading.Thread):
    """Sends until it is stopped, or the broker dies; it records what was acknowledged."""

    def __init__(self, broker: Process, *, first: int, pause: float) -> None:
        super().__init__()
        self._pause = pause
        self.acknowledged: list[int] = []
        self._caller = Caller(broker.broker)
        self._next = first
        self._stops = threading.Event()

    def run(self) -> None:
        with self._caller as caller:
            while not self._stops.is_set():
                number = self._next
                try:
                    answer = caller.send(TOPIC, body(number), queue_id=number % QUEUES)
                except OSError:
                    return
                if answer.header.code == 0:
                    self.acknowledged.append(number)
                    self._next += 1
                time.sleep(self._pause)

    def wait_for(self, more: int) -> None:
        goal = len(self.acknowledged) + more
        assert eventually(lambda: len(self.acknowledged) >= goal)

    def end(self) -> list[int]:
        self._stops.set()
        self.join()
        return self.acknowledged


@contextmanager
def sending(broker: Process, *, first: int = 0, pause: float = 0.0) -> Iterator[Sender]:
    """Messages come while the block runs, one after the other, with so many seconds between them."""
    if not first:
        with Caller(broker.broker) as caller:
            caller.create_topic(TOPIC, QUEUES)
    sender = Sender(broker, first=first, pause=pause)
    sender.start()
    try:
        yield sender
    finally:
        sender.end()


def picture(rows: list[dict[str, Any]]) -> list[int]:
    """The numbers of a read's messages, without a gap in any queue, all undamaged."""
    assert [row["_corrupt_record"] for row in rows if row["_corrupt_record"]] == []
    places: dict[int, dict[int, int]] = {}
    for row in rows:
        found = places.setdefault(row["queue_id"], {})
        assert row["queue_offset"] not in found
        found[row["queue_offset"]] = number_of(row["body"])
    for queue, found in places.items():
        offsets = sorted(found)
        assert offsets == list(range(offsets[0], offsets[-1] + 1))
        numbers = [found[offset] for offset in offsets]
        assert numbers == list(range(numbers[0], numbers[0] + QUEUES * len(numbers), QUEUES))
        assert numbers[0] % QUEUES == queue
    return sorted(number for found in places.values() for number in found.values())


@pytest.mark.parametrize("way", WAYS, ids=["by queues", "by a walk"])
def test_each_read_is_a_picture_of_one_moment(tmp_path: Path, way: dict[str, Any]) -> None:
    with process(tmp_path, *SMALL) as broker, sending(broker) as sender:
        until = time.monotonic() + 4
        reads = 0
        while time.monotonic() < until or reads < 5:
            sender.wait_for(20)
            before = list(sender.acknowledged)
            planned = Read(tmp_path, columns=COLUMNS, maxBytesPerPartition="40k", **way)
            bound = len(sender.acknowledged)
            sender.wait_for(100)  # messages after the plan are not in it
            seen = picture(planned.rows())
            assert seen[: len(before)] == before
            assert len(seen) <= bound + 1
            reads += 1
        assert len(list((tmp_path / "commitlog").iterdir())) > 5


def test_the_session_reads_a_store_that_grows(tmp_path: Path, spark: SparkSession) -> None:
    with process(tmp_path, *SMALL) as broker, sending(broker, pause=0.005) as sender:
        sender.wait_for(200)
        before = list(sender.acknowledged)
        frame = spark.read.format("rocketmq").option("columns", COLUMNS).load(str(tmp_path))
        rows = [row.asDict() | {"body": bytes(row["body"])} for row in frame.collect()]
        assert picture(rows)[: len(before)] == before


@pytest.mark.parametrize("way", WAYS, ids=["by queues", "by a walk"])
def test_files_that_are_removed_after_the_plan(tmp_path: Path, way: dict[str, Any]) -> None:
    with process(tmp_path, *SMALL) as broker, sending(broker) as sender:
        sender.wait_for(600)
        strict = Read(tmp_path, columns=COLUMNS, **way)
        patient = Read(tmp_path, columns=COLUMNS, failOnDataLoss="false", **way)
        # As the broker does with its oldest, which begins to do so a minute after its start.
        oldest, *_ = sorted((tmp_path / "commitlog").iterdir())
        oldest.unlink()
        with pytest.raises(DataLost, match="failOnDataLoss"):
            strict.rows()
        left = picture(patient.rows())
        assert 0 < left[0] < 600
        # A new plan has the remaining messages and what came meanwhile, and nothing is missing there.
        assert picture(Read(tmp_path, columns=COLUMNS, **way).rows())[: len(left)] == left


@pytest.mark.parametrize("way", WAYS, ids=["by queues", "by a walk"])
def test_a_broker_that_is_killed_while_it_writes(tmp_path: Path, way: dict[str, Any]) -> None:
    acknowledged: list[int] = []
    for _ in range(3):
        with process(tmp_path, *SMALL) as broker, sending(broker, first=len(acknowledged)) as sender:
            sender.wait_for(150)
            broker.end(signal.SIGKILL)
            acknowledged += sender.end()
            seen = picture(Read(tmp_path, columns=COLUMNS, maxBytesPerPartition="40k", **way).rows())
            assert seen[: len(acknowledged)] == acknowledged
            # One may have been stored whose answer was lost.
            assert len(seen) - len(acknowledged) in {0, 1}
            acknowledged = seen
