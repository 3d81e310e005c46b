"""The stream: messages of an endpoint into Parquet, by topic and day, exactly once by a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

COLUMNS: Final = (
    "broker,topic,queue_id,queue_offset,message_id,offset_message_id,born_timestamp,store_timestamp,born_host,tags,keys,"
    "body,properties,reconsume_times,store_size"
)
_INTERVAL: Final = "2 seconds"


class Pipeline:
    """Reads one endpoint into one folder.

    Args:
        spark: The session.
        name_servers: Of the endpoint.
        folder: Gets `messages`, the Parquet files, and `checkpoint`.
    """

    def __init__(self, spark: SparkSession, name_servers: str, folder: Path) -> None:
        self._spark = spark
        self._name_servers = name_servers
        self.messages = folder / "messages"
        self._checkpoint = folder / "checkpoint"

    def start(self) -> StreamingQuery:
        """Follow the endpoint until the query is stopped; from the checkpoint on, if there is one."""
        return self._writer().trigger(processingTime=_INTERVAL).start(str(self.messages))

    def catch_up(self) -> StreamingQuery:
        """Read all that is there now, from the checkpoint on, and end."""
        return self._writer().trigger(availableNow=True).start(str(self.messages))

    def _writer(self) -> DataStreamWriter:
        stream = (
            self._spark.readStream.format("rocketmq")
            .option("namesrv", self._name_servers)
            # Retries, dead letters and traces are topics too.
            .option("includeSystemTopics", "true")
            .option("columns", COLUMNS)
            .load()
            .withColumn("day", F.to_date("store_timestamp"))
            # A file for each topic and micro-batch, rather than one for each queue.
            .repartition("topic")
        )
        writer = stream.writeStream.format("parquet").partitionBy("topic", "day")
        return writer.option("checkpointLocation", str(self._checkpoint))


def messages(spark: SparkSession, folder: Path) -> DataFrame:
    """The messages in the folder of a pipeline's Parquet files; of micro-batches that were not done there are none."""
    return spark.read.parquet(str(folder))
