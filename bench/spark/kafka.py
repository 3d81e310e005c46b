"""A broker of Apache Kafka in this machine, with the messages of a store."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from bench.spark.made_store import QUEUES, TOPICS
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.brokers.processes import EndpointError, Process
from rocketwire.compat.environment import artifacts
from rocketwire.wire.facts import properties as property_names

VERSION: Final = "4.1.1"
SPARK: Final = "4.2.0"
"""The newest Spark that Kafka's source is published for."""
_SCALA: Final = "2.13"
#: Any id; the storage is formatted with it.
_CLUSTER: Final = "MkU3OEVBNTcwNTJENDM2Qg"
#: One broker that is its own controller. Topics are made before the first message, which would else come too early.
_SETTINGS: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
log.dirs={folder}/logs
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
_PATIENCE: Final = 120.0


def source_jars() -> list[Path]:
    """Kafka's source for Spark, with what PySpark lacks; Maven fetches it the first time."""
    folder = artifacts.jars_of(
        "org.apache.spark", f"spark-sql-kafka-0-10_{_SCALA}", SPARK, without=["org.apache.hadoop"]
    )
    return sorted(folder.glob("*.jar"))


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """A broker on loopback, with its files in a folder that is not there yet; its address. It ends with the context."""
    folder.mkdir()
    port, controller = free_ports()
    settings = folder / "server.properties"
    settings.write_text(_SETTINGS.format(host=LOOPBACK, port=port, controller=controller, folder=folder), "ascii")
    jars = artifacts.jars_of("org.apache.kafka", f"kafka_{_SCALA}", VERSION)
    java = [artifacts.java(), "-Xmx512m", "-cp", artifacts.classpath(jars)]
    artifacts.run([*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", settings])
    process = Process("Kafka", [*java, "kafka.Kafka", settings], cwd=folder, env=os.environ)
    try:
        _wait(port, process)
        yield f"{LOOPBACK}:{port}"
    finally:
        process.stop()


def _wait(port: int, process: Process) -> None:
    """Wait until the broker takes connections."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection((LOOPBACK, port), timeout=1).close()
        except OSError:
            if not process.running or time.monotonic() > end:
                raise EndpointError(f"Kafka did not start: {process.tail()}") from None
            time.sleep(0.1)
        else:
            return


def make_topics(spark: SparkSession, address: str) -> None:
    """Make the topics of a store: a partition for each queue."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Kafka's client is there, and not in Python
    settings = jvm.java.util.Properties()
    settings.put("bootstrap.servers", address)
    admin = jvm.org.apache.kafka.clients.admin.Admin.create(settings)
    new = jvm.org.apache.kafka.clients.admin.NewTopic
    topics = jvm.java.util.ArrayList()
    for topic in range(TOPICS):
        topics.add(new(f"Topic{topic}", QUEUES, 1))
    admin.createTopics(topics).all().get()
    admin.close()


def fill(messages: DataFrame, address: str) -> None:
    """Send messages that were read of a store: the first of the keys as Kafka's, tags and unique key as headers."""
    headers = [
        F.struct(F.lit(name).alias("key"), F.col("properties")[name].cast("binary").alias("value"))
        for name in (property_names.TAGS, property_names.UNIQ_KEY)
    ]
    sent = messages.select(
        "topic",
        F.col("queue_id").alias("partition"),
        F.col("keys")[0].cast("binary").alias("key"),
        F.col("body").alias("value"),
        F.array(*headers).alias("headers"),
    )
    sent.write.format("kafka").option("kafka.bootstrap.servers", address).save()
