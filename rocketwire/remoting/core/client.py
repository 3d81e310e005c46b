"""What producers and consumers have in common: name servers, routes, brokers, heartbeats."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from rocketwire.remoting.core.group_requests import send_heartbeat
from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.remoting.core.steps import ClientReply, Operation, RemoteServer, Runtime, Sleep, request_response
from rocketwire.remoting.core.subscription import SQL92
from rocketwire.remoting.credentials import Credentials
from rocketwire.remoting.errors import NoBroker, NoSuchTopic, NotReached, Refused, RemotingError, refusal
from rocketwire.remoting.messages import Queue
from rocketwire.remoting.requests import name_server_addresses, readable_queues
from rocketwire.wire.addresses import AddressInvalid, parse_address
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import CheckClientRequestBody, HeartbeatData, SubscriptionData
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.facts.codes import RequestCode, ResponseCode, SerializeType
from rocketwire.wire.headers.client import UnregisterClientRequestHeader
from rocketwire.wire.headers.route import GetRouteInfoRequestHeader

log = logging.getLogger(__name__)

ROUTE_SECONDS: Final = 30.0
"""How long a route is used before it is requested again."""
HEARTBEAT_SECONDS: Final = 30.0
NOT_SUPPORTED: Final = ClientReply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "this client does not support the request")
"""The answer to a request of a broker that clients of this kind do not carry out."""
CLOSE_SECONDS: Final = 3.0
"""How long a client that closes waits for each answer."""
_FINE: Final = (ResponseCode.SUCCESS,)
_MASTER: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """The settings of a client.

    Attributes:
        group: The group of producers or consumers that it belongs to.
        name_servers: `HOST:PORT`, several with `;` between.
        credentials: The account that signs its requests.
        tls: Encrypts its connections.
        timeout: Seconds that it waits for an answer.
        serialize: How it writes headers.
    """

    group: str
    name_servers: str
    credentials: Credentials | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    timeout: float = 10.0
    serialize: SerializeType = SerializeType.JSON


class ClientCore:
    """One client of a cluster.

    Attributes:
        settings: Its settings.
        around: What its front end gives it.
    """

    def __init__(self, settings: ClientSettings, around: Runtime) -> None:
        self.settings = settings
        self.runtime = around
        self._name_servers = [
            RemoteServer("name server", each) for each in name_server_addresses(settings.name_servers)
        ]
        self._routes: dict[str, tuple[TopicRouteData, float]] = {}
        self._brokers: dict[str, dict[int, str]] = {}
        self._nonce = around.entropy(6).hex()

    @property
    def client_id(self) -> str:
        """The name of this client at brokers; no other client has it."""
        return f"{self.runtime.own_host()}@{self.runtime.process_id}#{self._nonce}"

    def ask(
        self, peer: RemoteServer, request: ClientRequest, fine: tuple[int, ...] = _FINE, seconds: float | None = None
    ) -> Operation[Response]:
        """The answer to a request.

        Raises:
            NotReached: the peer does not answer in time.
            Refused: it answers with a code that is not in `fine`.
        """
        answer = yield from request_response(peer, request, self.settings.timeout if seconds is None else seconds)
        if answer.code not in fine:
            raise refusal(str(peer), answer.code, answer.remark)
        return answer

    def route(self, topic: str) -> Operation[TopicRouteData]:
        """Where a topic's queues are; half a minute old at most, or older while no name server answers.

        Raises:
            NoSuchTopic: there is no such topic.
            NotReached: no name server answers, and the route was not known.
            Refused: the name server refuses.
        """
        known = self._routes.get(topic)
        if known is not None and self.runtime.monotonic() - known[1] < ROUTE_SECONDS:
            return known[0]
        fields = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        fine = (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST)
        try:
            answer = yield from self._query_name_servers(
                ClientRequest(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields), fine
            )
        except NotReached:
            if known is None:
                raise
            return known[0]
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            self._routes.pop(topic, None)
            raise NoSuchTopic(topic, str(self._name_servers[0].address))
        found = decode_body(TopicRouteData, answer.body)
        self._routes[topic] = (found, self.runtime.monotonic())
        for broker in found.broker_datas:
            self._brokers[broker.broker_name] = dict(broker.broker_addrs)
        return found

    def expire_route(self, topic: str) -> None:
        """Query a topic's route again at its next use: something failed."""
        if topic in self._routes:
            self._routes[topic] = (self._routes[topic][0], float("-inf"))

    def _query_name_servers(self, request: ClientRequest, fine: tuple[int, ...]) -> Operation[Response]:
        """The answer of the first name server that answers; the next request goes to it first."""
        failure: NotReached | None = None
        for _ in tuple(self._name_servers):
            try:
                return (yield from self.ask(self._name_servers[0], request, fine))
            except Refused as refused:
                if refused.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                    raise
                raise NotReached(str(self._name_servers[0]), "is no name server; a broker's address?") from refused
            except NotReached as error:
                failure = failure or error
                self._name_servers.append(self._name_servers.pop(0))
        assert failure is not None  # noqa: S101 - there is at least one name server
        raise failure

    def readable_queues(self, topic: str) -> Operation[list[Queue]]:
        """The queues of a topic that can be read, sorted.

        Raises:
            NoSuchTopic, NotReached, Refused: as with `route`.
        """
        route = yield from self.route(topic)
        return [Queue(topic, broker, number) for broker, number in readable_queues(route)]

    def broker(self, name: str) -> RemoteServer:
        """The master of a broker's name, by the routes that are known.

        Raises:
            NoBroker: no route names it.
            NotReached: its address is none.
        """
        found = self._brokers.get(name)
        if not found:
            raise NoBroker(str(self._name_servers[0]), name)
        text = found[min(found, default=_MASTER)]
        try:
            return RemoteServer("broker", parse_address(text))
        except AddressInvalid:
            raise NotReached(f"broker {text}", "the name server gave an address that is none") from None

    def broker_of(self, queue: Queue) -> Operation[RemoteServer]:
        """The broker of a queue.

        Raises:
            NoSuchTopic, NotReached, Refused, NoBroker: it is not known.
        """
        yield from self.route(queue.topic)
        return self.broker(queue.broker)

    def masters(self) -> list[RemoteServer]:
        """The masters of all brokers that routes named."""
        found: list[RemoteServer] = []
        for name, known in self._brokers.items():
            try:
                if _MASTER in known:
                    found.append(self.broker(name))
            except RemotingError as error:
                log.warning("%s", error)
        return found

    def check_filter(self, by: SubscriptionData) -> Operation[None]:
        """Have the brokers of a topic check an SQL expression: pulls with a wrong one are not refused by all.

        Raises:
            Refused: it is wrong, or the broker allows no such filters.
            NoSuchTopic, NotReached: a broker does not answer.
        """
        if by.expression_type == SQL92:
            body = CheckClientRequestBody(client_id=self.client_id, group=self.settings.group, subscription_data=by)
            route = yield from self.route(by.topic)
            for each in route.broker_datas:
                request = ClientRequest(RequestCode.CHECK_CLIENT_CONFIG, None, encode_body(body))
                yield from self.ask(self.broker(each.broker_name), request)

    def heartbeat(self, data: HeartbeatData) -> Operation[bool]:
        """Send a heartbeat to all brokers; whether all have answered it."""
        heard = True
        for peer in self.masters():
            try:
                yield from send_heartbeat(self, peer, data)
            except RemotingError as error:
                heard = False
                log.warning("heartbeat: %s", error)
        return heard

    def heartbeats(self, data: Callable[[], HeartbeatData]) -> Operation[None]:
        """Send a heartbeat to all brokers every half minute."""
        while True:
            yield Sleep(HEARTBEAT_SECONDS)
            yield from self.heartbeat(data())

    def unregister(self, *, producer_group: str | None = None, consumer_group: str | None = None) -> Operation[None]:
        """Unregister this client at all brokers."""
        fields = UnregisterClientRequestHeader(
            client_id=self.client_id, producer_group=producer_group, consumer_group=consumer_group
        )
        for peer in self.masters():
            try:
                yield from self.ask(peer, ClientRequest(RequestCode.UNREGISTER_CLIENT, fields), seconds=CLOSE_SECONDS)
            except RemotingError as error:
                log.info("leaving the group: %s", error)
