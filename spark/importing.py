"""Sends the rows of a table as messages, for `rocketwire spark import` (docs/spark-guide.md, Import).

A stream reads the table, with a checkpoint: a run that was stopped is taken up where it was, and later ones send what
is new. Rows of a micro-batch that was interrupted are sent again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from rocketwire.spark.endpoint.write import columns
from rocketwire.spark.errors import OptionInvalid

#: Formats whose streams need a schema; what a batch finds is given to them.
_FILES: Final = ("parquet", "orc", "json", "csv", "text", "avro")
#: How many files a micro-batch takes: so much at most is sent again after a kill.
_FEW_FILES: Final = {"maxFilesPerTrigger": "16", "streaming-max-files-per-micro-batch": "16"}
#: Columns that are sent if a table has them. Numbers of queues and delays were those of another endpoint.
_SENT: Final = ("topic", "body", "tags", "keys", "properties", "flag")
#: Topics are texts, and the progress of each micro-batch is kept.
_SETTINGS: Final = {
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1000000",
}
#: What Delta wants of a session besides its jar.
DELTA_SETTINGS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    """The rows that are to be sent.

    Attributes:
        path: Of the table, or its name in a catalog.
        format: One that Spark knows: parquet, delta, iceberg, json …
        options: Spark's, of the format.
        select: Expressions of SQL that make the columns of messages; without them the table has these columns.
    """

    path: str
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    select: Sequence[str] = ()


def settings(format: str) -> dict[str, str]:  # noqa: A002 - Spark's name
    """Settings that a session for tables of this format needs to be started with."""
    return {**_SETTINGS, **(DELTA_SETTINGS if format.lower() == "delta" else {})}


def import_rows(session: SparkSession, source: TableSource, target: Mapping[str, str], checkpoint: str) -> int:
    """Send the rows that no earlier call with this checkpoint sent; each of them at least once.

    Args:
        session: Started with `settings`.
        source: Which rows.
        target: Options of the data source's writes: `namesrv`, `topic` and others.
        checkpoint: A folder that keeps what is done; of one table and one target.

    Returns:
        How many rows were sent.

    Raises:
        OptionInvalid: no column of a message is in the table.
        WriteUnsupported: the columns are not those of messages.
    """
    frame = sent(_stream(session, source), source.select)
    columns.check(frame.schema, target.get("topic"))
    query = (
        frame.writeStream.format("rocketmq")
        .options(**target)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return sum(progress["numInputRows"] for progress in query.recentProgress)


def sent(frame: DataFrame, select: Sequence[str]) -> DataFrame:
    """The columns of messages in a table.

    Raises:
        OptionInvalid: there is no body, and nothing says what it is.
    """
    if select:
        return frame.selectExpr(*select)
    found = [name for name in _SENT if name in frame.columns]
    if "body" not in found:
        raise OptionInvalid(
            f"the table has no column body, but {', '.join(frame.columns)}",
            'Select one, as in "to_json(struct(*)) body"',
        )
    return frame.select(*(F.col(name).cast("string") if name == "topic" else F.col(name) for name in found))


def _stream(session: SparkSession, source: TableSource) -> DataFrame:
    stream = session.readStream.format(source.format).options(**{**_FEW_FILES, **source.options})
    if source.format.lower() in _FILES:
        batch = session.read.format(source.format).options(**source.options).load(source.path)
        stream = stream.schema(batch.schema)
    return stream.load(source.path)
