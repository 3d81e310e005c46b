"""The parameters of a read: its options, and the pushed filters of a query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rocketwire.spark.request.options import ReadOptions
from rocketwire.spark.schema import QUEUE_COLUMNS
from rocketwire.wire.java import INT64_MAX

FOREVER: Final = INT64_MAX
#: Store times rise along the log, but for a clock that was set back by so much (ms).
CLOCK_MARGIN: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedFilters:
    """The restrictions by filters; None, and the defaults, for no restriction. It may let more pass than the filters.

    Attributes:
        topics, queues, tags: Values that the columns may have.
        message_ids, offset_message_ids: The same.
        first_offset, end_offset: Queue offsets, from the first up to, not including, the end.
        since, until: Store times in ms, from the first up to, not including, the second.
    """

    topics: frozenset[str] | None = None
    queues: frozenset[int] | None = None
    tags: frozenset[str] | None = None
    message_ids: frozenset[str] | None = None
    offset_message_ids: frozenset[str] | None = None
    first_offset: int = 0
    end_offset: int = FOREVER
    since: int = -FOREVER
    until: int = FOREVER


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """The parameters of a read: everything that a worker has to know besides its partition."""

    options: ReadOptions
    narrowed: PushedFilters = field(default_factory=PushedFilters)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in the schema's order."""
        return self.options.columns

    @property
    def since(self) -> int:
        """Store time in ms at or after which messages are wanted."""
        given = self.options.starting_timestamp
        return self.narrowed.since if given is None else max(given, self.narrowed.since)

    @property
    def until(self) -> int:
        """Store time in ms before which messages are wanted."""
        given = self.options.ending_timestamp
        return self.narrowed.until if given is None else min(given, self.narrowed.until)

    def takes_topic(self, topic: str) -> bool:
        """Whether messages of a topic are wanted."""
        return (self.narrowed.topics is None or topic in self.narrowed.topics) and self.options.takes_topic(topic)

    @property
    def topics(self) -> frozenset[str] | None:
        """The topics that are named, by options and filters; None when none is."""
        named, narrowed = frozenset(self.options.topics), self.narrowed.topics
        if not named:
            return None if narrowed is None else frozenset(filter(self.options.takes_topic, narrowed))
        return named if narrowed is None else named & narrowed

    @property
    def queues(self) -> frozenset[int] | None:
        """Numbers of the selected queues; None for all."""
        given, narrowed = self.options.queues, self.narrowed.queues
        if given is None or narrowed is None:
            return narrowed if given is None else given
        return given & narrowed

    @property
    def has_times(self) -> bool:
        """Whether store times are restricted."""
        return self.since > -FOREVER or self.until < FOREVER

    @property
    def has_ids(self) -> bool:
        """Whether message ids are restricted."""
        return self.narrowed.message_ids is not None or self.narrowed.offset_message_ids is not None

    @property
    def has_offsets(self) -> bool:
        """Whether options restrict queue offsets."""
        options = self.options
        return options.starting_offsets not in (None, "earliest") or options.ending_offsets not in (None, "latest")

    @property
    def is_restricted(self) -> bool:
        """Whether there are other restrictions than leaving out hidden topics."""
        options, narrowed = self.options, self.narrowed
        named = self.topics is not None or options.topic_pattern is not None or self.queues is not None
        return named or self.has_offsets or self.has_times or narrowed != PushedFilters()

    @property
    def needs_no_log(self) -> bool:
        """Whether consume queues contain all requested values."""
        return QUEUE_COLUMNS.issuperset(self.columns) and not (
            self.has_times or self.has_ids or self.narrowed.tags is not None
        )


def request_of(options: ReadOptions) -> ReadRequest:
    """The request of these options, without filters."""
    return ReadRequest(options=options)
