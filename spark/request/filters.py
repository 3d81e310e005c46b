"""The filters of a query, as far as they narrow a read. Spark checks each row again, so they may let too much pass.

A read is narrowed by =, <=> and IN on topic, queue_id, queue_offset, store_timestamp, tags, message_id and
offset_message_id, and by <, <=, > and >= on queue_offset and store_timestamp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark.sql.datasource import (
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from rocketwire.spark.request.request import FOREVER, PushedFilters, ReadRequest

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
#: Columns whose sets of values narrow a read, and the field of `PushedFilters` for each.
_SETS: Final = {
    "topic": "topics",
    "queue_id": "queues",
    "tags": "tags",
    "message_id": "message_ids",
    "offset_message_id": "offset_message_ids",
}
_Bounds = tuple[int, int]


def narrowed_by(filters: Iterable[Filter]) -> PushedFilters:
    """The values that pass all of these filters."""
    found = PushedFilters()
    for one in filters:
        path: tuple[str, ...] = getattr(one, "attribute", ())
        column = path[0] if len(path) == 1 else ""
        if column in _SETS:
            found = _by_set(found, _SETS[column], one)
        elif column == "queue_offset":
            bounds = _bounds(one, _whole)
            if bounds is not None:
                first, end = max(found.first_offset, bounds[0]), min(found.end_offset, bounds[1])
                found = replace(found, first_offset=first, end_offset=end)
        elif column == "store_timestamp":
            bounds = _bounds(one, _ms)
            if bounds is not None:
                found = replace(found, since=max(found.since, bounds[0]), until=min(found.until, bounds[1]))
    return found


def _values(one: Filter) -> list[Any] | None:
    """The values of which a column must have one; None for another kind of filter."""
    if isinstance(one, EqualTo):
        return [one.value]
    if isinstance(one, EqualNullSafe):
        return None if one.value is None else [one.value]
    if isinstance(one, In):
        return list(one.value)
    return None


def _by_set(found: PushedFilters, name: str, one: Filter) -> PushedFilters:
    values = _values(one)
    if values is None:
        return found
    wanted = frozenset(value for value in values if value is not None)
    before: frozenset[Any] | None = getattr(found, name)
    changes: dict[str, Any] = {name: wanted if before is None else before & wanted}
    return replace(found, **changes)


def _bounds(one: Filter, number: Callable[[Any], int | None]) -> _Bounds | None:
    """A range of numbers (end exclusive) with all that pass a filter; None without bounds."""
    values = _values(one)
    if values is not None:
        numbers = [number(value) for value in values if value is not None]
        known = [value for value in numbers if value is not None]
        if len(known) < len(numbers):
            return None
        return (min(known), max(known) + 1) if known else (0, 0)
    value = number(getattr(one, "value", None))
    if value is None:
        return None
    if isinstance(one, (GreaterThan, GreaterThanOrEqual)):
        return (value + 1 if isinstance(one, GreaterThan) and number is _whole else value), FOREVER
    if isinstance(one, (LessThan, LessThanOrEqual)):
        return -FOREVER, (value if isinstance(one, LessThan) and number is _whole else value + 1)
    return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _ms(value: object) -> int | None:
    """The ms that contains a time: store times are whole ms."""
    if not isinstance(value, datetime):
        return None
    return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND


class _PushFilters:
    """Narrows a reader by filters. None is accepted as handled: Spark checks each row again."""

    __func__ = staticmethod(DataSourceReader.pushFilters)  # as it is, not bound to this object

    def __init__(self, reader: NarrowedReader) -> None:
        self._reader = reader

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        self._reader.narrow(filters)
        return filters


class NarrowedReader(DataSourceReader):
    """A reader of the messages of `request`, which filters of a query narrow, whether Spark pushes any or not.

    Spark refuses a reader that takes filters while `spark.sql.python.filterPushdown.enabled` is false, which is the
    default. It knows one that takes them by its method `pushFilters` being another function than the base class's. So
    that one reader does in both cases, its `pushFilters` is an object that passes for the base class's method.

    Spark keeps the tasks that a reader planned while a data frame lives, and those of the last filters for all uses
    of that frame: a second query on it, the other side of a union or a self-join (seen with 4.3.0). A narrowed plan
    gives wrong results there, so it is only made if the option `pushFilters` is set.
    """

    pushFilters: Any  # noqa: N815 - Spark's name

    def __init__(self, request: ReadRequest) -> None:
        self.request = request
        self.pushFilters = _PushFilters(self)

    def narrow(self, filters: Iterable[Filter]) -> None:
        """Narrow the read by filters, if the option `pushFilters` is set."""
        if self.request.options.push_filters:
            self.request = replace(self.request, narrowed=narrowed_by(filters))
