"""Streams into tables over kill -9 of an executor, the broker and the driver: each message is stored once."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from typing import Final

import pytest

from compat_tests.spark import other_spark
from compat_tests.spark.table_kinds import DELTA, ICEBERG, Kind
from compat_tests.spark.test_exactly_once import job, stored_by
from compat_tests.spark.test_live_store import SMALL, number_of, sending
from tests.server.processes import process
from tools import build_spark_jar

#: A master in the driver, and two executors of one core that are separate processes.
CLUSTER: Final = {"master": "local-cluster[2,1,640]", "set.spark.executor.memory": "512m"}


@pytest.fixture(params=["delta", "iceberg"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind of table."""
    found = {"delta": DELTA, "iceberg": ICEBERG}[request.param]
    if found.by_jar:
        request.getfixturevalue("jar")  # or skip the test
    return found


def test_each_message_is_in_the_table_once_whatever_is_killed(tmp_path: Path, kind: Kind) -> None:
    chance = random.Random(23)
    environment = other_spark.environment(kind.spark)
    if kind.by_jar:  # as an option of the command: a setting would replace the jars of packages
        environment["PYSPARK_SUBMIT_ARGS"] = f"--jars {build_spark_jar.build()} pyspark-shell"
    settings = {f"set.{key}": value for key, value in kind.settings(tmp_path).items()}
    options = {
        "sink": kind.format,
        "set.spark.executorEnv.PYTHONPATH": environment["PYTHONPATH"],
        **settings,
        **CLUSTER,
    }
    if kind.into is not None:
        options["into"] = kind.into
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
            sent += sender.end()
        sent = stored_by(store, sent)
    with job(tmp_path, environment, availableNow="true", **options) as rest:
        rest.wait()
    assert sorted(map(number_of, kind.bodies(tmp_path))) == sent
