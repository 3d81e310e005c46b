"""Serves the requests that calls are translated into, by requests to the brokers of a cluster.

Each request goes to the broker that it names, on a connection that all calls share, and is answered when that one
answers: no call waits for another. Routes and groups are loaded from the cluster; each client has its memberships.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import trio
from msgspec.structs import replace

from rocketwire.remoting.core.session import Response
from rocketwire.server.core.errors import TopicNotFound
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.dispatch.caller import GrpcCaller
from rocketwire.server.dispatch.dispatcher import MAX_SERVE_SECONDS
from rocketwire.server.dispatch.execution import refusal_reply
from rocketwire.server.dispatch.guard import RequestGuard
from rocketwire.server.grpc.calls import BrokerConnectionError
from rocketwire.server.grpc.clients import GrpcClient
from rocketwire.server.remote_calls.answers import CallAnswers
from rocketwire.server.remote_calls.broker_requests import AnswerChecks, BrokerRequests
from rocketwire.server.remote_calls.groups import RemoteGroups
from rocketwire.server.remote_calls.members import RemoteMembers
from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.upstream.broker_connection import BrokerConnection
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.header import Header
from rocketwire.wire.headers import WireHeader, encode_ext
from rocketwire.wire.headers.pop import PopMessageRequestHeader
from rocketwire.wire.headers.send import SendMessageRequestHeader

_STOPS: Final = "the server stops"
_BROKERS_CLOCK: Final = "0"


class RemoteDispatch:
    """Admits requests, and passes them on.

    Args:
        topics: The cluster's topics.
        groups: Its groups.
        members: The clients at the brokers.
        pool: The connections that all calls share; they run the tasks that load.
        metrics: Counts requests.
        guards: Admit or refuse each request while they are active.
        brokers: Sends requests to brokers.
        answers: Answers the calls.
        checks: As for `BrokerRequests`.
    """

    def __init__(
        self,
        *,
        topics: RemoteTopics,
        groups: RemoteGroups,
        members: RemoteMembers,
        pool: ConnectionPool,
        metrics: Metrics,
        guards: Iterable[RequestGuard],
        brokers: BrokerRequests,
        answers: CallAnswers,
        checks: AnswerChecks,
    ) -> None:
        self._topics = topics
        self._groups = groups
        self._members = members
        self._pool = pool
        self._metrics = metrics
        self._guards = tuple(guards)
        self._brokers = brokers
        self._answers = answers
        self._checks = checks

    # --- the dispatch of `server.grpc.transport.connection`

    def serve_requests(self, caller: GrpcCaller, requests: Sequence[Request[Any]]) -> int:
        """Pass requests on; none waits for the answer to another. If it takes long, the rest is passed on later."""
        until = trio.current_time() + MAX_SERVE_SECONDS
        handled = 0
        guards = [guard for guard in self._guards if guard.active]
        written: dict[BrokerConnection, None] = {}
        for request in requests:
            self._metrics.requests[request.header.code] += 1
            self._answers.begin(caller, request.header)
            try:
                connection = self._serve(caller, request, guards)
            except Exception as error:  # noqa: BLE001 - the call gets the error; a bug is logged
                self._answers.reply(
                    caller, request.header, refusal_reply(caller, request.header, error), request.serialize_type
                )
            else:
                if connection is not None:
                    written[connection] = None
            handled += 1
            if trio.current_time() > until:
                caller.request_yield()
                break
        for connection in written:
            connection.flush()
        return handled

    @property
    def plain(self) -> bool:
        """Whether requests need no check."""
        if self._checks.copy is not None or self._pool.signs:
            return False
        return not any(guard.active for guard in self._guards)

    def settle(self) -> None:
        """Do nothing: nothing remains to be done when answers are sent."""

    # --- one request

    def _serve(
        self, caller: GrpcCaller, request: Request[Any], guards: Iterable[RequestGuard]
    ) -> BrokerConnection | None:
        """Pass a request on; return the connection that is to be flushed."""
        header, fields = request.header, request.fields
        code = header.code
        if code == RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG:  # an internal request, which may create the group
            checked = replace(header, code=RequestCode.GET_CONSUMER_LIST_BY_GROUP, ext={"consumerGroup": fields.group})
            for guard in guards:
                guard.admit(request.peer, checked, request.body, request.call_signature)
            if not self._groups.when_loaded(fields.group, partial(self._group_loaded, caller, header)):
                raise BrokerConnectionError(Code.INTERNAL_SERVER_ERROR, _STOPS)
            return None
        ext = _ext(fields)
        for guard in guards:
            guard.admit(request.peer, replace(header, ext=ext), request.body, request.call_signature)
        if code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            self._serve_route(caller, header, fields.topic)
            return None
        if isinstance(request.peer, GrpcClient):
            self._serve_member(caller, request, request.peer, ext)
            return None
        if self._checks.places is not None:
            decided = replace(header, ext=ext)
            place = self._checks.places.to_decide(request.peer, decided, request.call_signature)
            if place is not None:
                held = replace(request, body=memoryview(bytes(request.body)))
                self._start(self._decide, caller, held, decided, place)
                return None
        return self._brokers.pass_on(caller, request, ext)

    async def _decide(self, caller: GrpcCaller, request: Request[Any], header: Header, place: int) -> None:
        """Pass a request on once it is decided by the topic of the message that it names."""
        broker = self._brokers.broker_of(request)
        address = self._topics.address(broker)
        try:
            if address is None:
                raise BrokerConnectionError(Code.INTERNAL_SERVER_ERROR, f"no broker {broker} is known")  # noqa: TRY301 - as others
            assert self._checks.places is not None  # noqa: S101 - it gave the place
            await self._checks.places.decide(request.peer, header, place, address, request.call_signature)
            connection = self._brokers.pass_on(caller, request, header.ext or {})
        except Exception as error:  # noqa: BLE001 - the call gets the error; a bug is logged
            self._answers.reply(
                caller, request.header, refusal_reply(caller, request.header, error), request.serialize_type
            )
            caller.flush()
        else:
            if connection is not None:
                connection.flush()

    def _serve_member(self, caller: GrpcCaller, request: Request[Any], client: GrpcClient, ext: dict[str, str]) -> None:
        """Register a client at all brokers."""
        header = request.header
        done = partial(self._done_apart, caller, header)
        if header.code == RequestCode.HEART_BEAT:
            self._members.take_heartbeat(client, header, bytes(request.body), done)
        else:
            self._members.leave(client, header, ext, done)

    def _done_apart(self, caller: GrpcCaller, header: Header, found: Response | UpstreamConnectionError) -> None:
        self._answers.answer(caller, header, found)
        self._answers.flush_later()

    # --- what is loaded

    def _start(self, task: Callable[..., Any], *args: Any) -> None:  # noqa: ANN401 - what the task takes
        if not self._pool.start(task, *args):
            raise BrokerConnectionError(Code.INTERNAL_SERVER_ERROR, _STOPS)

    def _serve_route(self, caller: GrpcCaller, header: Header, topic: str) -> None:
        if self._topics.is_fresh(topic):
            self._answers.reply(caller, header, Reply())
        elif not self._topics.when_loaded(topic, partial(self._topic_loaded, caller, header, topic)):
            raise BrokerConnectionError(Code.INTERNAL_SERVER_ERROR, _STOPS)

    def _topic_loaded(
        self, caller: GrpcCaller, header: Header, topic: str, *, found: bool | UpstreamConnectionError
    ) -> None:
        if isinstance(found, UpstreamConnectionError):
            reply = refusal_reply(caller, header, BrokerConnectionError(Code.INTERNAL_SERVER_ERROR, str(found)))
        else:
            reply = Reply() if found else refusal_reply(caller, header, TopicNotFound(topic))
        self._answers.reply(caller, header, reply)
        caller.flush()

    def _group_loaded(self, caller: GrpcCaller, header: Header) -> None:
        self._answers.reply(caller, header, Reply())
        caller.flush()


def _ext(fields: object) -> dict[str, str]:
    """The fields of a request as a frame has them."""
    if not isinstance(fields, WireHeader):
        return {}
    ext = encode_ext(fields, short=isinstance(fields, SendMessageRequestHeader))
    if isinstance(fields, PopMessageRequestHeader):
        ext.pop("renewer", None)  # no frame can have it: `renewing` sets it
        ext["bornTime"] = _BROKERS_CLOCK
    return ext
