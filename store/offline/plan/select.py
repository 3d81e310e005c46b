"""The filter of a query: tests whole batches of records by their columns first, then each remaining message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.offline.read.log import RecordBlock
from rocketwire.store.offline.read.selected import SelectedMessage
from rocketwire.store.records.columns import topics_of
from rocketwire.wire.facts import properties as names
from rocketwire.wire.java import INT64_MAX
from rocketwire.wire.names import is_system_topic_of_any_version

FOREVER: Final = INT64_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageConditions:
    """Conditions for messages; None, and the defaults, mean no condition.

    Attributes:
        topics: Their topic is one of these.
        system_topics: RocketMQ's own topics are wanted too; without that, only if `topics` names them.
        queue_ids: Their queue is one of these.
        first_offset, end_offset: Their queue offset is from the first up to, not including, the end.
        since, until: Their store time in ms is from the first up to, not including, the second.
        key: It is the unique key, or a word of their keys.
        message_id: It is their message id or offset message id.
        tags: Their tag is one of these.
    """

    topics: frozenset[str] | None = None
    system_topics: bool = False
    queue_ids: frozenset[int] | None = None
    first_offset: int = 0
    end_offset: int = FOREVER
    since: int = 0
    until: int = FOREVER
    key: str | None = None
    message_id: str | None = None
    tags: frozenset[str] | None = None

    def matches_topic(self, topic: str) -> bool:
        """Whether messages of a topic are wanted."""
        if self.topics is not None:
            return topic in self.topics
        return self.system_topics or not is_system_topic_of_any_version(topic)

    def matches_queue(self, queue_id: int) -> bool:
        """Whether messages of a queue of that number are wanted."""
        return self.queue_ids is None or queue_id in self.queue_ids

    @property
    def needs_only_columns(self) -> bool:
        """Whether `candidates` is exact: no key, id or tag is wanted."""
        return self.key is None and self.message_id is None and self.tags is None

    def candidates(self, block: RecordBlock) -> NDArray[np.intp]:
        """Indices of the records of a block that pass by their columns: keys, ids and tags are not checked."""
        records = block.records
        passed = (records.store_timestamp >= self.since) & (records.store_timestamp < self.until)
        passed &= (records.queue_offset >= self.first_offset) & (records.queue_offset < self.end_offset)
        if self.queue_ids is not None:
            passed &= np.isin(records.queue_id, np.fromiter(self.queue_ids, np.int64))
        if passed.any() and not (self.topics is None and self.system_topics):
            codes, topics = topics_of(block.buffer, records)
            passed &= np.fromiter(map(self.matches_topic, topics), bool, len(topics))[codes]
        return np.flatnonzero(passed)

    def may_match(self, properties: bytes) -> bool:
        """Whether a message with these stored properties may be wanted: a quick check of tags, key and id only.

        The id is compared as a unique key: an offset message id is found by its physical offset.
        """
        texts = [text for text in (self.key, self.message_id) if text is not None]
        return all(_stored(text) in properties for text in texts) and (
            self.tags is None or any(_stored(tag) in properties for tag in self.tags)
        )

    def matches(self, one: SelectedMessage) -> bool:
        """Whether a message is wanted: the full check of a single one."""
        message = one.message
        return (
            self.first_offset <= message.queue_offset < self.end_offset
            and self.since <= message.store_timestamp < self.until
            and self.matches_queue(message.queue_id)
            and self.matches_topic(message.topic)
            and (self.tags is None or one.tags in self.tags)
            and (self.key is None or self.key == one.properties.get(names.UNIQ_KEY) or self.key in one.keys)
            and (self.message_id is None or self._is_id_of(one))
        )

    def _is_id_of(self, one: SelectedMessage) -> bool:
        wanted = self.message_id or ""
        return wanted == one.message_id or wanted.upper() == one.offset_message_id


def _stored(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
