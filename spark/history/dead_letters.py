"""Dead letters, each with the message that it was, its retries, and why its consumers first failed."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from rocketwire.spark.history.hops import consumptions
from rocketwire.wire.facts.properties import ORIGIN_MESSAGE_ID, REAL_TOPIC, RETRY_TOPIC
from rocketwire.wire.names import DEAD_LETTER_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC, TIMER_TOPIC

#: Columns that are taken over from dead letters, if they have them.
_KEPT: Final = ("tags", "keys", "body", "queue_id", "queue_offset", "broker")


def dead_letters(frame: DataFrame, hops: DataFrame | None = None) -> DataFrame:
    """A row for each message in a dead-letter topic, with what came before.

    Columns: `group`, `message_id` (the producer's), `origin_topic` (property RETRY_TOPIC), `origin_message_id` (the
    offset message id that the broker gave the message at first), `reconsume_times`, `born_timestamp`,
    `dead_timestamp` (when it came to the dead letters), `origin_store_timestamp` (when it was first stored; null if it
    is not in the frame any more), `first_sent_back_timestamp` (when a consumer first sent it back, by the copies that
    the broker made for later; null if there are none), `sent_back` (how many there are), then `tags`, `keys`, `body`,
    `queue_id`, `queue_offset` and `broker`, if the frame has them. With hops also those of the group's first failed
    consumption: `first_failure_timestamp`, `first_result` (as exception or time-out), `first_client_host`.

    Args:
        frame: Messages, read with `includeSystemTopics`: `topic`, `message_id`, `offset_message_id`, `born_timestamp`,
            `store_timestamp`, `reconsume_times` and `properties`. No stream. It is read three times: cache it if it
            comes from an endpoint.
        hops: What `hops` returns.
    """
    dead = frame.where(F.col("topic").startswith(DEAD_LETTER_PREFIX)).select(
        F.substring("topic", len(DEAD_LETTER_PREFIX) + 1, 1 << 10).alias("group"),
        "message_id",
        _property(RETRY_TOPIC).alias("origin_topic"),
        _property(ORIGIN_MESSAGE_ID).alias("origin_message_id"),
        "reconsume_times",
        "born_timestamp",
        F.col("store_timestamp").alias("dead_timestamp"),
        *(name for name in _KEPT if name in frame.columns),
    )
    found = dead.join(_origins(frame), "origin_message_id", "left").join(
        _sent_back(frame), ["origin_message_id", "group"], "left"
    )
    columns = [*dead.columns[:7], "origin_store_timestamp", "first_sent_back_timestamp", "sent_back", *dead.columns[7:]]
    if hops is not None:
        found = found.join(_failures(hops), ["message_id", "group"], "left")
        columns += ["first_failure_timestamp", "first_result", "first_client_host"]
    return found.withColumn("sent_back", F.coalesce("sent_back", F.lit(0))).select(*columns)


def _property(name: str) -> Column:
    return F.col("properties").getItem(name)


def _origins(frame: DataFrame) -> DataFrame:
    """When messages were stored, by their offset message ids; copies of a store twice in the frame count once."""
    return frame.groupBy(F.col("offset_message_id").alias("origin_message_id")).agg(
        F.min("store_timestamp").alias("origin_store_timestamp")
    )


def _sent_back(frame: DataFrame) -> DataFrame:
    """The copies that wait for a retry, by message and group: a broker stores one each time.

    With a delay it stores the message twice, before and after: the one that waits has the topic as a property.
    """
    waits = F.col("topic").isin(SCHEDULE_TOPIC, TIMER_TOPIC)
    topic = F.when(waits, _property(REAL_TOPIC)).otherwise(F.col("topic"))
    # Both have the same number of tries.
    return (
        frame.where(topic.startswith(RETRY_PREFIX) & _property(ORIGIN_MESSAGE_ID).isNotNull())
        .groupBy(
            _property(ORIGIN_MESSAGE_ID).alias("origin_message_id"),
            F.substring(topic, len(RETRY_PREFIX) + 1, 1 << 10).alias("group"),
        )
        .agg(
            F.min("store_timestamp").alias("first_sent_back_timestamp"),
            F.count_distinct("reconsume_times").alias("sent_back"),
        )
    )


def _failures(hops: DataFrame) -> DataFrame:
    """The first consumption of each message and group that failed."""
    failed = consumptions(hops).where(~F.col("success"))
    first = F.min(F.struct("end", "result", "client_host")).alias("first")
    return (
        failed.groupBy("message_id", "group")
        .agg(first)
        .select(
            "message_id",
            "group",
            F.col("first.end").alias("first_failure_timestamp"),
            F.col("first.result").alias("first_result"),
            F.col("first.client_host").alias("first_client_host"),
        )
    )
