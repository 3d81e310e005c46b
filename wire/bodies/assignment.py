"""Bodies of assignments: whether a group pulls or pops a topic, and which queues each of its clients has."""

from dataclasses import dataclass, field
from enum import StrEnum

from rocketwire.wire.bodies.client import MessageModel, MessageQueue
from rocketwire.wire.java import Int32


class MessageRequestMode(StrEnum):
    """Whether clients pull from assigned queues, or pop from queues that they share."""

    PULL = "PULL"
    POP = "POP"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMessageRequestModeRequestBody:
    """How a group requests a topic's messages (401)."""

    topic: str = ""
    consumer_group: str = ""
    mode: MessageRequestMode = MessageRequestMode.PULL
    pop_share_queue_num: Int32 = 0
    """With POP: with how many other clients each one shares the queues that it would have had alone; 0 or less: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRequestModes:
    """The modes that were set, by topic and group: the answer to 402, and config/messageRequestMode.json."""

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAssignmentRequestBody:
    """A client queries which queues of a topic it has (400)."""

    topic: str = ""
    consumer_group: str = ""
    client_id: str = ""
    strategy_name: str = ""
    """How queues are divided: `AVG` or `AVG_BY_CIRCLE`."""
    message_model: MessageModel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueueAssignment:
    """A queue that a client has; queue -1 with POP: any of the broker's."""

    message_queue: MessageQueue = field(default_factory=MessageQueue)
    mode: MessageRequestMode = MessageRequestMode.PULL
    attachments: dict[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAssignmentResponseBody:
    """A client's queues (answer to 400); None: the broker does not know, and the client keeps those that it has."""

    message_queue_assignments: tuple[MessageQueueAssignment, ...] | None = None
