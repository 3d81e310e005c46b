"""Streams into a Delta table over kill -9 of an executor, the broker and the driver: each message is there once."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from typing import Final

from deltalake import DeltaTable

from compat_tests.spark import delta_spark, older_spark
from compat_tests.spark.test_exactly_once import job
from compat_tests.spark.test_live_store import COLUMNS as PICTURE
from compat_tests.spark.test_live_store import SMALL, number_of, picture, sending
from tests.server.processes import process
from tests.spark.reads import Read

#: A master in the driver, and two executors of one core that are processes of their own.
CLUSTER: Final = {"master": "local-cluster[2,1,640]", "set.spark.executor.memory": "512m"}


def test_each_message_is_in_the_table_once_whatever_is_killed(tmp_path: Path) -> None:
    chance = random.Random(23)
    environment = older_spark.environment()
    settings = {f"set.{key}": value for key, value in delta_spark.SETTINGS.items()}
    options = {"sink": "delta", "set.spark.executorEnv.PYTHONPATH": environment["PYTHONPATH"], **settings, **CLUSTER}
    store = tmp_path / "store"
    store.mkdir()
    sent: list[int] = []
    for _ in range(2):
        with process(store, *SMALL) as broker, sending(broker, first=len(sent), pause=0.002) as sender:
            sender.wait_for(50)
            with job(tmp_path, environment, maxOffsetsPerTrigger=300, **options) as running:
                running.wait_for_batches(2)
                running.kill_executor()
                running.wait_for_batches(2)
                broker.end(signal.SIGKILL)
                time.sleep(chance.random())
                running.kill()
            acknowledged = sender.end()
        stored = picture(Read(store, columns=PICTURE).rows())
        assert stored[: len(sent) + len(acknowledged)] == sent + acknowledged
        assert len(stored) - len(sent) - len(acknowledged) in {0, 1}  # one whose answer was lost
        sent = stored
    with job(tmp_path, environment, availableNow="true", **options) as rest:
        rest.wait()
    table = DeltaTable(str(tmp_path / "sink")).to_pyarrow_table()
    assert sorted(number_of(data) for data in table.column("body").to_pylist()) == sent
