"""Hops of consumers in pairs: a row for each time that a group was given a message."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

_BEGIN: Final = "SubBefore"
_END: Final = "SubAfter"


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
