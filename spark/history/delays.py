"""How long messages took from their producer to the broker, and on to their consumers."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from rocketwire.spark.history.hops import consumptions
from rocketwire.wire.names import (
    DEAD_LETTER_PREFIX,
    RETRY_PREFIX,
    SYSTEM_TOPIC_PREFIX,
    SYSTEM_TOPICS,
    SYSTEM_TOPICS_OF_5X,
)

_HIDDEN: Final = f"^({RETRY_PREFIX}|{DEAD_LETTER_PREFIX}|{SYSTEM_TOPIC_PREFIX})"


def delays(frame: DataFrame, hops: DataFrame | None = None) -> DataFrame:
    """The times of messages, and the ms between them; with hops a row for each group that was given the message.

    Columns: `topic`, `message_id`, `born_timestamp`, `store_timestamp`, `stored_after_ms` (from born on); with hops
    also `group`, `attempts` (that began), `consume_timestamp` (the first began), `done_timestamp` (the first that
    succeeded ended), `consumed_after_ms` (from stored to consume_timestamp), `done_after_ms` (from born on). A
    message that no group reported has one row, with nulls. Clocks of several machines are compared: a delay may be
    negative.

    Args:
        frame: Messages, with `topic`, `message_id`, `born_timestamp` and `store_timestamp`. RocketMQ's own topics,
            retries and dead letters in it are ignored. A stream may be one if there are no hops.
        hops: What `hops` returns, for when messages were consumed.
    """
    own = sorted(SYSTEM_TOPICS | SYSTEM_TOPICS_OF_5X)
    sent = frame.where(~F.col("topic").rlike(_HIDDEN) & ~F.col("topic").isin(own)).select(
        "topic",
        "message_id",
        "born_timestamp",
        "store_timestamp",
        _ms("born_timestamp", "store_timestamp").alias("stored_after_ms"),
    )
    if hops is None:
        return sent
    consumed = (
        consumptions(hops)
        .groupBy("message_id", "group")
        .agg(
            F.count("*").alias("attempts"),
            F.min("begin").alias("consume_timestamp"),
            F.min(F.when(F.col("success"), F.col("end"))).alias("done_timestamp"),
        )
    )
    return sent.join(consumed, "message_id", "left").select(
        *sent.columns,
        "group",
        F.coalesce("attempts", F.lit(0)).alias("attempts"),
        "consume_timestamp",
        "done_timestamp",
        _ms("store_timestamp", "consume_timestamp").alias("consumed_after_ms"),
        _ms("born_timestamp", "done_timestamp").alias("done_after_ms"),
    )


def _ms(begin: str, end: str) -> Column:
    return F.expr(f"unix_millis({end}) - unix_millis({begin})")
