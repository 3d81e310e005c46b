"""The values that applications give to and get from the client: messages, queues, results of sending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from rocketwire.wire.facts.codes import ResponseCode


class Queue(NamedTuple):
    """One queue of a topic on one broker. Queues sort by topic, broker and number."""

    topic: str
    broker: str
    queue_id: int

    def __str__(self) -> str:
        return f"{self.topic}, broker {self.broker}, queue {self.queue_id}"


@dataclass(frozen=True, slots=True)
class Message:
    """A message to be sent.

    Attributes:
        topic: Where to.
        body: At least one byte; brokers take 4 MiB unless they are set otherwise.
        tags: One word, by which consumers may filter.
        keys: Words by which the message can be found; one may be given as a text.
        properties: Texts by name, by which consumers may filter with SQL92.
        delay_level: Deliver it later: the number of one of the broker's delay levels; 0 is at once.
        deliver_at_ms: Deliver it at this time, in ms since 1970; for brokers of 5.x and rocketwire.
        order_key: Messages of a topic with equal keys go to the same queue, in the order of the sends.
    """

    topic: str
    body: bytes
    tags: str | None = None
    keys: str | Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    delay_level: int = 0
    deliver_at_ms: int | None = None
    order_key: str | None = None


class SendStatus(Enum):
    """How safe a message is that the broker has accepted."""

    OK = ResponseCode.SUCCESS
    FLUSH_DISK_TIMEOUT = ResponseCode.FLUSH_DISK_TIMEOUT
    """It is in the broker's memory, and was not on its disk in time."""
    FLUSH_SLAVE_TIMEOUT = ResponseCode.FLUSH_SLAVE_TIMEOUT
    """The broker's slave did not have it in time."""
    SLAVE_NOT_AVAILABLE = ResponseCode.SLAVE_NOT_AVAILABLE
    """The broker has no slave to copy it to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendResult:
    """Where the broker stored what was sent.

    Attributes:
        status: How safe it is.
        message_ids: The ids that the client made, one for each message: their unique keys.
        offset_message_id: The id that the broker made: its address and the place in its log. Of a batch the ids of all,
            with commas between.
        queue: The queue.
        queue_offset: The place in it; of a batch that of the first message.
        recall_handle: With this a message that waits for its delivery time can be cancelled; None without such a time.
    """

    status: SendStatus
    message_ids: tuple[str, ...]
    offset_message_id: str
    queue: Queue
    queue_offset: int
    recall_handle: str | None = None

    @property
    def message_id(self) -> str:
        """The id of the message; of a batch, of its first message."""
        return self.message_ids[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """A message as consumers get it; times are in ms since 1970.

    Attributes:
        topic: The topic that it was sent to, also when it is a retry.
        body: As it was sent; inflated, if the producer compressed it.
        tags: Its tags, if it has any.
        keys: Its keys.
        properties: All its properties, those of the client and the broker among them.
        message_id: The id that its producer made (the unique key), else the offset message id. Retries keep it.
        offset_message_id: The id of this record at its broker.
        queue: The queue that it came from: for a retry, one of the group's retry topic.
        queue_offset: Its place in the queue.
        physical_offset: Its place in the broker's commit log.
        born_timestamp: When it was sent.
        store_timestamp: When the broker stored it.
        reconsume_times: How often consumers of the group failed to consume it before.
    """

    topic: str
    body: bytes = field(repr=False)
    tags: str | None
    keys: tuple[str, ...]
    properties: Mapping[str, str] = field(repr=False)
    message_id: str
    offset_message_id: str
    queue: Queue
    queue_offset: int
    physical_offset: int
    born_timestamp: int
    store_timestamp: int
    reconsume_times: int


@dataclass(frozen=True, slots=True)
class Later:
    """What a handler returns to get a message again.

    Attributes:
        delay_level: When: the number of one of the broker's delay levels. 0: later with each try, as the broker
            decides. Below 0: never; the message becomes a dead letter.
    """

    delay_level: int = 0
