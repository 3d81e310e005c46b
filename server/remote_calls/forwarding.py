"""Plain sends of 5.x clients to the brokers of a cluster, by the kernel: a group a read, in both directions.

The kernel makes the frames of the SendMessage calls that a read of a client begins with, and the answers of these calls
from the frames of a read of a broker. What `sending.send` decides about a topic is kept for a quarter of a second, or
until a broker does not answer. What is not plain, and what brokers refuse, goes the general way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import trio

from rocketwire import native
from rocketwire.remoting.core.session import LANGUAGE, Response
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.dispatch.caller import GrpcCaller
from rocketwire.server.grpc.kernel import PYTHON_PROPERTIES, SEND, message_type_bits
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.grpc.metadata import CLIENT_ID
from rocketwire.server.grpc.routing import accepted_types
from rocketwire.server.grpc.sending import send_response
from rocketwire.server.grpc.tables.directories import TopicShare
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.remote_calls.answers import reply_of
from rocketwire.server.remote_calls.broker_requests import SECONDS
from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.upstream.broker_connection import BrokerConnection
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire import names
from rocketwire.wire.facts.codes import VERSION_4_9_7, Permission, RequestCode, SerializeType
from rocketwire.wire.grpc.checks import CallLimits, check_topic
from rocketwire.wire.grpc.codes import CallInvalid
from rocketwire.wire.grpc.message_types import NORMAL
from rocketwire.wire.grpc.sending import Send
from rocketwire.wire.header import Header, encode_header_around_opaque
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.http2.events import Event

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import GrpcConnection

_LIMITS: Final = CallLimits()
_DELAY: Final = "DELAY"
_TYPES: Final = (NORMAL, "FIFO", _DELAY)
"""Those that the kernel knows."""
_PLAN_SECONDS: Final = 0.25
_UNCONNECTED_SECONDS: Final = 0.01
"""How long a plan holds while a broker has no connection: the first send, which is Python's, makes it."""
_VARIED: Final = "efgi"
"""The fields of a send's header that differ from send to send: queue, sysFlag, birth and properties."""
_MARK: Final = "@"  # no topic has one


class ForwardPlan(NamedTuple):
    """What the kernel does with sends to a topic. kernel/forward/call_forwards.c reads it in this order.

    Attributes:
        types: Of messages that it takes, as bits; 0: its sends are Python's.
        texts: Of the header of a request, around what differs.
        shares: Of each broker: its kernel.ConnectionSends, or None, how many queues, and whether to avoid it.
    """

    types: int
    texts: tuple[bytes, ...]
    shares: tuple[tuple[Any, int, bool], ...]


_PYTHONS: Final = ForwardPlan(0, (), ())


_Waiting: TypeAlias = "tuple[GrpcConnection, int, str, int, float]"
"""A send: where its call came, its stream, the message's id, how many bytes are counted, and its deadline."""
OnSendTime: TypeAlias = Callable[[float, int], None]
"""Called with how long sends took, in seconds, and how many of them."""


class ForwardedCalls:
    """The plain sends of 5.x clients.

    Attributes:
        overtakes: See `Plain`: messages are sent in the order of their calls.
        most: All of a read.
    """

    overtakes: Final = False
    most: Final = sys.maxsize

    def __init__(
        self,
        *,
        topics: RemoteTopics,
        pool: ConnectionPool,
        is_plain: Callable[[], bool],
        note_answered: Callable[[GrpcCaller], None],
        metrics: Metrics,
        in_flight: InFlight,
        clock: Clock,
        keys: LiveGroup[GrpcKeys],
        send_keys: LiveGroup[SendKeys],
        turns: Iterator[int],
        took: OnSendTime | None = None,
    ) -> None:
        """Make it.

        Args:
            topics: The cluster's topics and brokers.
            pool: The connections to the brokers.
            is_plain: Returns whether requests need no check.
            note_answered: Has what is written to a connection sent with the answers of the read that is being taken.
            metrics: Counts requests.
            in_flight: Counts the bytes of requests that wait for their answers.
            clock: The born time of messages without one, in ms since 1970.
            keys: The configuration of calls.
            send_keys: That of sends.
            turns: The same object as in `SendingServices`.
            took: Measures answered sends; None: they are not measured.
        """
        assert native.kernel is not None  # noqa: S101 - the caller has checked it
        self.topics = topics
        self.in_flight = in_flight
        self.note_answered = note_answered
        self.took = took
        self._pool = pool
        self._is_plain = is_plain
        self._metrics = metrics
        self._clock = clock
        self._keys = keys
        self._send_keys = send_keys
        self._until = 0.0
        made = self._native = native.kernel.CallForwards(
            plan=self._plan, turns=turns, path=SEND, client_id=CLIENT_ID, reserved=PYTHON_PROPERTIES
        )
        made.user_properties = _LIMITS.user_properties
        made.property_bytes = _LIMITS.property_bytes
        made.message_group_bytes = _LIMITS.message_group_bytes

    def serve(self, events: list[Event], connection: GrpcConnection) -> int:
        """Forward the calls that a read begins with, up to the first that is not plain; return how many these are."""
        if not self._is_plain():
            return 0
        now = trio.current_time()
        if now >= self._until:
            self.forget()
            self._until = now + _PLAN_SECONDS
        deadline = now + SECONDS
        served, size, written = self._native.serve(events, connection, connection.remote_text, self._clock(), deadline)
        if served:
            self.in_flight.add(size)
            self._metrics.requests[RequestCode.SEND_MESSAGE_V2] += served
            for sends, frames in cast("list[tuple[ConnectionSends, bytes]]", written):
                sends.connection.forward(frames, deadline)
        return cast("int", served)

    def forget(self) -> None:
        """Decide again about all topics."""
        self._native.forget()
        self._native.delay_ms = self._keys.current.max_delay_time_mills
        self._native.body_bytes = self._send_keys.current.max_message_size

    def _plan(self, topic: str) -> ForwardPlan | None:
        """What is to be done with sends to a topic; None: it is not known."""
        shares = self.topics.shares(topic)
        if not shares:
            return None
        writable = [each for each in shares if each.config.perm & Permission.WRITE and each.config.write_queue_nums > 0]
        try:
            check_topic(topic)
        except CallInvalid:
            return _PYTHONS
        if not writable or topic.startswith(names.RETRY_PREFIX):
            return _PYTHONS
        accepted = set(accepted_types(writable[0].config))
        if not self._send_keys.current.enable_topic_message_type_check:
            accepted = {*_TYPES}
        if not self.topics.timed(topic):
            accepted.discard(_DELAY)
        places = self._places(writable)
        if any(sends is None and not avoided for sends, _, avoided in places):
            self._until = min(self._until, trio.current_time() + _UNCONNECTED_SECONDS)
            return _PYTHONS
        return ForwardPlan(message_type_bits(accepted), send_texts(topic), places)

    def _places(self, writable: Sequence[TopicShare]) -> tuple[tuple[Any, int, bool], ...]:
        avoided = {each.broker for each in writable if self.topics.is_avoided(each.broker)}
        if len(avoided) == len(writable):
            avoided = set()
        return tuple(
            (self._line_sends(each.broker), each.config.write_queue_nums, each.broker in avoided) for each in writable
        )

    def _line_sends(self, broker: str) -> Any | None:  # noqa: ANN401 - a kernel.ConnectionSends
        address = self.topics.address(broker)
        connection = None if address is None else self._pool.open_connection(address)
        if connection is None:
            return None
        if not isinstance(connection.forwarded, ConnectionSends):
            connection.forwarded = ConnectionSends(self, connection)
        connection.forwarded.broker = broker
        return connection.forwarded.native


class ConnectionSends:
    """The sends that wait on one connection to a broker.

    Attributes:
        broker: Its name.
        connection: The connection.
        native: What the kernel has of it.
    """

    def __init__(self, calls: ForwardedCalls, connection: BrokerConnection) -> None:
        assert native.kernel is not None  # noqa: S101 - as in `ForwardedCalls`
        self.broker = ""
        self.connection = connection
        self.native = native.kernel.ConnectionSends(owner=self)
        self._calls = calls

    @property
    def deadline(self) -> float | None:
        """The first deadline of a send; None: none waits."""
        return cast("float | None", self.native.deadline)

    def take(self, data: memoryview) -> list[tuple[int, int]]:
        """Take answers out of a read; return the ranges that remain."""
        answers, remaining, size, taken = self.native.take(data)
        if taken:
            calls = self._calls
            calls.in_flight.add(-size)
            calls.topics.answered(self.broker)
            if calls.took is not None:
                now = trio.current_time()
                for deadline, times in taken:
                    calls.took(now - (deadline - SECONDS), times)
            for client, payloads in answers.items():
                client.answer_unary_calls(payloads)
                calls.note_answered(client)
        return cast("list[tuple[int, int]]", remaining)

    def answered(self, opaque: int, found: Response) -> None:
        """Handle an answer that the kernel did not take."""
        waiting = self.native.pop(opaque)
        if waiting is not None:
            self._calls.topics.answered(self.broker)
            self._finish(waiting, found)

    def expire(self, now: float, found: UpstreamConnectionError) -> None:
        """Cancel those whose deadline is over."""
        self._fail(self.native.expire(now), found)

    def connection_lost(self, found: UpstreamConnectionError) -> None:
        """Cancel all: the connection is closed."""
        self._fail(self.native.close(), found)
        self._calls.forget()

    def _fail(self, given_up: list[_Waiting], found: UpstreamConnectionError) -> None:
        if given_up:
            self._calls.topics.failed(self.broker)
            self._calls.forget()
        for waiting in given_up:
            self._finish(waiting, found)

    def _finish(self, waiting: _Waiting, found: Response | UpstreamConnectionError) -> None:
        client, stream, message_id, size, deadline = waiting
        self._calls.in_flight.add(-size)
        if self._calls.took is not None and not isinstance(found, UpstreamConnectionError):
            self._calls.took(trio.current_time() - (deadline - SECONDS), 1)
        response = send_response((message_id,), reply_of(RequestCode.SEND_MESSAGE_V2, found))
        client.answer_unary_calls([(stream, response.SerializeToString())])
        self._calls.note_answered(client)


@lru_cache(maxsize=1024)
def send_texts(topic: str) -> tuple[bytes, ...]:
    """The texts of the header of a send to a topic, around what differs from send to send."""
    send = Send(topic, NORMAL, "", (), 0, "", b"", 0, 0, batch=False)
    ext = {**encode_ext(send.fields(0), short=True), **dict.fromkeys(_VARIED, _MARK)}
    header = Header(code=RequestCode.SEND_MESSAGE_V2, opaque=0, ext=ext, language=LANGUAGE, version=VERSION_4_9_7)
    before, after = encode_header_around_opaque(header, SerializeType.JSON)
    return (*before.split(_MARK.encode()), after)


def plain_calls(make: Callable[[], ForwardedCalls]) -> Mapping[str, ForwardedCalls]:
    """What serves plain calls by the kernel, by their paths; nothing is made if there is none."""
    return {} if native.kernel is None else {SEND: make()}
