"""The trace topic as a table of hops, a row for each thing that a client reports of a message; and those in pairs."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.sql.types import ArrayType, StructField, StructType

from rocketwire.spark.bodies.decoding import with_values
from rocketwire.spark.history.reports import FIELDS, hops_of
from rocketwire.wire.names import TRACE_TOPIC

_BEGIN: Final = "SubBefore"
_END: Final = "SubAfter"
_HOPS: Final = "_hops"
_HOP: Final = "_hop"
_KIND: Final = ArrayType(StructType([StructField(name, kind) for name, kind in FIELDS.items()]))
#: Of `address:port`, and of `[address]:port`.
_ADDRESS: Final = r"^\[?(.*?)\]?:[0-9]+$"


def hops(frame: DataFrame, *, trace_topic: str = TRACE_TOPIC) -> DataFrame:
    """A row for each report in the trace topic; for one of a batch a row for each of its messages.

    Columns: `kind` (as in reports: Pub, SubBefore, SubAfter, EndTransaction, Recall), `time`, `message_id`, `topic`,
    `group`, `tags`, `keys`, `cost_ms`, `success`, `result` (of SubAfter: success, time-out, exception, null returned,
    failed; of EndTransaction: the state), `retry_times`, `request_id`, `client_host`, `store_host`, `message_type`,
    `body_length`, `offset_message_id`, `transaction_id`, `from_check`, `region`, `problem`. What a kind does not report
    is null, as is what old clients did not; SubBefore and SubAfter have no topic. `problem` is the reason why a report
    cannot be read; then all but `kind` is null.

    Args:
        frame: Messages with `body`; with `topic` those of the trace topic count alone; with `born_host` this is the
            client's address where the report does not have it. A stream may be one.
        trace_topic: The topic that clients report to.
    """
    if "topic" in frame.columns:
        frame = frame.where(F.col("topic") == trace_topic)
    reporter = (
        F.regexp_extract("born_host", _ADDRESS, 1) if "born_host" in frame.columns else F.lit(None).cast("string")
    )
    found = with_values(frame, "body", _HOPS, _KIND, hops_of, "PERMISSIVE")
    found = found.select(reporter.alias("reporter"), F.explode(_HOPS).alias(_HOP)).select("reporter", f"{_HOP}.*")
    # Of a batch there are all ids, with commas between.
    found = found.withColumn("message_id", F.explode_outer(F.split("message_id", ",")))
    named = {
        "time": F.timestamp_seconds(F.col("time") / 1000).alias("time"),
        "cost": F.col("cost").alias("cost_ms"),
        "client_host": F.coalesce("client_host", "reporter").alias("client_host"),
    }
    return found.select(*(named.get(name, F.col(name)) for name in FIELDS))


def consumptions(hops: DataFrame) -> DataFrame:
    """The begin and the end of each consumption in one row; what was not reported is null.

    Columns: `message_id`, `group`, `request_id`, `begin`, `end`, `cost_ms`, `success`, `result`, `retry_times`,
    `client_host`. `end` of clients before 4.6, which do not report it, is begin plus cost.

    Args:
        hops: What `hops` returns; no stream.
    """

    def first(column: str, kind: str | None = None) -> Column:
        return F.first(
            F.col(column) if kind is None else F.when(F.col("kind") == kind, F.col(column)), ignorenulls=True
        )

    paired = (
        hops.where(F.col("kind").isin(_BEGIN, _END) & F.col("problem").isNull())
        .groupBy("message_id", "request_id")
        .agg(
            first("group").alias("group"),
            first("time", _BEGIN).alias("begin"),
            first("time", _END).alias("end"),
            first("cost_ms", _END).alias("cost_ms"),
            first("success", _END).alias("success"),
            first("result", _END).alias("result"),
            first("retry_times", _BEGIN).alias("retry_times"),
            first("client_host").alias("client_host"),
        )
    )
    later = F.expr("timestampadd(MILLISECOND, cost_ms, begin)")
    earlier = F.expr("timestampadd(MILLISECOND, -cost_ms, end)")
    return paired.select(
        "message_id",
        "group",
        "request_id",
        F.coalesce("begin", earlier).alias("begin"),
        F.coalesce("end", later).alias("end"),
        "cost_ms",
        "success",
        "result",
        "retry_times",
        "client_host",
    )
