"""What is sent of a table, and where it comes from: a table that Spark streams has the stream's own checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from rocketwire.spark.endpoint.write import columns
from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.importing.iceberg import send_iceberg

_ICEBERG: Final = "iceberg"
#: Formats whose streams need a schema; what a batch finds is given to them.
_FILES: Final = ("parquet", "orc", "json", "csv", "text", "avro")
#: How many files a micro-batch takes: so much at most is sent again after a kill.
_FEW_FILES: Final = {"maxFilesPerTrigger": "16"}
#: What Delta wants of a session besides its jar.
DELTA_SETTINGS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
#: Columns that are sent if a table has them. Numbers of queues and delays were those of another endpoint.
_SENT: Final = ("topic", "body", "tags", "keys", "properties", "flag")
#: Topics are texts, and the progress of each micro-batch is kept.
_SETTINGS: Final = {
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1000000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    """The rows that are to be sent.

    Attributes:
        path: Of the table; of Iceberg its name in the catalog, with its namespace.
        format: `iceberg`, or one that Spark reads as a stream: parquet, delta, json …
        options: Spark's, of the format.
        select: Expressions of SQL that make the columns of messages; without them the table has these columns.
        catalog: Of Iceberg: a catalog by its name in pyiceberg's configuration.
    """

    path: str
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    select: Sequence[str] = ()
    catalog: str = "default"


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
        OptionInvalid: no column of a message is in the table, or an option of Iceberg is wrong.
        WriteUnsupported: the columns are not those of messages.
        ImportImpossible: a table of Iceberg cannot be read, or not be continued from the checkpoint.
        PackageMissing: pyiceberg is not installed.
    """

    def messages(frame: DataFrame) -> DataFrame:
        made = sent(frame, source.select)
        columns.check(made.schema, target.get("topic"))
        return made

    if source.format.lower() == _ICEBERG:
        return send_iceberg(session, source.catalog, source.path, source.options, messages, target, Path(checkpoint))
    return send_stream(messages(streamed(session, source.path, source.format, source.options)), target, checkpoint)


def sent(frame: DataFrame, select: Sequence[str]) -> DataFrame:
    """The columns of messages in a table.

    Raises:
        OptionInvalid: there is no body, and no option names one.
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


def streamed(session: SparkSession, path: str, kind: str, options: Mapping[str, str]) -> DataFrame:
    """The rows of a table, as a stream.

    Args:
        session: Spark's.
        path: Of the table.
        kind: Its format, one that Spark knows.
        options: Spark's, of the format.
    """
    stream = session.readStream.format(kind).options(**{**_FEW_FILES, **options})
    if kind.lower() in _FILES:
        stream = stream.schema(session.read.format(kind).options(**options).load(path).schema)
    return stream.load(path)


def send_stream(frame: DataFrame, target: Mapping[str, str], checkpoint: str) -> int:
    """Send what the checkpoint does not have; return how many rows these were.

    Args:
        frame: A stream with the columns of messages.
        target: Options of the data source's writes.
        checkpoint: The stream's folder.
    """
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
