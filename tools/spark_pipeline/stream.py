"""The stream: messages of an endpoint into Parquet or Delta, by topic and day, exactly once by a checkpoint.

Into Delta each micro-batch is a commit that has the batch's number: one that is repeated is in the table already. The
commits are made by deltalake, which needs no jar.
"""

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
_PARTITIONS: Final = ("topic", "day")
#: The writer of the table's commits.
_APP: Final = "rocketwire-pipeline"


class Pipeline:
    """Reads one endpoint into one folder.

    Args:
        spark: The session.
        name_servers: Of the endpoint.
        folder: Gets `messages`, the files, and `checkpoint`.
        delta: Whether `messages` is a table of Delta.
    """

    def __init__(self, spark: SparkSession, name_servers: str, folder: Path, *, delta: bool = False) -> None:
        self._spark = spark
        self._name_servers = name_servers
        self._delta = delta
        self.messages = folder / "messages"
        self._checkpoint = folder / "checkpoint"

    def start(self) -> StreamingQuery:
        """Follow the endpoint until the query is stopped; from the checkpoint on, if there is one."""
        return self._writer().trigger(processingTime=_INTERVAL).start()

    def catch_up(self) -> StreamingQuery:
        """Read all present messages, from the checkpoint on, and end."""
        return self._writer().trigger(availableNow=True).start()

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
        writer = stream.writeStream.option("checkpointLocation", str(self._checkpoint))
        if self._delta:
            return writer.foreachBatch(DeltaCommits(self.messages))
        return writer.format("parquet").partitionBy(*_PARTITIONS).option("path", str(self.messages))

    def written(self) -> DataFrame:
        """The written messages; of micro-batches that were not done there are none."""
        if not self._delta:
            return self._spark.read.parquet(str(self.messages))
        from deltalake import DeltaTable  # noqa: PLC0415 - for those only who want Delta

        files = DeltaTable(str(self.messages)).file_uris()
        return self._spark.read.option("basePath", str(self.messages)).parquet(*files)


class DeltaCommits:
    """Adds micro-batches to a table of Delta, each once."""

    def __init__(self, table: Path) -> None:
        self._table = str(table)

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Add a micro-batch, unless the table has it."""
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake  # noqa: PLC0415 - as above

        if DeltaTable.is_deltatable(self._table):
            last = DeltaTable(self._table).transaction_version(_APP)
            if last is not None and last >= number:
                return
        write_deltalake(
            self._table,
            rows.toArrow(),
            partition_by=list(_PARTITIONS),
            mode="append",
            commit_properties=CommitProperties(app_transactions=[Transaction(_APP, number)]),
        )
