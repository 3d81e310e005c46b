"""The figures of the page, computed by Spark from the pipeline's Parquet files."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from rocketwire.spark.history import dead_letters, delays, hops
from rocketwire.wire.names import DEAD_LETTER_PREFIX, RETRY_PREFIX
from tools.spark_pipeline.traffic_figures import Figures, Series

MARKS: Final = {"50 %": 0.5, "95 %": 0.95, "99 %": 0.99}
_STEPS: Final = 60
_BUSIEST: Final = 15
_PLACE: Final = ("broker", "topic", "queue_id", "queue_offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The figures of a run that are not in the frame; see `Figures`."""

    acknowledged: int
    batches: int
    restarts: int


def figures(frame: DataFrame, topics: Iterable[str], run: Run) -> Figures:
    """Compute them.

    Args:
        frame: All messages, retries, dead letters and traces, with the columns of the pipeline; best cached.
        topics: Those that producers send to.
        run: The rest.
    """
    sent = frame.where(F.col("topic").isin(*topics))
    # Retries and dead letters come after the last message was sent.
    (last,) = frame.agg(F.max(F.unix_millis("store_timestamp"))).collect()[0]
    first, rows, different, size, begins = sent.agg(
        F.min(F.unix_millis("store_timestamp")),
        F.count("*"),
        F.count_distinct(F.struct(*_PLACE)),
        F.sum("store_size"),
        F.date_format(F.min("store_timestamp"), "yyyy-MM-dd HH:mm:ss"),
    ).collect()[0]
    clock = _Clock(first, last)
    by_step = _Counts(clock)
    found = hops(frame).cache()
    late = delays(sent, found).cache()
    retried = frame.where(F.col("topic").startswith(RETRY_PREFIX))
    dead = frame.where(F.col("topic").startswith(DEAD_LETTER_PREFIX))
    keys = sent.select(F.explode("keys").alias("key")).groupBy("key").count()
    result = Figures(
        begins=f"{begins} UTC",
        step=clock.step,
        steps=clock.steps,
        acknowledged=run.acknowledged,
        rows=rows,
        messages=different,
        retried=retried.count(),
        dead=dead.count(),
        kib=round(size / 1024),
        batches=run.batches,
        restarts=run.restarts,
        traffic=by_step.rates(sent, F.col("topic")),
        stored=_percentiles(late.dropDuplicates(["message_id"]), "stored_after_ms", clock),
        consumed=_percentiles(late, "done_after_ms", clock),
        retries=by_step.rates(retried, _behind(RETRY_PREFIX)),
        letters=by_step.rates(dead, _behind(DEAD_LETTER_PREFIX)),
        lag=_lags(late, by_step),
        keys=[
            (row["key"], 100 * row["count"] / rows)
            for row in keys.orderBy(F.desc("count"), "key").limit(_BUSIEST).collect()
        ],
        different_keys=keys.count(),
        causes=[
            (row["group"], row["origin_topic"], row["first_result"] or "not reported", row["count"])
            for row in dead_letters(frame, found)
            .groupBy("group", "origin_topic", "first_result")
            .count()
            .orderBy(F.desc("count"), "group", "first_result")
            .collect()
        ],
    )
    for each in (found, late):
        each.unpersist()
    return result


class _Clock:
    """Cuts the time into steps."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        seconds = (last - first) / 1000
        # Whole halves of seconds: plots of rates look alike in all runs.
        self.step = max(0.5, math.ceil(2 * seconds / _STEPS) / 2)
        self.steps = [self.step * number for number in range(int(seconds // self.step) + 1)]

    def number(self, time: str) -> Column:
        """The step that a time is in; what is later is in the last one, what is earlier in the first one."""
        step = F.floor((F.unix_millis(time) - self._first) / (1000 * self.step))
        return F.greatest(F.lit(0), F.least(step, F.lit(len(self.steps) - 1)))


class _Counts:
    """Counts rows by step and name."""

    def __init__(self, clock: _Clock) -> None:
        self._clock = clock

    def rates(self, frame: DataFrame, name: Column) -> Series:
        """Rows a second."""
        counts = self.counts(frame, name, "store_timestamp")
        return {each: [count / self._clock.step for count in line] for each, line in counts.items()}

    def counts(self, frame: DataFrame, name: Column, time: str) -> dict[str, list[int]]:
        """Rows, with zeros where there are none; by name, sorted."""
        found: dict[str, list[int]] = defaultdict(lambda: [0] * len(self._clock.steps))
        counted = frame.groupBy(name.alias("name"), self._clock.number(time).alias("step")).count()
        for row in counted.orderBy("name").collect():
            found[row["name"]][row["step"]] = row["count"]
        return dict(found)


def _percentiles(frame: DataFrame, column: str, clock: _Clock) -> Series:
    """Percentiles of each step, None where it has no values."""
    found: dict[int, list[Any]] = {
        row["step"]: row["marks"]
        for row in frame.where(F.col(column).isNotNull())
        .groupBy(clock.number("store_timestamp").alias("step"))
        .agg(F.percentile(column, F.array(*map(F.lit, MARKS.values()))).alias("marks"))
        .collect()
    }
    return {
        name: [found[step][number] if step in found else None for step in range(len(clock.steps))]
        for number, name in enumerate(MARKS)
    }


def _lags(late: DataFrame, by_step: _Counts) -> Series:
    """Messages that were stored until the end of a step, less those that the group was given until then."""
    known = late.where(F.col("group").isNotNull())
    stored = by_step.counts(known, F.col("group"), "store_timestamp")
    given = by_step.counts(known, F.col("group"), "consume_timestamp")
    return {
        group: [float(count) for count in accumulate(a - b for a, b in zip(line, given[group], strict=True))]
        for group, line in stored.items()
    }


def _behind(prefix: str) -> Column:
    """The group whose name is behind the prefix of its topic."""
    return F.substring("topic", len(prefix) + 1, 1 << 10)
