"""The options of a read, as values."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rocketwire.spark.files.far import PREFETCH
from rocketwire.spark.request.values import RequestedOffsets
from rocketwire.spark.schema import DEFAULT_COLUMNS
from rocketwire.wire.names import DEAD_LETTER_PREFIX, LIGHT_QUEUE_PREFIX, RETRY_PREFIX, is_system_topic_of_any_version

_OF_GROUPS: Final = (RETRY_PREFIX, DEAD_LETTER_PREFIX, LIGHT_QUEUE_PREFIX)


def is_hidden(topic: str) -> bool:
    """Whether a topic is one of RocketMQ's own, or holds what it keeps for groups: retries, dead letters.

    Such a topic is read when it is named, and with `includeSystemTopics`.
    """
    return topic.startswith(_OF_GROUPS) or is_system_topic_of_any_version(topic)


class DamageMode(enum.Enum):
    """How damaged places of the log are handled."""

    PERMISSIVE = "a row of it, with what is certain"
    DROPMALFORMED = "it is passed over"
    FAILFAST = "an error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The options of a read.

    Attributes:
        paths: The stores, as given, each one or several with commas between: empty when messages come from an endpoint.
        namesrv: Addresses of name servers; empty when messages come from stores.
        topics: Topics that are named; none of them with `topic_pattern`.
        topic_pattern: A regular expression that whole names of topics match; None for no pattern.
        queues: Numbers of queues; None for all.
        starting_offsets, ending_offsets: Where to begin, and where to stop (exclusive): None when not given.
        starting_timestamp, ending_timestamp: Store times in ms, from one up to, not including, the other.
        columns: Names of columns, in the order of the schema.
        push_filters: Whether filters of a query narrow what is read, where Spark pushes them.
        include_system_topics: Whether hidden topics are read, though no option names them.
        min_partitions: The plan has no fewer, if there is so much to split.
        max_bytes_per_partition: Bytes of log that a partition reads, roughly.
        max_offsets_per_trigger, max_bytes_per_trigger: Limits of a micro-batch; None for no limit.
        column_cache: Folders of columns beside stores. The jar reads them in place of the log; here the log is read.
        mode: How damaged places are handled.
        fail_on_data_loss: Whether missing messages are an error, or only cause a warning.
        decompress: Whether compressed bodies are inflated.
        verify_checksums: Whether the CRC of a body is checked when the body is read.
        brokers: Names of brokers by the paths of their stores.
        files: Options of file systems: those given as fs.NAME. There may be secrets among them.
        prefetch_bytes: Bytes prefetched for a sequential reader of a remote file.
    """

    paths: tuple[str, ...] = ()
    namesrv: str = ""
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    queues: frozenset[int] | None = None
    starting_offsets: str | RequestedOffsets | None = None
    ending_offsets: str | RequestedOffsets | None = None
    starting_timestamp: int | None = None
    ending_timestamp: int | None = None
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    push_filters: bool = False
    include_system_topics: bool = False
    min_partitions: int = 1
    max_bytes_per_partition: int = 128 << 20
    max_offsets_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    column_cache: tuple[str, ...] = ()
    mode: DamageMode = DamageMode.PERMISSIVE
    fail_on_data_loss: bool = True
    decompress: bool = True
    verify_checksums: bool = True
    brokers: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    prefetch_bytes: int = PREFETCH

    def takes_topic(self, topic: str) -> bool:
        """Whether messages of a topic are read. Light queues point to other topics' messages: read by name only."""
        if self.topics:
            return topic in self.topics
        if topic.startswith(LIGHT_QUEUE_PREFIX) or (not self.include_system_topics and is_hidden(topic)):
            return False
        return self.topic_pattern is None or re.fullmatch(self.topic_pattern, topic) is not None
