"""A cluster of brokers far away, as its name servers tell it.

The name server that answered last is asked first; when it does not answer, the next one is. All brokers are asked for
every two seconds, so one that moved or left is followed within that time. What was told last stays in force while no
name server answers.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import trio

from rocketwire.server.upstream.errors import NotReached
from rocketwire.server.upstream.line import Answer
from rocketwire.server.upstream.lines import Lines
from rocketwire.server.upstream.questions import Question, ask_then
from rocketwire.server.upstream.resolving import usable_address
from rocketwire.store.event import Event
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, TopicRouteData
from rocketwire.wire.codes import RequestCode, ResponseCode
from rocketwire.wire.errors import WireError
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.route import GetRouteInfoRequestHeader

log = logging.getLogger(__name__)

PERIOD_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 3.0
_MOST_ROUTES: Final = 100_000
MASTER: Final = 0
T = TypeVar("T")


class BrokerKey(NamedTuple):
    """What a broker is known by while its address may change: its name, and its id (0: the master)."""

    name: str
    broker_id: int


class Cluster:
    """The brokers and routes of a cluster.

    Args:
        name_servers: Its name servers.
        lines: The connections.

    Attributes:
        brokers: The address of each broker.
        changed: Called when brokers came, moved or left.
        reached: Whether a name server answered last time.
    """

    def __init__(self, name_servers: Iterable[Address], lines: Lines) -> None:
        self._name_servers = list(name_servers)
        self._lines = lines
        self.brokers: Mapping[BrokerKey, Address] = {}
        self.changed = Event[[]]()
        self._routes: OrderedDict[str, TopicRouteData | None] = OrderedDict()
        self.reached: bool = True

    async def ask_together(self, questions: Sequence[Question]) -> list[Answer | NotReached]:
        """The answer of a name server to each question, of the first that gives one, or why the first gave none.

        Raises:
            WireError: a question does not fit in a frame.
        """
        found: list[Answer | NotReached] = [NotReached("there is no name server")] * len(questions)
        left: Sequence[int] = range(len(questions))
        for number, address in enumerate(tuple(self._name_servers)):
            answers = await self._lines.ask_together(
                address, [questions[place] for place in left], seconds=_ANSWER_SECONDS
            )
            for place, answer in zip(left, answers, strict=True):
                if number == 0 or isinstance(answer, Answer):
                    found[place] = answer
            left = [place for place in left if isinstance(found[place], NotReached)]
            if not left:
                break
            self._pass_over(address, silent=len(left) == len(answers))
        return found

    def ask_then(self, questions: Sequence[Question], told: Callable[[list[Answer] | None], None]) -> bool:
        """Ask the name server that answered last, without a task that waits, if there is a connection to it now.

        Args:
            questions: The requests.
            told: Gets the answers; or None: not all came, and another name server is first now.

        Returns:
            Whether it is asked.

        Raises:
            WireError: a question does not fit in a frame.
        """
        line = self._lines.open_line(self._name_servers[0]) if self._name_servers else None
        if line is None:
            return False
        address = line.address

        def take(found: list[Answer | NotReached]) -> None:
            answers = [each for each in found if isinstance(each, Answer)]
            if len(answers) == len(found):
                told(answers)
            else:
                self._pass_over(address, silent=not answers)
                told(None)

        ask_then(line, questions, seconds=_ANSWER_SECONDS, told=take)
        return True

    def _pass_over(self, address: Address, *, silent: bool) -> None:
        """Ask others before a name server that left questions without an answer; `silent`: all of them."""
        if silent:
            self._lines.drop(address)  # nothing may come by this connection any more
        if self._name_servers[0] == address:  # others may have found so, too
            self._name_servers.append(self._name_servers.pop(0))

    async def _ask(self, code: int, ext: Mapping[str, str]) -> Answer:
        (answer,) = await self.ask_together([Question(code, ext)])
        if isinstance(answer, NotReached):
            raise answer
        return answer

    async def route(self, topic: str) -> TopicRouteData | None:
        """The brokers and queues of a topic; None: no broker has it. While no name server answers, as told last.

        Raises:
            NotReached: no name server answers, and none has told the route before.
        """
        try:
            found = await self._asked_route(topic)
        except NotReached:
            if topic not in self._routes:
                raise
            return self._routes[topic]
        self._routes[topic] = found
        self._routes.move_to_end(topic)
        if len(self._routes) > _MOST_ROUTES:
            self._routes.popitem(last=False)
        return found

    async def _asked_route(self, topic: str) -> TopicRouteData | None:
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        answer = await self._ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, encode_ext(header))
        return None if answer.code == ResponseCode.TOPIC_NOT_EXIST else _read(TopicRouteData, answer)

    async def run(self) -> None:
        """Keep the brokers current; never returns."""
        while True:
            await self.refresh()
            await trio.sleep(PERIOD_SECONDS)

    async def refresh(self) -> bool:
        """Ask for the brokers now; return whether a name server answered."""
        try:
            answer = await self._ask(RequestCode.GET_BROKER_CLUSTER_INFO, {})
            self._take(_read(ClusterInfo, answer))
        except NotReached as error:
            if self.reached:
                log.warning("the brokers are not known anew: %(reason)s", {"reason": error})
            self.reached = False
        else:
            if not self.reached:
                log.info("name servers answer again")
            self.reached = True
        return self.reached

    def note(self, brokers: Iterable[BrokerData]) -> None:
        """Note addresses that a name server has told beside a route."""
        found = _addresses(brokers)
        if any(self.brokers.get(key) != address for key, address in found.items()):
            self._set({**self.brokers, **found})

    def _take(self, told: ClusterInfo) -> None:
        found = _addresses(told.broker_addr_table.values())
        if found != self.brokers:
            self._set(found)

    def _set(self, brokers: Mapping[BrokerKey, Address]) -> None:
        self.brokers = brokers
        self.changed()


def _read(kind: type[T], answer: Answer) -> T:
    """The body of an answer.

    Raises:
        NotReached: the name server refused, or its answer cannot be read.
    """
    if answer.code != ResponseCode.SUCCESS:
        raise NotReached(f"a name server answers {answer.code}: {answer.remark}")
    try:
        return decode_body(kind, answer.body)
    except WireError as error:
        raise NotReached(f"a name server's answer cannot be read: {error}") from error


def _addresses(brokers: Iterable[BrokerData]) -> dict[BrokerKey, Address]:
    """The addresses that can be dialled."""
    found = {}
    for each in brokers:
        for broker_id, text in each.broker_addrs.items():
            address = usable_address(text)
            if address is not None:
                found[BrokerKey(each.broker_name, broker_id)] = address
            else:
                log.warning(
                    "broker %(broker)s has no usable address: %(address)s",
                    {"broker": each.broker_name, "address": text},
                )
    return found
