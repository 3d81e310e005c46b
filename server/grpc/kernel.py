"""Calls of 5.x clients that the kernel serves: what they share, and what Python decides for sends, once for each topic.

The kernel reads, stores and answers plain SendMessage calls, those that a read begins with, as one group. What
`sending.send` decides about the topic is kept until something changes that it was made from; what is not plain goes
the general way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

import trio

from rocketwire import native
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.grpc.metadata import CLIENT_ID
from rocketwire.server.grpc.routing import accepted_types
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.send.kernel import KernelSends
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.codes import Permission, RequestCode
from rocketwire.wire.facts.properties import RESERVED_NAMES, TRACE_CONTEXT
from rocketwire.wire.grpc.checks import CallLimits, check_topic
from rocketwire.wire.grpc.codes import CallInvalid
from rocketwire.wire.http2.events import Event

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import GrpcConnection


SEND: Final = "/apache.rocketmq.v2.MessagingService/SendMessage"
PYTHON_PROPERTIES: Final = tuple(
    sorted(
        name.encode()
        for name in (
            *RESERVED_NAMES,
            names.CHECK_IMMUNITY_TIME_IN_SECONDS,
            names.SHARDING_KEY,
            names.START_DELIVER_TIME,
            TRACE_CONTEXT,
        )
    )
)
"""User properties that the kernel leaves to Python: they are refused, or change what is done with the message."""
_LIMITS: Final = CallLimits()
_TYPES: Final = {"NORMAL": 1, "FIFO": 2, "DELAY": 4}  # bits, as kernel/grpc/call_message.h has them
_ALL: Final = sum(_TYPES.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCallServices:
    """The parts of the broker that serve plain calls.

    Attributes:
        storing: Stores what comes of them.
        metrics: Counts requests.
        guarded: Whether dispatch must see every request now.
        note: Called with a request code, how many seconds its requests took, and their number.
        monotonic: Measures that.
    """

    storing: MessageWriter
    metrics: Metrics
    guarded: Callable[[], bool]
    note: Callable[[int, float, int], None] | None = None
    monotonic: Callable[[], float] = trio.current_time

    @property
    def is_disabled(self) -> bool:
        """Whether no call is plain now."""
        return self.storing.waits_for_disk or self.guarded()

    def count(self, code: RequestCode, times: int, began: float) -> None:
        """Count requests that were begun at a time."""
        if times:
            self.metrics.requests[code] += times
            if self.note is not None:
                self.note(code, self.monotonic() - began, times)


def message_type_bits(accepted: Iterable[str]) -> int:
    """Types of messages as bits, those that the kernel knows."""
    return sum(_TYPES.get(name, 0) for name in accepted)


class GrpcTopicPlan(NamedTuple):
    """What the kernel does with sends to a topic. kernel/grpc/call_sends.c reads it in this order.

    Attributes:
        queues: The writable ones; 0: its sends are Python's.
        first: The queue of the first message without a message group; the others take turns.
        types: Of messages that it takes, as bits.
    """

    queues: int
    first: int
    types: int


_PYTHONS: Final = GrpcTopicPlan(0, 0, 0)


class KernelSendCalls:
    """The plain sends of 5.x clients.

    Attributes:
        overtakes: See `Plain`: messages are stored in the order of their calls.
        most: All of a read.
    """

    overtakes: Final = False
    most: Final = sys.maxsize

    def __init__(
        self,
        *,
        sends: KernelSends,
        topics: BrokerTopics,
        keys: LiveGroup[GrpcKeys],
        send_keys: LiveGroup[SendKeys],
        clock: Clock,
        guarded: Callable[[], bool],
        invalidation: CacheInvalidation,
        note: Callable[[int, float, int], None] | None = None,
        monotonic: Callable[[], float] = trio.current_time,
    ) -> None:
        """Make it.

        Args:
            sends: Stores them; it is not shared.
            topics: The topics.
            keys: The configuration of calls.
            send_keys: That of sends.
            clock: The store time of messages.
            guarded: Whether Python must see every request now.
            invalidation: Drops the plans when an input of theirs changes.
            note: Called with a request code, how many seconds its requests took, and their number.
            monotonic: Measures that.
        """
        assert native.kernel is not None  # noqa: S101 - the caller has checked it
        self._sends = sends
        self._topics = topics
        self._keys = keys
        self._send_keys = send_keys
        self._clock = clock
        self._turns = count()
        self._note = note
        self._monotonic = monotonic
        self._guarded = guarded
        made = self._native = native.kernel.CallSends(
            sends=sends.native, plan=self._plan, path=SEND, client_id=CLIENT_ID, reserved=PYTHON_PROPERTIES
        )
        made.user_properties = _LIMITS.user_properties
        made.property_bytes = _LIMITS.property_bytes
        made.message_group_bytes = _LIMITS.message_group_bytes
        invalidation.register(self._changed)
        self._changed()

    def _changed(self) -> None:
        self._native.forget()
        self._native.delay_ms = self._keys.current.max_delay_time_mills

    def _plan(self, topic: str) -> GrpcTopicPlan | None:
        """What is to be done with sends to a topic. None: it may be made without anything else changing."""
        config = self._topics.get(topic)
        if config is None:
            return None
        try:
            check_topic(topic)
        except CallInvalid:
            return _PYTHONS
        queues = config.write_queue_nums
        if not config.perm & Permission.WRITE or queues <= 0:
            return _PYTHONS
        types = _ALL
        if self._send_keys.current.enable_topic_message_type_check:
            types = message_type_bits(accepted_types(config))
        return GrpcTopicPlan(queues, next(self._turns) % queues, types)

    def serve(self, events: list[Event], connection: GrpcConnection) -> int:
        """Serve the calls that a read begins with, up to the first that is not plain, and return how many these are.

        Raises:
            OSError: the store failed; nothing is answered.
        """
        began = 0.0 if self._note is None else self._monotonic()
        now, sends = self._clock(), self._sends
        sends.before_round(now, guarded=self._guarded())
        if not sends.native.enabled:
            return 0
        try:
            answers: list[tuple[int, bytes]] = self._native.serve(
                events, connection.born_host, connection.remote_text, now
            )
        finally:
            sends.after_round()
        if answers and self._note is not None:
            self._note(RequestCode.SEND_MESSAGE_V2, self._monotonic() - began, len(answers))
        connection.answer_unary_calls(answers)
        return len(answers)
