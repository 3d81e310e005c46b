"""Tables that Spark reads as streams: the checkpoint is the stream's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession

#: Formats whose streams need a schema; what a batch finds is given to them.
_FILES: Final = ("parquet", "orc", "json", "csv", "text", "avro")
#: How many files a micro-batch takes: so much at most is sent again after a kill.
_FEW_FILES: Final = {"maxFilesPerTrigger": "16"}
#: What Delta wants of a session besides its jar.
DELTA_SETTINGS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


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
