"""Passing the requests of calls on to the brokers that they name, or to what stands for POP where a broker has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.request import CallSignature, Request
from rocketwire.server.dispatch.caller import GrpcCaller
from rocketwire.server.grpc.calls import BrokerConnectionError
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.remote_calls.answers import CallAnswers
from rocketwire.server.remote_calls.delay_levels import with_level
from rocketwire.server.remote_calls.message_places import MessagePlaces
from rocketwire.server.remote_calls.pop_emulation.service import EMULATED_REVIVE_QUEUE, PopEmulation, is_emulated_handle
from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.upstream.broker_connection import BrokerConnection, OnAnswer
from rocketwire.server.upstream.connecting import RequestNotSent, UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.pop import BatchAckMessageRequestBody
from rocketwire.wire.errors import RecallHandleInvalid, WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.facts.properties import NAME_SEP, TIMER_DELIVER_MS
from rocketwire.wire.frame import Buffer
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.header import Header
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
)
from rocketwire.wire.headers.send import RecallMessageRequestHeader, SendMessageRequestHeader
from rocketwire.wire.recall_handle import decode_recall_handle

SECONDS: Final = 5.0
"""For how long a broker's answer is waited for, beside what a request may wait there."""
_KEPT_EACH: Final = 512
ChargeAnswer: TypeAlias = Callable[[Header, CallSignature | None], Callable[[Buffer], None] | None]
"""Returns what charges the body of the answer to a request that guards have admitted; None: it is not charged."""
CopySend: TypeAlias = Callable[[str, Header, Buffer, OnAnswer], OnAnswer]
"""Gets a request to a broker with what receives its answer; returns what receives it from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChecks:
    """What checks requests and answers on their way.

    Attributes:
        places: Decides about requests that name a message by its physical offset; None: they are not checked.
        charge: Charges answers to quotas; None: there are no quotas.
        copy: Copies sends to a second cluster; None: there is none.
    """

    places: MessagePlaces | None = None
    charge: ChargeAnswer | None = None
    copy: CopySend | None = None


class BrokerRequests:
    """Sends the requests of calls to brokers.

    Args:
        topics: The cluster's topics and brokers.
        pool: The connections that all calls share.
        clock: The time of messages.
        pulls: Carries out POP for brokers that have none.
        in_flight: Counts the bytes of requests that wait for their answers.
        answers: Answers the calls.
        checks: What checks requests and answers on their way.
    """

    def __init__(
        self,
        *,
        topics: RemoteTopics,
        pool: ConnectionPool,
        clock: Clock,
        pulls: PopEmulation,
        in_flight: InFlight,
        answers: CallAnswers,
        checks: AnswerChecks,
    ) -> None:
        self._topics = topics
        self._pool = pool
        self._clock = clock
        self._pulls = pulls
        self._in_flight = in_flight
        self._answers = answers
        self._checks = checks

    def change(self, broker: str, header: ChangeInvisibleTimeRequestHeader, done: OnAnswer) -> None:
        """Make a message visible at another time."""
        address = self._topics.address(broker)
        if address is None:
            done(RequestNotSent(f"no broker {broker} is known"))
            return
        if is_emulated_handle(header.extra_info):
            self._pulls.change(broker, header, done)
            return
        request = ClientRequest(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)
        connection = self._pool.send(address, request, seconds=SECONDS, done=done)
        if connection is not None:
            connection.flush()

    def pass_on(self, caller: GrpcCaller, request: Request[Any], ext: dict[str, str]) -> BrokerConnection | None:
        """Send a request to the broker that it is for; return the connection that is to be flushed."""
        header, fields = request.header, request.fields
        if (
            isinstance(fields, SendMessageRequestHeader)
            and _is_timed(fields, request.body)
            and not self._topics.timed(fields.topic)
        ):
            delayed = with_level(fields, self._topics.delay_levels, self._clock())
            if delayed is None:
                raise CallInvalid(
                    Code.ILLEGAL_DELIVERY_TIME, "brokers of 4.9 deliver messages after the delays of their levels only"
                )
            ext = encode_ext(delayed, short=True)
        broker = self.broker_of(request)
        address = self._topics.address(broker)
        if address is None:
            raise BrokerConnectionError(Code.INTERNAL_SERVER_ERROR, f"no broker {broker} is known")
        body: Buffer = request.body
        if isinstance(fields, BatchAckMessageRequestBody):
            body = encode_body(fields)
        seconds = SECONDS
        if isinstance(fields, PopMessageRequestHeader):
            seconds += fields.poll_time / 1000
        size = len(body) + _KEPT_EACH
        self._in_flight.add(size)
        done = self._with_checks(request, ext, partial(self._done, caller, header, broker, size))
        try:
            if self._emulate_pop(broker, request, partial(self._done_now, done)):
                return None
            if isinstance(fields, PopMessageRequestHeader):
                done = partial(self._on_pop_answer, broker, fields, done)
            if self._checks.copy is not None:
                done = self._checks.copy(broker, replace(header, ext=ext), body, done)
            return self._pool.send(address, ClientRequest(header.code, ext, body), seconds=seconds, done=done)
        except WireError:
            self._in_flight.add(-size)
            raise

    def _with_checks(self, request: Request[Any], ext: dict[str, str], done: OnAnswer) -> OnAnswer:
        """What takes the answer to a request: it is decided about again, and charged to quotas, before it is given."""
        if not isinstance(request.fields, PopMessageRequestHeader):
            return done
        if self._checks.places is not None:
            done = self._checks.places.checked_again(request, ext, done)
        if self._checks.charge is None:
            return done
        charge = self._checks.charge(replace(request.header, ext=ext), request.call_signature)
        return done if charge is None else partial(_charge, charge, done)

    def _emulate_pop(self, broker: str, request: Request[Any], done: OnAnswer) -> bool:
        """Carry out a request of POP here, if it is for a broker without that; or return False."""
        pulls, fields = self._pulls, request.fields
        if isinstance(fields, PopMessageRequestHeader) and pulls.lacks_pop(broker):
            pulls.pop(broker, fields, done)
        elif isinstance(fields, AckMessageRequestHeader) and is_emulated_handle(fields.extra_info):
            pulls.acknowledge(broker, fields, done)
        elif isinstance(fields, ChangeInvisibleTimeRequestHeader) and is_emulated_handle(fields.extra_info):
            pulls.change(broker, fields, done)
        elif (acks := _batch(request.header.code, fields, request.body)) is not None:
            pulls.acknowledge_batch(broker, acks, done)
        else:
            return False
        return True

    def _on_pop_answer(
        self, broker: str, fields: PopMessageRequestHeader, done: OnAnswer, found: Response | UpstreamConnectionError
    ) -> None:
        """Receive a broker's answer to a pop; if the broker has no POP, the request is carried out by pulls."""
        if isinstance(found, Response) and found.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self._pulls.note_lacks_pop(broker)
            self._pulls.pop(broker, fields, partial(self._done_now, done))
        else:
            done(found)

    def _done_now(self, done: OnAnswer, found: Response | UpstreamConnectionError) -> None:
        """Pass on an answer that comes with no read."""
        done(found)
        self._answers.flush_later()

    def broker_of(self, request: Request[Any]) -> str:
        """The broker that a request is for; a handle that names none is any broker's to refuse."""
        if not isinstance(request.fields, RecallMessageRequestHeader):
            return request.broker or ""
        try:
            return decode_recall_handle(request.fields.recall_handle).broker
        except RecallHandleInvalid:
            return next((name for name, _ in self._topics.masters()), "")

    def _done(
        self, caller: GrpcCaller, header: Header, broker: str, size: int, found: Response | UpstreamConnectionError
    ) -> None:
        self._in_flight.add(-size)
        if isinstance(found, UpstreamConnectionError):
            self._topics.failed(broker)
        else:
            self._topics.answered(broker)
        self._answers.answer(caller, header, found)
        if isinstance(found, RequestNotSent):  # that comes with no read
            self._answers.flush_later()


def _charge(charge: Callable[[Buffer], None], done: OnAnswer, found: Response | UpstreamConnectionError) -> None:
    """Charge an answer, unless it is a refusal."""
    if isinstance(found, Response) and found.code == ResponseCode.SUCCESS:
        charge(found.body)
    done(found)


def _is_timed(fields: SendMessageRequestHeader, body: Buffer) -> bool:
    """Whether a message, or one of a batch, has a delivery time."""
    if fields.batch:
        return TIMER_DELIVER_MS.encode() + NAME_SEP.encode() in bytes(body)
    return TIMER_DELIVER_MS + NAME_SEP in (fields.properties or "")


def _batch(code: int, fields: object, body: Buffer) -> BatchAckMessageRequestBody | None:
    """The acknowledgements of a request, if they are of messages that were pulled here."""
    if code != RequestCode.BATCH_ACK_MESSAGE:
        return None
    acks = fields if isinstance(fields, BatchAckMessageRequestBody) else decode_body(BatchAckMessageRequestBody, body)
    return acks if acks.acks and acks.acks[0].revive_queue_id == EMULATED_REVIVE_QUEUE else None
