"""Streams over kill -9 of the job and of the broker: each message comes into the sink once."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from compat_tests.spark.test_live_store import COLUMNS as PICTURE
from compat_tests.spark.test_live_store import SMALL, TOPIC, number_of, picture, sending
from tests.server.processes import ROOT, process
from tests.spark.reads import Read

COLUMNS: Final = "topic,queue_id,queue_offset,body"
#: Seconds until a job that starts on a busy machine has done a micro-batch.
PATIENCE: Final = 400.0


class Job:
    """`stream_job`, in a separate process group: its JVMs and Python's workers go with it.

    Args:
        folder: With `store`; it gets `sink`, `checkpoint` and the log.
        environment: Variables besides those of this process.
        options: Of the job.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None, **options: object) -> None:
        texts = [f"{name}={value}" for name, value in options.items()]
        places = [str(folder / name) for name in ("store", "sink", "checkpoint")]
        with (folder / "job.log").open("ab") as log:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "compat_tests.spark.stream_job", *places, f"columns={COLUMNS}", *texts],
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                text=True,
            )

    def wait_for_batches(self, count: int) -> None:
        """Return once so many micro-batches are done."""
        stream = self._popen.stdout
        assert stream is not None
        until = time.monotonic() + PATIENCE
        while count:
            ready, _, _ = select.select([stream], [], [], max(0.0, until - time.monotonic()))
            line = stream.readline() if ready else ""
            assert line, "the job does no more"
            count -= line.startswith("batch")

    def kill_executor(self) -> None:
        """Kill one of Spark's executors, where they are separate processes."""
        os.kill(min(self._executors()), signal.SIGKILL)

    def _executors(self) -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_ours = os.getpgid(int(entry.name)) == self._popen.pid
                if is_ours and b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return found

    def kill(self) -> None:
        """Kill it, if it is still there."""
        if self._popen.poll() is None:
            os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.communicate()

    def wait(self) -> None:
        """Wait for a job that ends without a signal."""
        self._popen.communicate(timeout=PATIENCE)
        assert self._popen.returncode == 0


@contextmanager
def job(folder: Path, environment: Mapping[str, str] | None = None, **options: object) -> Iterator[Job]:
    """A job, killed at the end of the block."""
    made = Job(folder, environment, **options)
    try:
        yield made
    finally:
        made.kill()


def sunk(spark: SparkSession, folder: Path) -> list[int]:
    """The numbers of the messages in the sink; Spark leaves out files of micro-batches that were not done."""
    rows = spark.read.parquet(str(folder / "sink")).select("topic", "body").collect()
    assert {row.topic for row in rows} == {TOPIC}
    return sorted(number_of(bytes(row.body)) for row in rows)


def stored_by(store: Path, acknowledged: list[int]) -> list[int]:
    """The numbers of the messages in a store: those whose sends were acknowledged, and perhaps the next one."""
    stored = picture(Read(store, columns=PICTURE).rows())
    assert stored[: len(acknowledged)] == acknowledged
    assert len(stored) - len(acknowledged) in {0, 1}  # one whose answer was lost
    return stored


def test_each_message_comes_once_whatever_is_killed(tmp_path: Path, spark: SparkSession) -> None:
    chance = random.Random(9)
    store = tmp_path / "store"
    store.mkdir()
    sent: list[int] = []
    for _ in range(2):
        with process(store, *SMALL) as broker, sending(broker, first=len(sent), pause=0.002) as sender:
            sender.wait_for(50)
            with job(tmp_path, maxOffsetsPerTrigger=300) as running:
                running.wait_for_batches(2)
                broker.end(signal.SIGKILL)
                time.sleep(chance.random())
                running.kill()
            sent += sender.end()
        sent = stored_by(store, sent)
    with job(tmp_path, availableNow="true", maxBytesPerTrigger="1m") as rest:
        rest.wait()
    assert sunk(spark, tmp_path) == sent
