"""A reader that takes filters, whether Spark pushes any or not.

Spark refuses a reader that takes filters while `spark.sql.python.filterPushdown.enabled` is false, which is the
default. It knows one that takes them by its method `pushFilters` being another function than the base class's. So that
one reader does in both cases, its `pushFilters` is an object that passes for the base class's method.

Spark keeps the tasks that a reader planned while a data frame lives, and those of the last filters for all uses
of that frame: a second query on it, the other side of a union or a self-join (seen with 4.3.0). A narrowed plan gives
wrong results there, so it is only made if the option `pushFilters` is set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pyspark.sql.datasource import DataSourceReader, Filter

from rocketwire.spark.request.filters import narrowed_by
from rocketwire.spark.request.request import ReadRequest


class _PushFilters:
    """Narrows a reader by filters. None is accepted as handled: Spark checks each row again."""

    __func__ = staticmethod(DataSourceReader.pushFilters)  # as it is, not bound to this object

    def __init__(self, reader: NarrowedReader) -> None:
        self._reader = reader

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        self._reader.narrow(filters)
        return filters


class NarrowedReader(DataSourceReader):
    """A reader of the messages of `request`, which filters of a query narrow."""

    pushFilters: Any  # noqa: N815 - Spark's name

    def __init__(self, request: ReadRequest) -> None:
        self.request = request
        self.pushFilters = _PushFilters(self)

    def narrow(self, filters: Iterable[Filter]) -> None:
        """Narrow the read by filters, if the option `pushFilters` is set."""
        if self.request.options.push_filters:
            self.request = replace(self.request, narrowed=narrowed_by(filters))
