"""Where things are: the name server is asked for routes, brokers are connected to when they are needed."""

from __future__ import annotations

from typing import Final, Self

from rocketwire.cli.mistake import Mistake
from rocketwire.cli.remote.connection import TIMEOUT_SECONDS, Connection
from rocketwire.cli.remote.errors import NoSuchTopic, NotReached, Refused
from rocketwire.server.addresses import Address, AddressInvalid, parse_address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, TopicList, TopicRouteData
from rocketwire.wire.codes import Permission, RequestCode, ResponseCode
from rocketwire.wire.headers.route import GetRouteInfoRequestHeader
from rocketwire.wire.names import RETRY_PREFIX

_MASTER: Final = 0


class Cluster:
    """The brokers that a name server knows; of several name servers, the first that can be reached.

    Raises:
        Mistake: an address is none.
        NotReached: no name server can be reached.
    """

    def __init__(self, name_servers: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self._timeout = timeout
        self._brokers: dict[str, Connection] = {}
        addresses = [_address(text) for text in name_servers.split(";") if text.strip()]
        if not addresses:
            raise Mistake(f"--namesrv {name_servers}: allowed is HOST:PORT, several of them with ; between")
        self._name_server = self._first(addresses)

    def _first(self, addresses: list[Address]) -> Connection:
        for address in addresses[:-1]:
            try:
                return Connection("name server", address, timeout=self._timeout)
            except NotReached:
                continue
        return Connection("name server", addresses[-1], timeout=self._timeout)

    def __enter__(self) -> Self:
        """Close all connections at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self._name_server.close()
        for connection in self._brokers.values():
            connection.close()

    def route(self, topic: str) -> TopicRouteData:
        """Where a topic's queues are.

        Raises:
            NoSuchTopic: the name server knows none of that name.
            Refused: it answers otherwise, as a broker does.
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
            Mistake: no broker is registered.
        """
        body = self._ask_name_server(RequestCode.GET_BROKER_CLUSTER_INFO, None, (ResponseCode.SUCCESS,))
        found = decode_body(ClusterInfo, body or b"{}").broker_addr_table.values()
        if not found:
            raise Mistake(f"{self._name_server.what}: no broker is registered there")
        return self._connections(tuple(found))

    def groups(self) -> list[str]:
        """The names of consumer groups that have had members: those with a retry topic."""
        body = self._ask_name_server(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, None, (ResponseCode.SUCCESS,))
        topics = decode_body(TopicList, body or b"{}").topic_list
        return sorted(topic.removeprefix(RETRY_PREFIX) for topic in topics if topic.startswith(RETRY_PREFIX))

    def _ask_name_server(
        self, code: RequestCode, fields: GetRouteInfoRequestHeader | None, fine: tuple[int, ...]
    ) -> memoryview | None:
        """The body of an answer; None when its code is fine but not success."""
        try:
            answer = self._name_server.ask(code, fields, fine=fine)
        except Refused as refused:
            if refused.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                raise NotReached(self._name_server.what, "is no name server; a broker's address?") from refused
            raise
        return answer.body if answer.code == ResponseCode.SUCCESS else None

    def _connections(self, brokers: tuple[BrokerData, ...]) -> dict[str, Connection]:
        return {
            each.broker_name: self._connected(each.broker_addrs[min(each.broker_addrs, default=_MASTER)])
            for each in sorted(brokers, key=lambda each: each.broker_name)
            if each.broker_addrs
        }

    def _connected(self, text: str) -> Connection:
        """The connection to a broker's address: one, however often it is asked for."""
        if text not in self._brokers:
            try:
                address = parse_address(text)
            except AddressInvalid:
                raise NotReached(f"broker {text}", "the name server gave an address that is none") from None
            self._brokers[text] = Connection("broker", address, timeout=self._timeout)
        return self._brokers[text]


def _address(text: str) -> Address:
    try:
        return parse_address(text)
    except AddressInvalid as error:
        raise Mistake(f"--namesrv {text}: {error}") from error
