"""A cluster of brokers far away, by the answers of its name servers.

The name server that answered last gets requests first; when it does not answer, the next one gets them. The brokers
are queried every two seconds, so one that moved or left is followed within that time. The last answer stays valid while
no name server answers.
"""

from __future__ import annotations

import logging
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec
import trio

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.core.threads import RunSync
from rocketwire.server.limits.limits import Limits
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.requests import start_requests
from rocketwire.server.upstream.resolving import usable_address
from rocketwire.store.event import Event
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, TopicRouteData
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import WireHeader
from rocketwire.wire.headers.route import GetRouteInfoRequestHeader

log = logging.getLogger(__name__)

PERIOD_SECONDS: Final = 2.0
MOST_BROKERS: Final = 1000
"""That are followed, slaves too: as many as a name server of this program takes."""
BROKERS_LIMIT: Final = "upstreamBrokers"
MOST_BYTES: Final = 4 << 20
"""Of an answer about brokers or a topic: of 20,000 brokers."""
SHORT: Final = 16 << 10
"""Bytes of an answer that is read on the event loop: of 150 brokers, which takes a millisecond."""
_LOG_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 3.0
_MOST_ROUTES: Final = 100_000
_MOST_ROUTE_BYTES: Final = 64 << 20
"""Of the answers that kept routes were read from."""
MASTER: Final = 0
T = TypeVar("T")


class BrokerKey(NamedTuple):
    """What a broker is known by while its address may change: its name, and its id (0: the master)."""

    name: str
    broker_id: int


class ListedBrokers(NamedTuple):
    """Brokers in a name server's answer.

    Attributes:
        addresses: Those that clients can connect to.
        unusable: How many others there are, with the name and the address of the last one; None: there are none.
    """

    addresses: Mapping[BrokerKey, Address]
    unusable: tuple[int, str, str] | None


class UpstreamCluster:
    """The brokers and routes of a cluster.

    Args:
        name_servers: Its name servers.
        pool: The connections.
        limits: Counts brokers that are too many; None: they are not counted.
        most: How many brokers are followed.
        run_sync: Reads long answers; None: the event loop does.
        remark: Of requests to name servers, see `rings`; None: there is none.

    Attributes:
        brokers: The address of each broker, replaced when it changes.
        changed: Called when brokers came, moved or left.
        reached: Whether a name server answered last time.
    """

    def __init__(
        self,
        name_servers: Iterable[Address],
        pool: ConnectionPool,
        *,
        limits: Limits | None = None,
        most: int = MOST_BROKERS,
        run_sync: RunSync | None = None,
        remark: str | None = None,
    ) -> None:
        self._name_servers = list(name_servers)
        self._pool = pool
        self._limits = limits
        self._most = most
        self._run_sync = run_sync
        self._remark = remark
        self._unusable: tuple[int, str, str] | None = None
        self._unusable_logged_at = -math.inf
        self.brokers: Mapping[BrokerKey, Address] = {}
        self.changed = Event[[]]()
        self._routes: OrderedDict[str, tuple[TopicRouteData | None, int]] = OrderedDict()
        self._route_bytes = 0
        self.reached: bool = True

    async def send_requests(self, requests: Sequence[ClientRequest]) -> list[Response | UpstreamConnectionError]:
        """The answer to each request by the first name server that answers it, or why the first one did not.

        Raises:
            WireError: a request does not fit in a frame.
        """
        found: list[Response | UpstreamConnectionError] = [UpstreamConnectionError("there is no name server")] * len(
            requests
        )
        open_places: Sequence[int] = range(len(requests))
        for number, address in enumerate(tuple(self._name_servers)):
            answers = await self._pool.send_requests(
                address, [requests[place] for place in open_places], seconds=_ANSWER_SECONDS
            )
            for place, answer in zip(open_places, answers, strict=True):
                if number == 0 or isinstance(answer, Response):
                    found[place] = answer
            open_places = [place for place in open_places if isinstance(found[place], UpstreamConnectionError)]
            if not open_places:
                break
            self._demote(address, silent=len(open_places) == len(answers))
        return found

    def start_requests(
        self, requests: Sequence[ClientRequest], on_answers: Callable[[list[Response] | None], None]
    ) -> bool:
        """Send requests to the name server that answered last, without a task that waits, if it is connected.

        Args:
            requests: The requests.
            on_answers: Gets the answers; or None: not all came, and another name server is first now.

        Returns:
            Whether the requests are sent.

        Raises:
            WireError: a request does not fit in a frame.
        """
        connection = self._pool.open_connection(self._name_servers[0]) if self._name_servers else None
        if connection is None:
            return False
        address = connection.address

        def take(found: list[Response | UpstreamConnectionError]) -> None:
            answers = [each for each in found if isinstance(each, Response)]
            if len(answers) == len(found):
                on_answers(answers)
            else:
                self._demote(address, silent=not answers)
                on_answers(None)

        start_requests(connection, requests, seconds=_ANSWER_SECONDS, on_answers=take)
        return True

    def _demote(self, address: Address, *, silent: bool) -> None:
        """Send requests to others before a name server that did not answer some; `silent`: it answered none."""
        if silent:
            self._pool.drop(address)  # nothing may come by this connection any more
        if self._name_servers[0] == address:  # others may have found so, too
            self._name_servers.append(self._name_servers.pop(0))

    async def _send_request(self, code: int, fields: WireHeader | None = None) -> Response:
        (answer,) = await self.send_requests([ClientRequest(code, fields, remark=self._remark)])
        if isinstance(answer, UpstreamConnectionError):
            raise answer
        return answer

    async def route(self, topic: str) -> TopicRouteData | None:
        """The brokers and queues of a topic; None: no broker has it. While no name server answers, the last one known.

        Raises:
            UpstreamConnectionError: no name server answers, and the route was not known before.
        """
        try:
            found, size = await self._fetch_route(topic)
        except UpstreamConnectionError:
            if topic not in self._routes:
                raise
            return self._routes[topic][0]
        self._route_bytes += size - self._routes.get(topic, (None, 0))[1]
        self._routes[topic] = found, size
        self._routes.move_to_end(topic)
        while len(self._routes) > _MOST_ROUTES or self._route_bytes > _MOST_ROUTE_BYTES:
            self._route_bytes -= self._routes.popitem(last=False)[1][1]
        return found

    async def _fetch_route(self, topic: str) -> tuple[TopicRouteData | None, int]:
        """The route, and the bytes of the answer that it was read from."""
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        answer = await self._send_request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            return None, 0
        size = len(answer.body)
        return await self.in_thread(size, partial(_read, TopicRouteData, answer)), size

    async def in_thread(self, size: int, read: Callable[[], T]) -> T:
        """What a function makes of so many bytes; it is called in a thread if they are many.

        Raises:
            Exception: what it raises.
        """
        if size <= SHORT or self._run_sync is None:
            return read()
        found: T = await self._run_sync(read)
        return found

    async def run(self) -> None:
        """Keep the brokers current; never returns."""
        while True:
            await self.refresh()
            await trio.sleep(PERIOD_SECONDS)

    async def refresh(self) -> bool:
        """Query the brokers now; return whether a name server answered."""
        try:
            answer = await self._send_request(RequestCode.GET_BROKER_CLUSTER_INFO)
            self._take(await self.in_thread(len(answer.body), partial(_read_brokers, answer)))
        except UpstreamConnectionError as error:
            if self.reached:
                log.warning("could not refresh the list of brokers: %(reason)s", {"reason": error})
            self.reached = False
        else:
            if not self.reached:
                log.info("name servers answer again")
            self.reached = True
        return self.reached

    def take_brokers(self, brokers: Iterable[BrokerData]) -> None:
        """Note addresses that a name server sent with a route."""
        self.note_brokers(listed_brokers(brokers))

    def note_brokers(self, listed: ListedBrokers) -> None:
        """Likewise those that were read before."""
        if any(self.brokers.get(key) != address for key, address in listed.addresses.items()):
            self._set({**self.brokers, **listed.addresses})

    def _take(self, listed: ListedBrokers) -> None:
        self._log_unusable(listed.unusable)
        if listed.addresses != self.brokers:
            self._set(listed.addresses)

    def _set(self, brokers: Mapping[BrokerKey, Address]) -> None:
        """Follow these brokers; if they are too many, those first that are followed already."""
        if len(brokers) > self._most:
            first = [key for key in self.brokers if key in brokers]
            others = sorted(brokers.keys() - self.brokers.keys())
            omitted = others[max(0, self._most - len(first)) :]
            if self._limits is not None:
                self._limits.count_refusal(BROKERS_LIMIT, f"broker {omitted[0].name} and {len(omitted) - 1} others")
            brokers = {key: brokers[key] for key in (*first, *others)[: self._most]}
            if brokers == self.brokers:
                return
        self.brokers = brokers
        self.changed()

    def _log_unusable(self, unusable: tuple[int, str, str] | None) -> None:
        """Log that brokers have no usable address: once, and after a change at most once a minute."""
        now = trio.current_time()
        if unusable is None or unusable == self._unusable or now < self._unusable_logged_at + _LOG_SECONDS:
            return
        self._unusable, self._unusable_logged_at = unusable, now
        count, name, text = unusable
        log.warning(
            "%(count)d brokers have no usable address; broker %(broker)s: %(address)s",
            {"count": count, "broker": name, "address": text},
        )


def _read(kind: type[T], answer: Response) -> T:
    """The body of an answer.

    Raises:
        UpstreamConnectionError: the name server refused, or its answer cannot be read.
    """
    if answer.code != ResponseCode.SUCCESS:
        raise UpstreamConnectionError(f"a name server answers {answer.code}: {answer.remark}")
    if len(answer.body) > MOST_BYTES:
        raise UpstreamConnectionError(f"a name server's answer of {len(answer.body)} bytes is too long")
    try:
        return decode_body(kind, answer.body)
    except WireError as error:
        raise UpstreamConnectionError(f"a name server's answer cannot be read: {error}") from error


def _read_brokers(answer: Response) -> ListedBrokers:
    if answer.code == ResponseCode.SUCCESS and len(answer.body) <= MOST_BYTES:
        found = brokers_in(answer.body)
        if found is not None:
            return found
    return listed_brokers(_read(ClusterInfo, answer).broker_addr_table.values())


class _Broker(msgspec.Struct, rename="camel", gc=False):
    """What is read of a broker: thousands of objects that the garbage collector traverses would stop all tasks."""

    broker_name: str = ""
    broker_addrs: dict[int, str] = {}


class _Brokers(msgspec.Struct, rename="camel", gc=False):
    """What is read of a route or of a cluster."""

    broker_datas: list[_Broker] = []
    broker_addr_table: dict[str, _Broker] = {}


_decode_brokers: Final = msgspec.json.Decoder(_Brokers).decode
_BARE_NUMBER: Final = re.compile(rb"([{,])(-?[0-9]+):")
"""A number as the name of a member, which is no JSON; name servers write broker ids so."""


def brokers_in(body: bytes) -> ListedBrokers | None:
    """The brokers of a route or of a cluster, quickly; None: the text is not as name servers write it."""
    try:
        found = _decode_brokers(_BARE_NUMBER.sub(rb'\1"\2":', body))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return listed_brokers((*found.broker_datas, *found.broker_addr_table.values()))


class _HasAddresses(Protocol):
    @property
    def broker_name(self) -> str:
        """The broker's name."""

    @property
    def broker_addrs(self) -> Mapping[int, str]:
        """Its addresses, by broker id."""


def listed_brokers(brokers: Iterable[_HasAddresses]) -> ListedBrokers:
    """The addresses of brokers that clients can connect to."""
    found: dict[BrokerKey, Address] = {}
    unusable: tuple[int, str, str] | None = None
    for each in brokers:
        for broker_id, text in each.broker_addrs.items():
            address = usable_address(text)
            if address is not None:
                found[BrokerKey(each.broker_name, broker_id)] = address
            else:
                count = 0 if unusable is None else unusable[0]
                unusable = count + 1, each.broker_name, text
    return ListedBrokers(found, unusable)
