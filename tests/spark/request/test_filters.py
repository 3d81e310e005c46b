"""What filters narrow a read to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from rocketwire.spark.read.reading import StoreBatchReader
from rocketwire.spark.request.filters import narrowed_by
from rocketwire.spark.request.request import FOREVER, PushedFilters
from rocketwire.spark.schema import DEFAULT_COLUMNS, spark_schema

TIME = datetime(2026, 1, 31, tzinfo=UTC)
MS = 1_769_817_600_000


@pytest.mark.parametrize(
    ("one", "narrowed"),
    [
        (EqualTo(("topic",), "T"), PushedFilters(topics=frozenset({"T"}))),
        (EqualNullSafe(("tags",), "x"), PushedFilters(tags=frozenset({"x"}))),
        (In(("queue_id",), (1, 2, None)), PushedFilters(queues=frozenset({1, 2}))),
        (EqualTo(("message_id",), "X"), PushedFilters(message_ids=frozenset({"X"}))),
        (EqualTo(("offset_message_id",), "X"), PushedFilters(offset_message_ids=frozenset({"X"}))),
        (EqualTo(("queue_offset",), 7), PushedFilters(first_offset=7, end_offset=8)),
        (In(("queue_offset",), (7, 3)), PushedFilters(first_offset=3, end_offset=8)),
        (In(("queue_offset",), (None,)), PushedFilters(first_offset=0, end_offset=0)),
        (GreaterThan(("queue_offset",), 7), PushedFilters(first_offset=8)),
        (GreaterThanOrEqual(("queue_offset",), 7), PushedFilters(first_offset=7)),
        (LessThan(("queue_offset",), 7), PushedFilters(end_offset=7)),
        (LessThanOrEqual(("queue_offset",), 7), PushedFilters(end_offset=8)),
        (GreaterThan(("store_timestamp",), TIME), PushedFilters(since=MS)),
        (GreaterThanOrEqual(("store_timestamp",), TIME), PushedFilters(since=MS)),
        (
            LessThanOrEqual(("store_timestamp",), TIME.astimezone(timezone(timedelta(hours=3)))),
            PushedFilters(until=MS + 1),
        ),
        (EqualTo(("store_timestamp",), TIME), PushedFilters(since=MS, until=MS + 1)),
        (EqualTo(("store_timestamp",), TIME.replace(tzinfo=None)), PushedFilters(since=MS, until=MS + 1)),
        # These do not narrow.
        (EqualNullSafe(("tags",), None), PushedFilters()),
        (EqualTo(("body",), b"x"), PushedFilters()),
        (EqualTo(("properties", "topic"), "x"), PushedFilters()),
        (Not(EqualTo(("topic",), "T")), PushedFilters()),
        (IsNotNull(("topic",)), PushedFilters()),
        (StringStartsWith(("topic",), "T"), PushedFilters()),
        (GreaterThan(("topic",), "T"), PushedFilters()),
        (LessThan(("queue_offset",), None), PushedFilters()),
    ],
)
def test_one_filter(one: Filter, narrowed: PushedFilters) -> None:
    assert narrowed_by([one]) == narrowed


def test_filters_hold_together() -> None:
    both = [In(("topic",), ("A", "B")), EqualTo(("topic",), "B"), GreaterThan(("queue_offset",), 3)]
    assert narrowed_by([*both, LessThan(("queue_offset",), 9)]) == PushedFilters(
        topics=frozenset({"B"}), first_offset=4, end_offset=9
    )
    assert narrowed_by([EqualTo(("topic",), "A"), EqualTo(("topic",), "B")]).topics == frozenset()


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.sampled_from(range(6)))
def test_what_passes_is_within(number: int, compared: int, kind: int) -> None:
    filters = [EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual, EqualNullSafe]
    passes = [
        number == compared,
        number > compared,
        number >= compared,
        number < compared,
        number <= compared,
        number == compared,
    ][kind]
    offsets = narrowed_by([filters[kind](("queue_offset",), compared)])
    time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=compared)
    times = narrowed_by([filters[kind](("store_timestamp",), time)])
    ms = MS - 30 * 86_400_000 + number // 1000
    if passes and number >= 0:
        assert offsets.first_offset <= number < offsets.end_offset
    if passes and number % 1000 == 0:
        assert times.since <= ms < times.until
    assert times.since >= -FOREVER


def reader(**options: str) -> StoreBatchReader:
    return StoreBatchReader({"path": "/nowhere"} | options, spark_schema(DEFAULT_COLUMNS))


def test_spark_takes_it_for_a_reader_without_push_downs() -> None:
    # The check of Spark's worker in sql/worker/plan_data_source_read.py.
    assert getattr(reader().pushFilters, "__func__", None) is DataSourceReader.pushFilters


def test_filters_narrow_the_request_and_stay_sparks_to_evaluate() -> None:
    narrowed = reader(pushFilters="true")
    filters = [EqualTo(("topic",), "Orders")]
    assert list(narrowed.pushFilters(filters)) == filters
    assert narrowed.request.narrowed.topics == frozenset({"Orders"})


def test_filters_narrow_nothing_unless_that_is_wanted() -> None:
    """Spark would use the narrowed plan for other uses of the data frame too."""
    same = reader()
    filters = [EqualTo(("topic",), "Orders")]
    assert list(same.pushFilters(filters)) == filters
    assert same.request.narrowed == PushedFilters()
