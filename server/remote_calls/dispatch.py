"""Serves the requests that calls are translated into, by asking brokers of a cluster.

Each request goes to the broker that it names, on a connection that all calls share, and is answered when that one
answers: no call waits for another. Routes and groups are loaded from the cluster, memberships are each client's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import trio
from msgspec.structs import replace

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import TopicNotFound
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import CallSignature, Reply, Request
from rocketwire.server.dispatch.caller import GrpcCaller
from rocketwire.server.dispatch.dispatcher import MAX_SERVE_SECONDS, ext_of_fast
from rocketwire.server.dispatch.guard import RequestGuard
from rocketwire.server.dispatch.refusal import refusal_reply
from rocketwire.server.grpc.calls import BrokerNotReached
from rocketwire.server.grpc.clients import GrpcClient
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.remote_calls.delay_levels import with_level
from rocketwire.server.remote_calls.groups import RemoteGroups
from rocketwire.server.remote_calls.members import RemoteMembers
from rocketwire.server.remote_calls.message_places import MessagePlaces
from rocketwire.server.remote_calls.pop_emulation.service import EMULATED_REVIVE_QUEUE, PopEmulation, is_emulated_handle
from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.upstream.broker_connection import BrokerAnswer, BrokerConnection, OnAnswer
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.errors import RequestNotSent, UpstreamUnreachable
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.pop import BatchAckMessageRequestBody
from rocketwire.wire.errors import RecallHandleInvalid, WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.facts.properties import NAME_SEP, TIMER_DELIVER_MS
from rocketwire.wire.fast_headers import SendFields
from rocketwire.wire.frame import Buffer
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.grpc.errors import CallInvalid
from rocketwire.wire.header import Header
from rocketwire.wire.headers import WireHeader, decode_ext, encode_ext
from rocketwire.wire.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from rocketwire.wire.headers.send import (
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
    SendMessageResponseHeader,
)
from rocketwire.wire.recall_handle import decode_recall_handle

SECONDS: Final = 5.0
"""For how long a broker's answer is waited for, beside what a request may wait there."""
_STOPS: Final = "the server stops"
_KEPT_EACH: Final = 512
ChargeAnswer: TypeAlias = Callable[[Header, CallSignature | None], Callable[[Buffer], None] | None]
CopySend: TypeAlias = Callable[[str, Header, Buffer, OnAnswer], OnAnswer]
_BROKERS_CLOCK: Final = "0"
_RESPONSES: Final[dict[int, type[WireHeader]]] = {
    RequestCode.SEND_MESSAGE_V2: SendMessageResponseHeader,
    RequestCode.SEND_BATCH_MESSAGE: SendMessageResponseHeader,
    RequestCode.POP_MESSAGE: PopMessageResponseHeader,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: ChangeInvisibleTimeResponseHeader,
    RequestCode.RECALL_MESSAGE: RecallMessageResponseHeader,
}


class RemoteDispatch:
    """Asks the brokers.

    Args:
        topics: The cluster's topics and brokers.
        groups: Its groups.
        members: The clients at the brokers.
        lines: The connections that all calls share.
        clock: The time of messages.
        pulls: Carries out POP for brokers that have none.
        metrics: Counts requests.
        in_flight: Counts the bytes of requests that wait for their answers.
        guards: Admit or refuse each request while they are active.
        places: Decides about requests that name a message by its physical offset; None: nobody does.
        charging: Says what charges the body of the answer to a request that guards have admitted; None: nothing does.
        copying: Takes a request to a broker with what its answer is to be given to, and says what that is then.
        answered: Called with the code of each request that is answered, and when it came; None: nobody measures.
    """

    def __init__(
        self,
        *,
        topics: RemoteTopics,
        groups: RemoteGroups,
        members: RemoteMembers,
        lines: ConnectionPool,
        clock: Clock,
        pulls: PopEmulation,
        metrics: Metrics,
        in_flight: InFlight,
        guards: Iterable[RequestGuard] = (),
        places: MessagePlaces | None = None,
        charging: ChargeAnswer | None = None,
        copying: CopySend | None = None,
        answered: Callable[[int, float], None] | None = None,
    ) -> None:
        self._topics = topics
        self._groups = groups
        self._members = members
        self._lines = lines
        self._clock = clock
        self._pulls = pulls
        self._metrics = metrics
        self._in_flight = in_flight
        self._guards = tuple(guards)
        self._places = places
        self._charging = charging
        self._copying = copying
        self._note = answered
        self._began: dict[tuple[GrpcCaller, int], float] = {}
        self._answered: dict[GrpcCaller, None] = {}
        self._flushes = False
        lines.settled.subscribe(self._flush)

    # --- the dispatch of `server.grpc.transport.connection`

    def serve_requests(self, caller: GrpcCaller, requests: Sequence[Request[Any]]) -> int:
        """Pass requests on; none waits for the answer to another. Those that are left when it takes long come later."""
        until = trio.current_time() + MAX_SERVE_SECONDS
        handled = 0
        guards = [guard for guard in self._guards if guard.active]
        written: dict[BrokerConnection, None] = {}
        for request in requests:
            self._metrics.requests[request.header.code] += 1
            if self._note is not None:
                self._began[caller, request.header.opaque] = trio.current_time()
            try:
                line = self._serve(caller, request, guards)
            except Exception as error:  # noqa: BLE001 - the call is told; a bug is logged
                self._answer(
                    caller, request.header, refusal_reply(caller, request.header, error), request.serialize_type
                )
            else:
                if line is not None:
                    written[line] = None
            handled += 1
            if trio.current_time() > until:
                caller.request_yield()
                break
        for line in written:
            line.flush()
        return handled

    @property
    def plain(self) -> bool:
        """Whether nothing has to look at requests."""
        if self._copying is not None or self._lines.signs:
            return False
        return not any(guard.active for guard in self._guards)

    def note_answered(self, caller: GrpcCaller) -> None:
        """Have what is written to a connection sent with the answers of the read that is being taken."""
        self._answered[caller] = None

    def settle(self) -> None:
        """Nothing is left to be done when answers are sent."""

    def change(self, broker: str, header: ChangeInvisibleTimeRequestHeader, done: OnAnswer) -> None:
        """Make a message visible at another time."""
        address = self._topics.address(broker)
        if address is None:
            done(RequestNotSent(f"no broker {broker} is known"))
            return
        if is_emulated_handle(header.extra_info):
            self._pulls.change(broker, header, done)
            return
        code = RequestCode.CHANGE_MESSAGE_INVISIBLETIME
        line = self._lines.send(address, code, encode_ext(header), seconds=SECONDS, done=done)
        if line is not None:
            line.flush()

    def _flush(self) -> None:
        """Send the calls' answers that came with one read."""
        if self._answered:
            answered, self._answered = self._answered, {}
            for caller in answered:
                caller.flush()

    # --- one request

    def _serve(
        self, caller: GrpcCaller, request: Request[Any], guards: Iterable[RequestGuard]
    ) -> BrokerConnection | None:
        """Pass a request on; return the connection that is to be flushed."""
        header, fields = request.header, request.fields
        code = header.code
        if code == RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG:  # the server's own question, which may create the group
            asked = replace(header, code=RequestCode.GET_CONSUMER_LIST_BY_GROUP, ext={"consumerGroup": fields.group})
            for guard in guards:
                guard.admit(request.peer, asked, request.body, request.call_signature)
            if not self._groups.when_loaded(fields.group, partial(self._group_loaded, caller, header)):
                raise BrokerNotReached(Code.INTERNAL_SERVER_ERROR, _STOPS)
            return None
        ext = _ext(fields)
        for guard in guards:
            guard.admit(request.peer, replace(header, ext=ext), request.body, request.call_signature)
        if code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            self._start(self._load_topic, caller, header, fields.topic)
            return None
        if isinstance(request.peer, GrpcClient):
            self._serve_member(caller, request, request.peer, ext)
            return None
        if self._places is not None:
            told = replace(header, ext=dict(ext))
            place = self._places.to_decide(request.peer, told, request.call_signature)
            if place is not None:
                held = replace(request, body=memoryview(bytes(request.body)))
                self._start(self._decide, caller, held, told, place)
                return None
        return self._pass_on(caller, request, ext)

    async def _decide(self, caller: GrpcCaller, request: Request[Any], told: Header, place: int) -> None:
        """Pass a request on once it is decided by the topic of the message that it names."""
        broker = self._broker(request)
        address = self._topics.address(broker)
        try:
            if address is None:
                raise BrokerNotReached(Code.INTERNAL_SERVER_ERROR, f"no broker {broker} is known")  # noqa: TRY301 - as others
            assert self._places is not None  # noqa: S101 - it gave the place
            await self._places.decide(request.peer, told, place, address, request.call_signature)
            line = self._pass_on(caller, request, told.ext or {})
        except Exception as error:  # noqa: BLE001 - the call is told; a bug is logged
            self._answer(caller, request.header, refusal_reply(caller, request.header, error), request.serialize_type)
            caller.flush()
        else:
            if line is not None:
                line.flush()

    def _serve_member(
        self, caller: GrpcCaller, request: Request[Any], client: GrpcClient, ext: Mapping[str, str]
    ) -> None:
        """Tell all brokers of a client."""
        header = request.header
        done = partial(self._done_apart, caller, header)
        if header.code == RequestCode.HEART_BEAT:
            self._members.take_heartbeat(client, header, bytes(request.body), done)
        else:
            self._members.leave(client, header, ext, done)

    def _pass_on(self, caller: GrpcCaller, request: Request[Any], ext: Mapping[str, str]) -> BrokerConnection | None:
        """Ask the broker that a request is for."""
        header, fields = request.header, request.fields
        if isinstance(fields, SendFields) and _is_timed(fields, request.body) and not self._topics.timed(fields.topic):
            delayed = with_level(fields, self._topics.delay_levels, self._clock())
            if delayed is None:
                raise CallInvalid(
                    Code.ILLEGAL_DELIVERY_TIME, "brokers of 4.9 deliver messages after the delays of their levels only"
                )
            ext = ext_of_fast(delayed)
        broker = self._broker(request)
        address = self._topics.address(broker)
        if address is None:
            raise BrokerNotReached(Code.INTERNAL_SERVER_ERROR, f"no broker {broker} is known")
        body: Buffer = request.body
        if isinstance(fields, BatchAckMessageRequestBody):
            body = encode_body(fields)
        seconds = SECONDS
        if isinstance(fields, PopMessageRequestHeader):
            seconds += fields.poll_time / 1000
        size = len(body) + _KEPT_EACH
        self._in_flight.add(size)
        done = self._guarded(request, ext, partial(self._done, caller, header, broker, size))
        try:
            if self._pulled(broker, request, partial(self._done_now, done)):
                return None
            if isinstance(fields, PopMessageRequestHeader):
                done = partial(self._popped, broker, fields, done)
            if self._copying is not None:
                done = self._copying(broker, replace(header, ext=dict(ext)), body, done)
            return self._lines.send(address, header.code, ext, body, seconds=seconds, done=done)
        except WireError:
            self._in_flight.add(-size)
            raise

    def _guarded(self, request: Request[Any], ext: Mapping[str, str], done: OnAnswer) -> OnAnswer:
        """What takes the answer to a request: it is decided about again, and charged to quotas, before it is given."""
        if not isinstance(request.fields, PopMessageRequestHeader):
            return done
        if self._places is not None:
            done = self._places.checked_again(request, ext, done)
        if self._charging is None:
            return done
        charge = self._charging(replace(request.header, ext=dict(ext)), request.call_signature)
        return done if charge is None else partial(_charge, charge, done)

    def _pulled(self, broker: str, request: Request[Any], done: OnAnswer) -> bool:
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

    def _popped(
        self, broker: str, fields: PopMessageRequestHeader, done: OnAnswer, found: BrokerAnswer | UpstreamUnreachable
    ) -> None:
        """Take a broker's answer to a pop: one that has no POP is asked by pulls."""
        if isinstance(found, BrokerAnswer) and found.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self._pulls.note_lacks_pop(broker)
            self._pulls.pop(broker, fields, partial(self._done_now, done))
        else:
            done(found)

    def _done_now(self, done: OnAnswer, found: BrokerAnswer | UpstreamUnreachable) -> None:
        """Pass on an answer that comes with no read."""
        done(found)
        self._flush_later()

    def _broker(self, request: Request[Any]) -> str:
        """The broker that a request is for; a handle that names none is any broker's to refuse."""
        if not isinstance(request.fields, RecallMessageRequestHeader):
            return request.broker or ""
        try:
            return decode_recall_handle(request.fields.recall_handle).broker
        except RecallHandleInvalid:
            return next((name for name, _ in self._topics.masters()), "")

    def _done(
        self, caller: GrpcCaller, header: Header, broker: str, size: int, found: BrokerAnswer | UpstreamUnreachable
    ) -> None:
        self._in_flight.add(-size)
        if isinstance(found, UpstreamUnreachable):
            self._topics.failed(broker)
        else:
            self._topics.answered(broker)
        self._answer(caller, header, reply_of(header.code, found))
        self._answered[caller] = None
        if isinstance(found, RequestNotSent):  # that comes with no read
            self._flush_later()

    def _done_apart(self, caller: GrpcCaller, header: Header, found: BrokerAnswer | UpstreamUnreachable) -> None:
        self._answer(caller, header, reply_of(header.code, found))
        self._answered[caller] = None
        self._flush_later()

    def _answer(self, caller: GrpcCaller, header: Header, reply: Reply, serialize_type: int = 0) -> None:
        caller.answer(header, serialize_type, reply)
        if self._note is not None:
            began = self._began.pop((caller, header.opaque), None)
            if began is not None:
                self._note(header.code, began)

    def _flush_later(self) -> None:
        if not self._flushes:
            self._flushes = self._lines.start(self._flushed)

    async def _flushed(self) -> None:
        self._flushes = False
        self._flush()

    # --- what is loaded

    def _start(self, task: Callable[..., Any], *args: Any) -> None:  # noqa: ANN401 - what the task takes
        if not self._lines.start(task, *args):
            raise BrokerNotReached(Code.INTERNAL_SERVER_ERROR, _STOPS)

    async def _load_topic(self, caller: GrpcCaller, header: Header, topic: str) -> None:
        try:
            known = await self._topics.load(topic)
            reply = Reply() if known else refusal_reply(caller, header, TopicNotFound(topic))
        except UpstreamUnreachable as error:
            reply = refusal_reply(caller, header, BrokerNotReached(Code.INTERNAL_SERVER_ERROR, str(error)))
        self._answer(caller, header, reply)
        caller.flush()

    def _group_loaded(self, caller: GrpcCaller, header: Header) -> None:
        self._answer(caller, header, Reply())
        caller.flush()


def _charge(charge: Callable[[Buffer], None], done: OnAnswer, found: BrokerAnswer | UpstreamUnreachable) -> None:
    """Charge an answer, unless it is a refusal."""
    if isinstance(found, BrokerAnswer) and found.code == ResponseCode.SUCCESS:
        charge(found.body)
    done(found)


def _is_timed(fields: SendFields, body: Buffer) -> bool:
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


def reply_of(code: int, found: BrokerAnswer | UpstreamUnreachable) -> Reply:
    """A broker's answer as the reply to a request."""
    if isinstance(found, RequestNotSent):
        text = str(found)
        return Reply(
            code=ResponseCode.SYSTEM_ERROR, remark=text, error=BrokerNotReached(Code.INTERNAL_SERVER_ERROR, text)
        )
    if isinstance(found, UpstreamUnreachable):
        text = str(found)
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark=text, error=CallInvalid(Code.PROXY_TIMEOUT, text))
    cls, fields = _RESPONSES.get(code), None
    if cls is not None and found.ext:
        try:
            fields = decode_ext(cls, dict(found.ext))
        except WireError:  # of a refusal
            fields = None
    return Reply(code=found.code, remark=found.remark, fields=fields, body=(found.body,) if found.body else ())


def _ext(fields: object) -> Mapping[str, str]:
    """The fields of a request as a frame has them."""
    if isinstance(fields, SendFields):
        return ext_of_fast(fields)
    if not isinstance(fields, WireHeader):
        return {}
    ext = encode_ext(fields)
    if isinstance(fields, PopMessageRequestHeader):
        ext.pop("renewer", None)  # no frame can say so: `renewing` does it
        ext["bornTime"] = _BROKERS_CLOCK
    return ext
