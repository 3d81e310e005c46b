"""The waiting timer messages of a name server's brokers: the timer's topic, pulled like a consumer, and admin queries.

The topic holds every message that ever waited, as long as the log is kept. Messages no longer wait if the broker has
read their slot (code 60), or if they were stored again since, because they rolled.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.message.reading import TopicReader
from rocketwire.cli.online import ClusterAccess
from rocketwire.cli.timer.source import Warn
from rocketwire.cli.waiting import ProgressDisplay, progress_bar
from rocketwire.remoting.admin.offsets import end_offsets
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.errors import AccessDenied, Refused
from rocketwire.remoting.messages import Queue
from rocketwire.server.config.java_properties import parse_java_properties
from rocketwire.server.core.clocks import clock
from rocketwire.store.layout.timer_check import CHECK_STRUCT
from rocketwire.store.layout.timer_log import UnitMagic
from rocketwire.store.offline.timer.messages import NO_MARK, TimerMessage, timer_message
from rocketwire.store.offline.timer.timer import PRECISION
from rocketwire.store.offline.timer.units import WAITING
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.bodies.route import KVTable
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.java import parse_natural_number, string_hash
from rocketwire.wire.names import TIMER_TOPIC

_BLOCK: Final = 8192


class BrokerTimer(NamedTuple):
    """The state of a broker's timer, as the broker reports it.

    Attributes:
        name: The broker's name.
        read_time: Slots before this time, ms, are read (code 60).
        queue_offset: Messages of the timer's topic before this offset are in the wheel (60).
        queue_end: Offset of the topic's next message.
        counts: How many messages wait, by topic (61); None when it does not report it.
        runtime: Its other figures of the timer, as it reports them (28).
        precision: Milliseconds of a slot (26, timerPrecisionMs).
    """

    name: str
    read_time: int
    queue_offset: int
    queue_end: int
    counts: dict[str, int] | None
    runtime: dict[str, str]
    precision: int


def timers_of(cluster: BlockingCluster) -> list[BrokerTimer]:
    """The timer states of all brokers that have a timer.

    Raises:
        Unsuccessful: no broker has one.
        NotReached: a broker does not answer.
    """
    found, reason = [], ""
    for name, connection in cluster.all_brokers().items():
        try:
            found.append(timer_of(name, connection))
        except AccessDenied:
            raise
        except Refused as refused:
            reason = str(refused)
    if not found:
        raise CommandFailed(f"no broker has a timer: {reason}")
    return found


class RemoteTimer:
    """The waiting messages of all brokers that have a timer.

    Attributes:
        time: When the brokers' progress was queried, ms: pulling the topic takes a while.
        brokers: The timer states of these brokers.
        precision: Milliseconds of a slot of the first.
        waiting: Messages and markers that wait, an array of WAITING; all of them are known to be due at `out`.
    """

    def __init__(self, endpoint: ClusterAccess, cluster: BlockingCluster, report: Warn) -> None:
        """Query all brokers, and pull the timer's topic.

        Raises:
            Unsuccessful: no broker has a timer.
            NotReached, Refused: a broker does not answer, or refuses.
        """
        self.time = clock.system_clock()
        self.brokers = timers_of(cluster)
        self._reader = TopicReader(endpoint, TIMER_TOPIC, self._warn)
        self._bar: ProgressDisplay | None = None
        self._topics: dict[int, str] = {}
        self._report = report
        self.precision = self.brokers[0].precision
        self.waiting = np.concatenate([self._pulled(number) for number in range(len(self.brokers))])

    def __enter__(self) -> Self:
        """Close the reader's connections at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._reader.__exit__()

    def _warn(self, what: str) -> None:
        if self._bar is None:
            self._report(what)
        else:
            self._bar.show(lambda: self._report(what))

    def topic(self, topic_hash: int) -> str | None:
        """The topic with a hash, if a message was for one."""
        return self._topics.get(topic_hash)

    def broker(self, number: int) -> str:
        """The name of a broker."""
        return self.brokers[number].name

    def messages(self, waiting: NDArray[Any]) -> Iterator[tuple[int, TimerMessage | None]]:
        """Pull single messages again.

        Raises:
            NotReached, Refused: the broker does not answer, or refuses.
        """
        for number, row in enumerate(waiting):
            queue = Queue(TIMER_TOPIC, self.brokers[row["broker"]].name, 0)
            found = self._reader.message(queue, int(row["queue_offset"]))
            yield number, None if found is None else timer_message(found)

    def _pulled(self, number: int) -> NDArray[Any]:
        """The waiting messages of one broker."""
        broker = self.brokers[number]
        found, rolls = [np.empty(0, WAITING)], [np.empty(0, np.int32)]
        queue = Queue(TIMER_TOPIC, broker.name, 0)
        offsets = self._reader.offsets(queue) if broker.queue_end else range(0)  # before the first message no route
        with progress_bar(len(offsets), unit=" messages") as self._bar:
            records = (each.one for each in self._reader.read(queue, offsets))
            while block := list(islice(records, _BLOCK)):
                some = [each for each in filter(None, map(timer_message, block)) if may_wait(each, broker)]
                found.append(np.array([self._row(each, number) for each in some], WAITING))
                rolls.append(np.array([each.rolls for each in some], np.int32))
                self._bar.advance(len(block))
        self._bar = None
        rows, times = np.concatenate(found), np.concatenate(rolls)
        return rows[_newest(rows, times)]

    def _row(self, one: TimerMessage, broker: int) -> tuple[int, ...]:
        topic_hash = string_hash(one.topic)
        self._topics[topic_hash] = one.topic
        magic = UnitMagic.DEFAULT | (UnitMagic.DELETE if one.cancels is not None else 0)
        return one.out, one.physical_offset, -1, one.queue_offset, one.mark, one.size, topic_hash, int(magic), broker


def may_wait(one: TimerMessage, broker: BrokerTimer) -> bool:
    """Whether a message still waits, unless it was stored again since."""
    slot = one.out - one.out % broker.precision
    return slot >= broker.read_time or one.queue_offset >= broker.queue_offset


def _newest(rows: NDArray[Any], rolls: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which rows are not of messages that were stored again since.

    A message that was stored again has the same unique key and time, and has rolled more often. A producer may have
    sent a message twice: those that have rolled equally often all count.
    """
    keep = np.ones(len(rows), bool)
    deletes = (rows["magic"] & UnitMagic.DELETE) != 0
    for kind in (False, True):
        numbers = np.flatnonzero((deletes == kind) & (rows["mark"] != NO_MARK))
        marks, group = np.unique(rows["mark"][numbers], return_inverse=True)
        most = np.zeros(len(marks), np.int32)
        np.maximum.at(most, group, rolls[numbers])
        keep[numbers] = rolls[numbers] == most[group]
    return keep


def timer_of(name: str, connection: BlockingConnection) -> BrokerTimer:
    """Query a broker for the state of its timer.

    Raises:
        Refused: it has no timer, or refuses.
        NotReached: it does not answer.
    """
    check = connection.ask(RequestCode.GET_TIMER_CHECK_POINT).body
    if len(check) < CHECK_STRUCT.size:
        raise Refused(connection.what, ResponseCode.SUCCESS, f"the timer's checkpoint has {len(check)} bytes only")
    read_time, _, queue_offset, *_ = CHECK_STRUCT.unpack_from(check)
    return BrokerTimer(
        name,
        read_time,
        queue_offset,
        end_offsets(connection, TIMER_TOPIC, [0])[0][1],
        _counts(connection),
        _runtime(connection),
        _precision(connection),
    )


def _counts(connection: BlockingConnection) -> dict[str, int] | None:
    try:
        found = loads(connection.ask(RequestCode.GET_TIMER_METRICS).body)
    except Refused:
        return None
    table = found.get("timingCount") if isinstance(found, dict) else None
    if not isinstance(table, dict):
        return None
    counts = {str(topic): each.get("count") for topic, each in table.items() if isinstance(each, dict)}
    return {topic: count for topic, count in counts.items() if isinstance(count, int)}


def _runtime(connection: BlockingConnection) -> dict[str, str]:
    try:
        table = decode_body(KVTable, connection.ask(RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    except Refused:
        return {}
    return {name: table[name] for name in sorted(table) if name.startswith("timer")}


def _precision(connection: BlockingConnection) -> int:
    try:
        text = connection.ask(RequestCode.GET_BROKER_CONFIG).body.decode("utf-8", "replace")
    except Refused:
        return PRECISION
    return parse_natural_number(parse_java_properties(text).get("timerPrecisionMs", "")) or PRECISION
