"""A cluster: routes from the name server, and connections to brokers, made on demand."""

from __future__ import annotations

import ssl
from functools import partial
from typing import Final, NamedTuple, Self

from rocketwire.remoting.connection import TIMEOUT_SECONDS, BlockingConnection, Response, WaitContext
from rocketwire.remoting.credentials import Credentials
from rocketwire.remoting.errors import NoBroker, NoSuchTopic, NotReached, Refused
from rocketwire.remoting.requests import name_server_addresses, readable_queues
from rocketwire.wire.addresses import Address, AddressInvalid, parse_address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, TopicList, TopicRouteData
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import WireHeader
from rocketwire.wire.headers.route import GetRouteInfoRequestHeader
from rocketwire.wire.names import AUTO_CREATE_TOPIC, RETRY_PREFIX

_MASTER: Final = 0


class SendRoute(NamedTuple):
    """Where messages for a topic are sent."""

    route: TopicRouteData
    is_new: bool
    """Whether the topic does not exist yet: the first message creates it, like the topic that the route is of."""


class BlockingCluster:
    """The brokers that a name server knows; of several name servers, the first that can be reached.

    Raises:
        NameServersInvalid: an address is invalid.
        NotReached: no name server can be reached.
    """

    def __init__(
        self,
        name_servers: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        credentials: Credentials | None = None,
        tls: ssl.SSLContext | None = None,
        during: WaitContext | None = None,
    ) -> None:
        """Connect to a name server; the other arguments are those of `BlockingConnection`, for all connections."""
        self._connect = partial(BlockingConnection, timeout=timeout, credentials=credentials, tls=tls)
        if during is not None:
            self._connect = partial(self._connect, during=during)
        self._brokers: dict[str, BlockingConnection] = {}
        self._other_name_servers: dict[Address, BlockingConnection] = {}
        self._addresses = name_server_addresses(name_servers)
        self._name_server = self._first()

    def _first(self) -> BlockingConnection:
        """A connection to the first name server that can be reached."""
        for address in self._addresses[:-1]:
            try:
                return self._connect("name server", address)
            except NotReached:
                continue
        return self._connect("name server", self._addresses[-1])

    def __enter__(self) -> Self:
        """Close all connections at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._name_server.close()
        for connection in (*self._brokers.values(), *self._other_name_servers.values()):
            connection.close()

    @property
    def own_host(self) -> str:
        """The local address of the connection to the name server."""
        return self._name_server.own_host

    @property
    def current_name_server(self) -> Address:
        """The name server that is used."""
        host, port = self._name_server.address
        return Address(host=host, port=port)

    def route(self, topic: str) -> TopicRouteData:
        """The route of a topic.

        Raises:
            NoSuchTopic: the name server knows no such topic.
            Refused: it answers with another error, as a broker does.
        """
        fine = (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST)
        fields = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        answer = self.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields, fine=fine)
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            raise NoSuchTopic(topic, self._name_server.what.rpartition(" ")[2])
        return decode_body(TopicRouteData, answer.body)

    def send_route(self, topic: str) -> SendRoute:
        """The route for sends to a topic, which the first send may create (`autoCreateTopicEnable` of the brokers).

        Raises:
            NoSuchTopic: there is no such topic, and the brokers create none.
            Refused: the name server answers with another error.
        """
        try:
            return SendRoute(self.route(topic), is_new=False)
        except NoSuchTopic as error:
            try:
                return SendRoute(self.route(AUTO_CREATE_TOPIC), is_new=True)
            except NoSuchTopic:
                raise error from None

    def readable_queues(self, topic: str) -> list[tuple[str, int]]:
        """Broker name and number of every queue of a topic that can be read, in order.

        Raises:
            NoSuchTopic: there is no such topic.
        """
        return readable_queues(self.route(topic))

    def brokers_of(self, topic: str) -> dict[str, BlockingConnection]:
        """Connections to the brokers that have a topic, by broker name.

        Raises:
            NoSuchTopic: there is no such topic.
        """
        return self.connections(self.route(topic))

    def connections(self, route: TopicRouteData) -> dict[str, BlockingConnection]:
        """Connections to the brokers of a route, by broker name."""
        return self._connections(route.broker_datas)

    def all_brokers(self) -> dict[str, BlockingConnection]:
        """Connections to all brokers, by broker name.

        Raises:
            NoBroker: none is registered.
        """
        found = self.info().broker_addr_table.values()
        if not found:
            raise NoBroker(self._name_server.what)
        return self._connections(tuple(found))

    def broker(self, name: str) -> BlockingConnection:
        """The connection to the broker of a name, wherever it is registered now.

        Raises:
            NoBroker: none of that name is registered.
        """
        registered = self.info().broker_addr_table.get(name)
        found = {} if registered is None else self._connections((registered,))
        if name not in found:
            raise NoBroker(self._name_server.what, name)
        return found[name]

    def discard(self, connection: BlockingConnection) -> None:
        """Close the connection to a broker, which failed: the next use makes a new one."""
        connection.close()
        self._brokers = {text: each for text, each in self._brokers.items() if each is not connection}

    def info(self) -> ClusterInfo:
        """The clusters and the addresses of their brokers."""
        return decode_body(ClusterInfo, self.ask(RequestCode.GET_BROKER_CLUSTER_INFO).body or b"{}")

    def topics(self) -> list[str]:
        """The names of all topics, RocketMQ's own among them."""
        answer = self.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        return sorted(decode_body(TopicList, answer.body or b"{}").topic_list)

    def groups(self) -> list[str]:
        """The names of consumer groups that have had members: those with a retry topic."""
        return [topic.removeprefix(RETRY_PREFIX) for topic in self.topics() if topic.startswith(RETRY_PREFIX)]

    def connection(self, address: str) -> BlockingConnection:
        """The connection to a broker's address, made once.

        Raises:
            NotReached: it cannot be reached, or is no address.
        """
        if address not in self._brokers:
            try:
                parsed = parse_address(address)
            except AddressInvalid:
                raise NotReached(f"broker {address}", "the name server gave an address that is none") from None
            self._brokers[address] = self._connect("broker", parsed)
        return self._brokers[address]

    @property
    def name_servers(self) -> tuple[Address, ...]:
        """The addresses of all name servers."""
        return tuple(sorted(set(self._addresses), key=str))

    def name_server(self, address: Address) -> BlockingConnection:
        """The connection to one of the name servers, made once.

        Raises:
            NotReached: it cannot be reached.
        """
        if self._name_server.address == (address.host, address.port):
            return self._name_server
        if address not in self._other_name_servers:
            self._other_name_servers[address] = self._connect("name server", address)
        return self._other_name_servers[address]

    def ask(
        self,
        code: RequestCode,
        fields: WireHeader | None = None,
        *,
        fine: tuple[int, ...] = (ResponseCode.SUCCESS,),
    ) -> Response:
        """The answer of the name server, or of the next one where it does not answer.

        Raises:
            Refused: its code is not in `fine`.
            NotReached: none answers, or it is no name server.
        """
        try:
            return self._answer(code, fields, fine)
        except Refused as refused:
            if refused.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                raise NotReached(self._name_server.what, "is no name server; a broker's address?") from refused
            raise

    def _answer(self, code: RequestCode, fields: WireHeader | None, fine: tuple[int, ...]) -> Response:
        try:
            return self._name_server.ask(code, fields, fine=fine)
        except NotReached as error:
            failure = error
        # Name servers close connections that were idle for two minutes, or one may hang: try the others first now.
        for _ in tuple(self._addresses):
            self._name_server.close()
            self._addresses.append(self._addresses.pop(0))
            try:
                self._name_server = self._first()
                return self._name_server.ask(code, fields, fine=fine)
            except NotReached as error:
                failure = error
        raise failure

    def _connections(self, brokers: tuple[BrokerData, ...]) -> dict[str, BlockingConnection]:
        return {
            each.broker_name: self.connection(each.broker_addrs[min(each.broker_addrs, default=_MASTER)])
            for each in sorted(brokers, key=lambda each: each.broker_name)
            if each.broker_addrs
        }
