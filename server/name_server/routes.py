"""The name server's state: registered brokers and their topics.

A broker registers every 30 s; it is removed 120 s after the last registration, or when the connection that it
registered on closes. Brokers of the same process register through the same service, without a socket.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import trio

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.waiting import ExpiryRounds
from rocketwire.server.core.errors import RouteNotFound
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import in_batches
from rocketwire.server.core.request import Peer
from rocketwire.server.name_server.advertised import Advertising
from rocketwire.wire import names
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, QueueData, TopicRouteData
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig

log = logging.getLogger(__name__)

MOST_BROKERS: Final = 1000
MOST_ROUTES: Final = 200_000
"""The most topics of all brokers, each counted for each broker."""
MOST_TEXT: Final = 16 * 1024
"""The most characters of a broker's names, addresses and filter servers: an answer may contain 1000 brokers."""
MOST_TOPIC_NAME: Final = names.MAX_RETRY_TOPIC_LENGTH
"""The most characters of a topic's name: the longest that brokers accept."""
BROKER_EXPIRY_SECONDS: Final = 120.0
_SCAN_SECONDS: Final = 10.0
_MASTER_ID: Final = 0
_MOST_AT_ONCE: Final = 8192
"""The most topics of removed brokers that are dropped before other tasks run: 3 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerIdentity:
    """A broker's identity: cluster, name, id (0 = master) and the address for clients."""

    cluster: str
    name: str
    broker_id: int
    address: str


@dataclass(slots=True)
class _LiveBroker:
    """The state of one registered address."""

    identity: BrokerIdentity
    data_version: DataVersion
    ha_address: str
    filter_servers: tuple[str, ...]
    peer: Peer | None
    last_seen: float


@dataclass(slots=True)
class _BrokerSet:
    """The addresses that share a broker name, by broker id."""

    cluster: str
    addresses: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """The answer to a registration: the master's addresses, if the broker is a slave."""

    ha_server_address: str | None = None
    master_address: str | None = None


def queues_of(broker: str, topics: Mapping[str, TopicConfig]) -> dict[str, QueueData]:
    """A broker's queues of each of its topics, as the name server stores them; takes 2 us a topic."""
    return {
        topic: QueueData(
            broker_name=broker,
            read_queue_nums=config.read_queue_nums,
            write_queue_nums=config.write_queue_nums,
            perm=config.perm,
            topic_sys_flag=config.topic_sys_flag,
        )
        for topic, config in topics.items()
    }


class RouteTable:
    """Brokers and the queues of their topics."""

    def __init__(self, advertising: Advertising | None = None) -> None:
        """Make an empty table; without `advertising` every client gets the same addresses."""
        self._advertising = advertising
        self._live: dict[str, _LiveBroker] = {}
        self._sets: dict[str, _BrokerSet] = {}
        self._queues: dict[str, dict[str, QueueData]] = {}  # topic -> broker name -> queues
        self._topics: dict[str, dict[str, None]] = {}  # broker name -> its topics
        self._routes = 0
        self._leaving: deque[_LiveBroker] = deque()  # their connection has closed
        self._more = trio.Event()
        self._rounds = ExpiryRounds()

    def register(
        self,
        identity: BrokerIdentity,
        *,
        queues: Mapping[str, QueueData] | None,
        data_version: DataVersion,
        ha_address: str,
        filter_servers: tuple[str, ...] = (),
        peer: Peer | None = None,
    ) -> BrokerRegistration:
        """Enter or refresh a broker. Its topics that are not in `topics`, or all if None, stay as they are.

        Raises:
            LimitExceeded: there are too many brokers, it would have too many topics, or its names and addresses are too
                long; nothing is changed.
        """
        if peer is not None:  # the broker of this process has other limits
            texts = (identity.cluster, identity.name, identity.address, ha_address, *filter_servers)
            self._check_room(identity, queues, sum(map(len, texts)))
        brokers = self._sets.setdefault(identity.name, _BrokerSet(identity.cluster))
        brokers.cluster = identity.cluster
        for broker_id, address in list(brokers.addresses.items()):
            if address == identity.address and broker_id != identity.broker_id:
                del brokers.addresses[broker_id]  # a slave that became master, or the reverse
        brokers.addresses[identity.broker_id] = identity.address
        known = self._live.get(identity.address)
        if queues is not None and identity.broker_id == _MASTER_ID:
            changed = known is None or known.data_version != data_version
            self._enter_topics(identity.name, queues, replace_all=changed)
        self._live[identity.address] = _LiveBroker(
            identity, data_version, ha_address, filter_servers, peer, trio.current_time()
        )
        if known is None:
            log.info("new broker %(broker)s at %(address)s", {"broker": identity.name, "address": identity.address})
        return self._master_for(identity, brokers)

    def _check_room(self, identity: BrokerIdentity, topics: Mapping[str, QueueData] | None, text: int) -> None:
        if text > MOST_TEXT:
            raise LimitExceeded("brokerText", MOST_TEXT)
        if identity.address not in self._live and len(self._live) >= MOST_BROKERS:
            raise LimitExceeded("brokers", MOST_BROKERS)
        new = sum(identity.name not in self._queues.get(topic, ()) for topic in topics or ())
        if new and self._routes + new > MOST_ROUTES:
            raise LimitExceeded("routes", MOST_ROUTES)
        if topics and max(map(len, topics)) > MOST_TOPIC_NAME:
            raise LimitExceeded("topicName", MOST_TOPIC_NAME)

    def _enter_topics(self, broker: str, queues: Mapping[str, QueueData], *, replace_all: bool) -> None:
        own = self._topics.setdefault(broker, {})
        for topic, data in queues.items():
            if topic in own and not replace_all:
                continue
            self._queues.setdefault(topic, {})[broker] = data
            self._routes += topic not in own
            own[topic] = None

    def _master_for(self, identity: BrokerIdentity, brokers: _BrokerSet) -> BrokerRegistration:
        if identity.broker_id == _MASTER_ID:
            return BrokerRegistration()
        master = brokers.addresses.get(_MASTER_ID)
        live = self._live.get(master) if master else None
        if live is None:
            return BrokerRegistration()
        return BrokerRegistration(ha_server_address=live.ha_address, master_address=master)

    def unregister(self, identity: BrokerIdentity) -> None:
        """Remove a broker's address and, if it was the last of its name, the queues of that name."""
        self._live.pop(identity.address, None)
        brokers = self._sets.get(identity.name)
        if brokers is None:
            return
        if brokers.addresses.get(identity.broker_id) == identity.address:
            del brokers.addresses[identity.broker_id]
        if brokers.addresses:
            return
        del self._sets[identity.name]
        own = self._topics.pop(identity.name, {})
        self._routes -= len(own)
        for topic in own:
            by_broker = self._queues[topic]
            del by_broker[identity.name]
            if not by_broker:
                del self._queues[topic]

    def changed(self, identity: BrokerIdentity, data_version: DataVersion) -> bool:
        """Whether a broker's topics differ from the registered ones; if not, this refreshes its registration."""
        live = self._live.get(identity.address)
        if live is None or live.data_version != data_version:
            return True
        live.last_seen = trio.current_time()
        return False

    def serves(self, identity: BrokerIdentity, data_version: DataVersion) -> bool:
        """Whether the table still has a broker's registration with this version, unchanged."""
        live, brokers = self._live.get(identity.address), self._sets.get(identity.name)
        return (
            live is not None
            and live.data_version == data_version
            and brokers is not None
            and brokers.addresses.get(identity.broker_id) == identity.address
        )

    def data_version(self, address: str) -> DataVersion | None:
        """The topics' version in the last registration of the broker at `address`."""
        live = self._live.get(address)
        return live.data_version if live else None

    def queues(self, topic: str) -> list[QueueData]:
        """The queues of a topic, of each broker that serves it."""
        return [data for broker, data in self._queues.get(topic, {}).items() if broker in self._sets]

    def route(self, topic: str, peer: Peer | None = None) -> TopicRouteData:
        """The brokers and queues of a topic, with the addresses for the client `peer`.

        Raises:
            RouteNotFound: no registered broker serves it.
        """
        queues = self.queues(topic)
        if not queues:
            raise RouteNotFound(topic)
        brokers = [self._broker_data(data.broker_name, peer) for data in queues]
        addresses = [address for broker in brokers for address in broker.broker_addrs.values()]
        filters = {a: live.filter_servers for a in addresses if (live := self._live.get(a)) and live.filter_servers}
        return TopicRouteData(broker_datas=tuple(brokers), queue_datas=tuple(queues), filter_server_table=filters)

    def _broker_data(self, name: str, peer: Peer | None) -> BrokerData:
        brokers = self._sets[name]
        addresses = dict(brokers.addresses)
        if self._advertising is not None and peer is not None:
            seen_from = self._advertising.seen_from
            addresses = {number: seen_from(peer.remote_text, address) for number, address in addresses.items()}
        return BrokerData(cluster=brokers.cluster, broker_name=name, broker_addrs=addresses)

    def clusters(self, peer: Peer | None = None) -> ClusterInfo:
        """All brokers by name, with the addresses for the client `peer`, and their names by cluster."""
        by_cluster: dict[str, list[str]] = {}
        for name, brokers in self._sets.items():
            by_cluster.setdefault(brokers.cluster, []).append(name)
        return ClusterInfo(
            broker_addr_table={name: self._broker_data(name, peer) for name in self._sets},
            cluster_addr_table={cluster: tuple(names) for cluster, names in by_cluster.items()},
        )

    def topics(self) -> list[str]:
        """The names of all topics of all brokers."""
        return list(self._queues)

    # --- administration ---

    def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        """Remove a topic's queues, or those of one cluster's brokers, until its brokers register it again."""
        by_broker = self._queues.get(topic, {})
        for broker in [name for name in by_broker if not cluster or self._is_of(name, cluster)]:
            del by_broker[broker]
            del self._topics[broker][topic]
            self._routes -= 1
        if topic in self._queues and not by_broker:
            del self._queues[topic]

    def _is_of(self, broker: str, cluster: str) -> bool:
        return broker in self._sets and self._sets[broker].cluster == cluster

    def change_permission(self, broker: str, changed: Callable[[int], int]) -> Operation[int]:
        """Change the permission of a broker's topics until it registers them again; return how many it has."""
        count = 0
        for part in in_batches(list(self._topics.get(broker, ()))):
            for topic in part:
                data = self._queues.get(topic, {}).get(broker)
                if data is not None:
                    self._queues[topic][broker] = replace(data, perm=changed(data.perm))
                    count += 1
            yield None
        return count

    def topics_of_cluster(self, cluster: str) -> Operation[list[str]]:
        """The topics of the brokers of a cluster."""
        found: dict[str, None] = {}
        for broker in [name for name in self._sets if self._is_of(name, cluster)]:
            found.update(self._topics.get(broker, {}))
            yield None
        return list(found)

    def topics_with_flags(self, chosen: Callable[[int], bool]) -> Operation[list[str]]:
        """The topics whose flags are chosen; if brokers differ, the first one's count."""
        found: list[str] = []
        for part in in_batches(list(self._queues)):
            for topic in part:
                data = next(iter(self._queues.get(topic, {}).values()), None)
                if data is not None and chosen(data.topic_sys_flag):
                    found.append(topic)
            yield None
        return found

    # --- brokers that go ---

    def peer_closed(self, peer: Peer) -> None:
        """Remove the brokers that registered on a closed connection, in the background if they have many topics."""
        topics = 0
        for live in [live for live in self._live.values() if live.peer is peer]:
            log.info(
                "broker %(broker)s at %(address)s: connection closed",
                {"broker": live.identity.name, "address": live.identity.address},
            )
            topics += len(self._topics.get(live.identity.name, ())) + 1
            if topics <= _MOST_AT_ONCE:
                self.unregister(live.identity)
            else:
                self._leaving.append(live)
                self._more.set()

    def expire(self) -> None:
        """Remove brokers that have not registered for 120 s."""
        for _ in self._expiring():
            pass

    def _expiring(self) -> Generator[None, None, None]:
        silent, last = 0, ""
        limit = self._rounds.limit(BROKER_EXPIRY_SECONDS)
        for live in [live for live in self._live.values() if live.last_seen < limit]:
            if live.last_seen < limit and self._is_known(live):
                silent, last = silent + 1, f"{live.identity.name} at {live.identity.address}"
                self.unregister(live.identity)
            yield
        if silent:
            log.info("%(count)d brokers sent no registration, the last: %(last)s", {"count": silent, "last": last})

    def _is_known(self, live: _LiveBroker) -> bool:
        """Whether it has neither registered again nor been removed."""
        return self._live.get(live.identity.address) is live

    async def run(self, budget: BackgroundBudget) -> None:
        """Expire brokers as background work, and remove those of closed connections; never returns."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._forget_leaving)
            while True:
                await self._rounds.pause(_SCAN_SECONDS)
                await budget.carry_out(self._expiring())

    async def _forget_leaving(self) -> None:
        while True:
            while self._leaving:
                live = self._leaving.popleft()
                if self._is_known(live):
                    self.unregister(live.identity)
                await trio.lowlevel.checkpoint()
            self._more = trio.Event()
            await self._more.wait()
