"""Following the queues of a topic by long polling: one thread a broker, which connects again when the broker restarts.

A thread that watches the topic's route starts those of new brokers, and tells the others about new queues.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rocketwire.cli.message.pulls import PULLED_AT_ONCE, PulledQueueMessages
from rocketwire.cli.message.reading import PulledRange, Report, pulled
from rocketwire.cli.message.selection import MessageSelection
from rocketwire.cli.online import ClusterAccess
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.errors import AccessDenied, NoBroker, NoSuchTopic, NotReached, Refused, RemotingError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode

LOOKED_AT_SECONDS: Final = 3.0
"""How often the route is looked at for new queues and brokers."""
AGAIN_SECONDS: Final = 1.0
"""The pause before a broker is tried again."""
_SUSPEND_MS: Final = 10_000
#: Apache's broker looks at waiting pulls every 5 s.
_SILENT_SECONDS: Final = 2.5 * _SUSPEND_MS / 1000
_TICK_SECONDS: Final = 0.2
_MOST_WAITING: Final = 64
_PASSING: Final = frozenset(
    {
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.FLOW_CONTROL,
    }
)
"""What a broker answers that starts, stops or has too much to do."""


class Place(NamedTuple):
    """A queue of a broker."""

    broker: str
    queue_id: int


class Arrived(NamedTuple):
    """What a pull brought: selected messages, and the offset up to which the queue is read."""

    place: Place
    pulled: PulledRange


class Follower:
    """Follows a topic from given offsets on.

    Args:
        starts: The offset to begin at, by queue. Queues that appear later are read from their beginning.
        wanted: The numbers of the queues to read; empty for all.
        report: Gets a line about a lost connection, its return, and what cannot be read.
    """

    def __init__(
        self,
        endpoint: ClusterAccess,
        topic: str,
        starts: Mapping[Place, int],
        selection: MessageSelection,
        report: Report,
        *,
        group: str,
        wanted: frozenset[int] = frozenset(),
    ) -> None:
        """Start the threads."""
        self.topic = topic
        self.selection = selection
        self.group = group
        self.report = report
        self.arrived: queue.Queue[Arrived | Exception] = queue.Queue(_MOST_WAITING)
        self._endpoint = endpoint
        self._wanted = wanted
        self._brokers: dict[str, _Broker] = {}
        self._known = set(starts)
        for place, offset in starts.items():
            self._follow(place, offset)
        for broker in self._brokers.values():
            broker.start()
        threading.Thread(target=self._watch, name="route", daemon=True).start()

    def __iter__(self) -> Iterator[Arrived]:
        """What arrives, for ever.

        Raises:
            Refused: a broker refuses for good.
        """
        while True:
            try:
                found = self.arrived.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                continue
            if isinstance(found, Exception):
                raise found
            yield found

    def connected(self) -> BlockingCluster:
        """A new cluster of the endpoint, which waits longer than a broker holds a pull."""
        return self._endpoint.unwatched(_SILENT_SECONDS)

    def _follow(self, place: Place, offset: int) -> None:
        broker = self._brokers.get(place.broker)
        if broker is None:
            broker = self._brokers[place.broker] = _Broker(self, place.broker)
        broker.add(place.queue_id, offset)

    def _watch(self) -> None:
        """Look for new queues and brokers; while no name server answers there are none."""
        while True:
            time.sleep(LOOKED_AT_SECONDS)
            try:
                with self.connected() as cluster:
                    places = {Place(*each) for each in cluster.readable_queues(self.topic)}
            except (NoSuchTopic, NotReached, Refused):
                continue
            for place in sorted(places - self._known):
                if self._wanted and place.queue_id not in self._wanted:
                    continue
                self._known.add(place)
                self.report(f"{self.topic}, broker {place.broker}: queue {place.queue_id} is new")
                new = place.broker not in self._brokers
                self._follow(place, 0)
                if new:
                    self._brokers[place.broker].start()


class _Broker(threading.Thread):
    """Pulls from the queues of one broker; every queue has one pull under way."""

    def __init__(self, follower: Follower, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._follower = follower
        self._offsets: dict[int, int] = {}
        self._new: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
        self._lost = False

    def add(self, queue_id: int, offset: int) -> None:
        """Follow one more queue."""
        self._new.put((queue_id, offset))

    def run(self) -> None:
        """Follow until the program ends, or the broker refuses."""
        while True:
            try:
                with self._follower.connected() as cluster:
                    self._pull(cluster.broker(self.name))
            except AccessDenied as error:
                self._follower.arrived.put(error)
                return
            except (NotReached, NoBroker) as error:
                self._say_lost(error)
            except Refused as error:
                if error.code not in _PASSING:
                    self._follower.arrived.put(error)
                    return
                self._say_lost(error)
            except Exception as error:  # noqa: BLE001 - the main thread raises it
                self._follower.arrived.put(error)
                return
            time.sleep(AGAIN_SECONDS)

    def _say_lost(self, error: RemotingError) -> None:
        if not self._lost:
            self._lost = True
            self._follower.report(f"{error}; trying again until {self.name} is back")

    def _pull(self, connection: BlockingConnection) -> None:
        """Pull by long polling until the connection fails.

        Raises:
            NotReached, Refused: the connection failed, or the broker refuses.
        """
        waiting: dict[int, int] = {}
        for queue_id in self._offsets:
            waiting[self._send(connection, queue_id)] = queue_id
        heard = time.monotonic()
        while True:
            while not self._new.empty():
                queue_id, offset = self._new.get()
                self._offsets[queue_id] = offset
                waiting[self._send(connection, queue_id)] = queue_id
            found = connection.next_answer(_TICK_SECONDS)
            if found is None:
                if waiting and time.monotonic() - heard > _SILENT_SECONDS:
                    raise NotReached(connection.what, f"no answer within {_SILENT_SECONDS:g} s")
                continue
            heard = time.monotonic()
            queue_id = waiting.pop(found[0])
            asked = self._offsets[queue_id]
            place = PulledQueueMessages(self.name, connection, self._follower.topic, queue_id)
            got = pulled(place, asked, found[1], self._follower.report)
            if self._lost:
                self._lost = False
                self._follower.report(f"broker {self.name} is back")
            if got.gone:
                self._follower.report(f"{place}: offset {asked} is not there: going on at {got.reached}")
            self._offsets[queue_id] = got.reached
            waiting[self._send(connection, queue_id)] = queue_id
            if got.reached != asked:
                self._follower.arrived.put(Arrived(Place(self.name, queue_id), got))

    def _send(self, connection: BlockingConnection, queue_id: int) -> int:
        fields = self._follower.selection.header(
            self._follower.topic,
            queue_id,
            self._offsets[queue_id],
            group=self._follower.group,
            most=PULLED_AT_ONCE,
            suspend_ms=_SUSPEND_MS,
        )
        return connection.send(RequestCode.PULL_MESSAGE, fields)
