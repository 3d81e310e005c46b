"""A streaming job as a separate process, to be killed: messages of a store into files, by a checkpoint.

    python -m compat_tests.spark.stream_job STORE SINK CHECKPOINT [OPTION=VALUE]...

It prints `batch N` when micro-batch N is done, and runs until it is killed; with availableNow=true until it has read
the present messages. sink=FORMAT is that of the files (parquet), into=TABLE a table of that format in a catalog instead
of SINK, master=URL Spark's, set.KEY=VALUE one of its settings. Other options are the data source's.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from rocketwire.compat.brokers.ports import LOOPBACK


class _ProgressListener(StreamingQueryListener):
    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's names
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - the same
        print("batch", event.progress.batchId, flush=True)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - the same
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - the same
        pass


def main(store: str, to: str, checkpoint: str, *options: str) -> None:
    """Run the job."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOOPBACK}
    given = dict(option.split("=", 1) for option in options)
    now = given.pop("availableNow", "") == "true"
    files = given.pop("sink", "parquet")
    table = given.pop("into", "")
    builder = SparkSession.builder.master(given.pop("master", "local[2]"))
    for key in [key for key in given if key.startswith("set.")]:
        builder = builder.config(key.removeprefix("set."), given.pop(key))
    spark = (
        builder.config("spark.driver.bindAddress", LOOPBACK)
        .config("spark.driver.host", LOOPBACK)
        .config("spark.driver.memory", "512m")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.local.dir", checkpoint + ".tmp")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.streams.addListener(_ProgressListener())
    reader = spark.readStream.format("rocketmq").options(**given)
    writer = reader.load(store).writeStream.format(files).option("checkpointLocation", checkpoint)
    if now:
        writer = writer.trigger(availableNow=True)
    query = writer.toTable(table) if table else writer.start(to)
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
