"""What streams of stores and of endpoints have in common: how far each queue was read, and where a micro-batch ends.

An offset is that of a queue's next message, so that a micro-batch that is done again reads the same messages again.
Queues that appear while a stream runs are read from their first message on; what was read of those that disappear stays
in the offsets, so that nothing comes twice when they are back.
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
from rocketwire.spark.stream.offsets import MessageQueue, Nested, Offsets, Ranges, checked, nested

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

T = TypeVar("T")
Source = TypeVar("Source")


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow, Generic[Source]):
    """Follows the queues of a `Source`: of stores that are opened for each question, or of a cluster.

    Attributes:
        replaced: What helps where a queue has fewer messages than were read of it.
    """

    replaced: ClassVar[str]

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        """Take the options.

        Raises:
            OptionInvalid: one of them is wrong, or is none of a stream.
        """
        self._options = stream_options_for(options, schema)
        self._request = request_of(self._options)
        self._target: Offsets | None = None
        self._latest: Offsets | None = None

    def initialOffset(self) -> Nested:  # noqa: N802 - Spark's name
        """Where a stream without a checkpoint begins.

        Raises:
            SparkSourceError: the source cannot be read, or has not what is asked for.
        """
        return nested(self._ask(self._begin))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """What a micro-batch takes at most, when the trigger does not say otherwise."""
        return default_limit(self._options)

    def latestOffset(self, start: dict, limit: ReadLimit) -> Nested:  # type: ignore[type-arg]  # noqa: N802 - Spark's signature
        """Where the next micro-batch ends; `start` itself when there is nothing to read.

        Raises:
            SparkSourceError: the source cannot be read; messages are gone, and options say that this is an error.
        """
        begun = checked(start)
        return nested(begun | self._ask(lambda source: self._ends(source, begun, limit)))

    def reportLatestOffset(self) -> Nested | None:  # noqa: N802 - Spark's name
        """Where the queues ended when they were looked at last, for the progress that a query reports."""
        return None if self._latest is None else nested(self._latest)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Bind the query to what is there now.

        Raises:
            SparkSourceError: the source cannot be read.
        """
        self._target = {queue: end for queue, (_, end) in self._ask(self._bounds).items()}

    @abstractmethod
    def _ask(self, ask: Callable[[Source], T]) -> T:
        """The answer to a question about the source; its errors become those of the data source."""

    @abstractmethod
    def _begin(self, source: Source) -> Offsets:
        """Where a stream without a checkpoint begins, by its options."""

    @abstractmethod
    def _bounds(self, source: Source) -> Ranges:
        """The offsets that each queue has of those that are asked for."""

    @abstractmethod
    def _admitted(self, source: Source, ranges: Ranges, rows: int | None, size: int | None) -> Offsets:
        """Where each range ends when no more than so many messages, and bytes of them, are taken of all; None: any."""

    def _is_lagging(self, source: Source, queue: MessageQueue) -> bool:  # noqa: ARG002 - for those who can tell
        """Whether what a queue lacks will be in it again."""
        return False

    def _named(self, queue: MessageQueue) -> str:
        return str(queue)

    def _ends(self, source: Source, begun: Offsets, limit: ReadLimit) -> Offsets:
        there = self._bounds(source)
        self._latest = begun | {queue: end for queue, (_, end) in there.items()}
        ranges = self._ranges(source, begun, there)
        if isinstance(limit, ReadAllAvailable):
            return {queue: end for queue, (_, end) in ranges.items()}
        return self._admitted(source, ranges, *limits(self._options, limit))

    def _ranges(self, source: Source, begun: Offsets, there: Ranges) -> Ranges:
        """What is to be read of each queue, all in all."""
        found: Ranges = {}
        for queue, (least, most) in there.items():
            if self._target is not None and queue not in self._target:
                continue
            first, end = begun.get(queue), most if self._target is None else min(most, self._target[queue])
            if first is None:
                # A queue that appears is noted, and read in the next micro-batch. So the checkpoint says from where on,
                # and what is removed in between is missed.
                first = end = least
            elif first > most:
                if self._is_lagging(source, queue):
                    continue
                what = f"{self._named(queue)} ends at offset {most}, and was read up to {first}"
                lost(what, fail=self._options.fail_on_data_loss, remedy=self.replaced)
                first = least
            found[queue] = first, max(first, end)
        return found
