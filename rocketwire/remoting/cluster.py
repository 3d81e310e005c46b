"""A cluster: routes from the name server, and connections to brokers, made on demand."""

from __future__ import annotations

import ssl
from functools import partial
from typing import Final, Self

from rocketwire.remoting.connection import TIMEOUT_SECONDS, Answer, Connection, During
from rocketwire.remoting.credentials import Credentials
from rocketwire.remoting.errors import NameServersInvalid, NoBroker, NoSuchTopic, NotReached, Refused
from rocketwire.wire.addresses import Address, AddressInvalid, parse_address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, TopicList, TopicRouteData
from rocketwire.wire.codes import Permission, RequestCode, ResponseCode
from rocketwire.wire.headers.route import GetRouteInfoRequestHeader
from rocketwire.wire.names import RETRY_PREFIX

_MASTER: Final = 0


class Cluster:
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
        during: During | None = None,
    ) -> None:
        """Connect to a name server; the other arguments are those of `Connection`, for all connections."""
        self._connect = partial(Connection, timeout=timeout, credentials=credentials, tls=tls)
        if during is not None:
            self._connect = partial(self._connect, during=during)
        self._brokers: dict[str, Connection] = {}
        self._addresses = addresses_of(name_servers)
        self._name_server = self._first()

    def _first(self) -> Connection:
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
        for connection in self._brokers.values():
            connection.close()

    @property
    def own_host(self) -> str:
        """The local address of the connection to the name server."""
        return self._name_server.own_host

    @property
    def name_server(self) -> Address:
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
        body = self._ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields, fine)
        if body is None:
            raise NoSuchTopic(topic, self._name_server.what.rpartition(" ")[2])
        return decode_body(TopicRouteData, body)

    def readable_queues(self, topic: str) -> list[tuple[str, int]]:
        """Broker name and number of every queue of a topic that can be read, in order.

        Raises:
            NoSuchTopic: there is no such topic.
        """
        return sorted(
            (each.broker_name, number)
            for each in self.route(topic).queue_datas
            if each.perm & Permission.READ
            for number in range(each.read_queue_nums)
        )

    def brokers_of(self, topic: str) -> dict[str, Connection]:
        """Connections to the brokers that have a topic, by broker name.

        Raises:
            NoSuchTopic: there is no such topic.
        """
        return self._connections(self.route(topic).broker_datas)

    def all_brokers(self) -> dict[str, Connection]:
        """Connections to all brokers, by broker name.

        Raises:
            NoBroker: none is registered.
        """
        found = self._registered().values()
        if not found:
            raise NoBroker(self._name_server.what)
        return self._connections(tuple(found))

    def broker(self, name: str) -> Connection:
        """The connection to the broker of a name, wherever it is registered now.

        Raises:
            NoBroker: none of that name is registered.
        """
        registered = self._registered().get(name)
        found = {} if registered is None else self._connections((registered,))
        if name not in found:
            raise NoBroker(self._name_server.what, name)
        return found[name]

    def forget(self, connection: Connection) -> None:
        """Close the connection to a broker, which failed: the next use makes a new one."""
        connection.close()
        self._brokers = {text: each for text, each in self._brokers.items() if each is not connection}

    def _registered(self) -> dict[str, BrokerData]:
        body = self._ask_name_server(RequestCode.GET_BROKER_CLUSTER_INFO, None, (ResponseCode.SUCCESS,))
        return decode_body(ClusterInfo, body or b"{}").broker_addr_table

    def topics(self) -> list[str]:
        """The names of all topics, RocketMQ's own among them."""
        body = self._ask_name_server(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, None, (ResponseCode.SUCCESS,))
        return sorted(decode_body(TopicList, body or b"{}").topic_list)

    def groups(self) -> list[str]:
        """The names of consumer groups that have had members: those with a retry topic."""
        return [topic.removeprefix(RETRY_PREFIX) for topic in self.topics() if topic.startswith(RETRY_PREFIX)]

    def _ask_name_server(
        self, code: RequestCode, fields: GetRouteInfoRequestHeader | None, fine: tuple[int, ...]
    ) -> memoryview | None:
        """The body of an answer; None when its code is accepted but not success."""
        try:
            answer = self._answer(code, fields, fine)
        except Refused as refused:
            if refused.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                raise NotReached(self._name_server.what, "is no name server; a broker's address?") from refused
            raise
        return answer.body if answer.code == ResponseCode.SUCCESS else None

    def _answer(self, code: RequestCode, fields: GetRouteInfoRequestHeader | None, fine: tuple[int, ...]) -> Answer:
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

    def _connections(self, brokers: tuple[BrokerData, ...]) -> dict[str, Connection]:
        return {
            each.broker_name: self._connected(each.broker_addrs[min(each.broker_addrs, default=_MASTER)])
            for each in sorted(brokers, key=lambda each: each.broker_name)
            if each.broker_addrs
        }

    def _connected(self, text: str) -> Connection:
        """The connection to a broker's address, made once."""
        if text not in self._brokers:
            try:
                address = parse_address(text)
            except AddressInvalid:
                raise NotReached(f"broker {text}", "the name server gave an address that is none") from None
            self._brokers[text] = self._connect("broker", address)
        return self._brokers[text]


def addresses_of(name_servers: str) -> list[Address]:
    """The addresses in a text: one, or several with ; between.

    Raises:
        NameServersInvalid: there is none, or one is invalid.
    """
    found = [_address(text) for text in name_servers.split(";") if text.strip()]
    if not found:
        raise NameServersInvalid(name_servers, "allowed is HOST:PORT, several of them with ; between")
    return found


def _address(text: str) -> Address:
    try:
        return parse_address(text)
    except AddressInvalid as error:
        raise NameServersInvalid(text, str(error)) from error
