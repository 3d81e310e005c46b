"""The common part of streams of stores and of endpoints: the progress of each queue, and the end of a micro-batch.

An offset is that of a queue's next message, so that a repeated micro-batch reads the same messages again.
Queues that appear while a stream runs are read from their first message on; the offsets of those that disappear are
kept, so that nothing is read twice when they are back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from rocketwire.spark.request.option_parsing import stream_options_for
from rocketwire.spark.request.ranges import lost
from rocketwire.spark.request.request import request_of
from rocketwire.spark.stream.admission import default_limit, limits
from rocketwire.spark.stream.offsets import (
    BrokerQueue,
    LastRead,
    Nested,
    Offsets,
    Ranges,
    last_read,
    nested,
    parse_offsets,
)

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

T = TypeVar("T")
#: Of each broker the last message that was read of its store.
Last = dict[str, LastRead]
Source = TypeVar("Source")


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow, Generic[Source]):
    """Follows the queues of a `Source`: of stores that are opened for each query, or of a cluster.

    Attributes:
        replaced: The remedy for a queue that has fewer messages than were read of it.
    """

    replaced_remedy: ClassVar[str]

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        """Take the options.

        Raises:
            OptionInvalid: one of them is wrong, or is none of a stream.
        """
        self._options = stream_options_for(options, schema)
        self._request = request_of(self._options)
        self._target: Offsets | None = None
        #: Where the last query began, and what there was.
        self._latest: tuple[Offsets, Ranges] | None = None

    def initialOffset(self) -> Nested:  # noqa: N802 - Spark's name
        """Where a stream without a checkpoint begins.

        Raises:
            SparkSourceError: the source cannot be read, or lacks requested messages.
        """
        return nested(*self._query(self._begun))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit of a micro-batch, unless the trigger sets another."""
        return default_limit(self._options)

    def latestOffset(self, start: dict, limit: ReadLimit) -> Nested:  # type: ignore[type-arg]  # noqa: N802 - Spark's signature
        """Where the next micro-batch ends; `start` itself when there is nothing to read.

        Raises:
            SparkSourceError: the source cannot be read; messages are missing, and options make this an error.
        """
        begun, last = parse_offsets(start), last_read(start)
        return nested(*self._query(lambda source: self._ends(source, begun, last, limit)))

    def reportLatestOffset(self) -> Nested | None:  # noqa: N802 - Spark's name
        """The ends of the queues at their last query, for the progress that Spark reports."""
        if self._latest is None:
            return None
        begun, there = self._latest
        return nested(begun | {queue: end for queue, (_, end) in there.items()})

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the query's end at the present ends of the queues.

        Raises:
            SparkSourceError: the source cannot be read.
        """
        self._target = {queue: end for queue, (_, end) in self._query(self._bounds).items()}

    @abstractmethod
    def _query(self, query: Callable[[Source], T]) -> T:
        """The result of a query of the source; its errors become those of the data source."""

    @abstractmethod
    def _begin(self, source: Source) -> Offsets:
        """Where a stream without a checkpoint begins, by its options."""

    @abstractmethod
    def _bounds(self, source: Source) -> Ranges:
        """The requested offsets that each queue has."""

    @abstractmethod
    def _admitted(self, source: Source, ranges: Ranges, rows: int | None, size: int | None) -> Offsets:
        """Where each range ends when no more than so many messages, and bytes of them, are taken of all; None: any."""

    def _replaced(self, source: Source, last: Last) -> frozenset[str]:  # noqa: ARG002 - for subclasses that know
        """The brokers whose store does not have the message that was read last."""
        return frozenset()

    def _last(self, source: Source, begun: Offsets, ends: Offsets) -> Last:  # noqa: ARG002 - the same
        """Of each broker the message farthest in its log, of those between two offsets."""
        return {}

    def _is_lagging(self, source: Source, queue: BrokerQueue) -> bool:  # noqa: ARG002 - for subclasses that know
        """Whether missing entries of a queue will be written again."""
        return False

    def _named(self, queue: BrokerQueue) -> str:
        return str(queue)

    def _begun(self, source: Source) -> tuple[Offsets, Last]:
        begun = self._begin(source)
        return begun, self._last(source, {}, begun)

    def _ends(self, source: Source, begun: Offsets, last: Last, limit: ReadLimit) -> tuple[Offsets, Last]:
        replaced = self._replaced(source, last)
        if replaced:
            begun = without(replaced, begun)
            last = {broker: message for broker, message in last.items() if broker not in replaced}
        ends = begun | self._taken(source, begun, replaced, limit)
        for broker, message in self._last(source, begun, ends).items():
            last = last | {broker: max(message, last.get(broker, message))}
        return ends, last

    def _taken(self, source: Source, begun: Offsets, replaced: frozenset[str], limit: ReadLimit) -> Offsets:
        there = self._bounds(source)
        self._latest = begun, there
        ranges = self._ranges(source, begun, there, replaced)
        if isinstance(limit, ReadAllAvailable):
            return {queue: end for queue, (_, end) in ranges.items()}
        return self._admitted(source, ranges, *limits(self._options, limit))

    def _ranges(self, source: Source, begun: Offsets, there: Ranges, replaced: frozenset[str]) -> Ranges:
        """All unread offsets of each queue."""
        found: Ranges = {}
        for queue, (least, most) in there.items():
            if self._target is not None and queue not in self._target:
                continue
            first, end = begun.get(queue), most if self._target is None else min(most, self._target[queue])
            if queue.broker in replaced:
                first = least
            elif first is None:
                # A new queue is recorded, and read in the next micro-batch. So the checkpoint has its start, and
                # messages that are removed in between are reported as missing.
                first = end = least
            elif first > most:
                if self._is_lagging(source, queue):
                    continue
                what = f"{self._named(queue)} ends at offset {most}, and was read up to {first}"
                lost(what, fail=self._options.fail_on_data_loss, remedy=self.replaced_remedy)
                first = least
            found[queue] = first, max(first, end)
        return found


def without(brokers: frozenset[str], offsets: Offsets) -> Offsets:
    """Offsets less those of these brokers."""
    return {queue: offset for queue, offset in offsets.items() if queue.broker not in brokers}
