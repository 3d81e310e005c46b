"""Registration of the broker with the name server of the same process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import trio

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.name_server.routes import BrokerIdentity, RouteTable, queues_of
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig
from rocketwire.wire.facts.codes import Permission

PERIOD_SECONDS: Final = 30.0
"""Between two registrations of a broker, at any name server."""
_READ_WRITE: Final = Permission.READ | Permission.WRITE


def topics_to_register(
    topics: BrokerTopics, keys: BrokerKeys, changed: Iterable[TopicConfig] | None
) -> tuple[DataVersion, dict[str, TopicConfig]]:
    """The version of the topics, and those that changed, or all for None, restricted by the broker's permission."""
    table, allowed = topics.table, keys.broker_permission
    found = dict(table.configs) if changed is None else {topic.topic_name: topic for topic in changed}
    if allowed & _READ_WRITE != _READ_WRITE:
        found = {name: replace(topic, perm=topic.perm & allowed) for name, topic in found.items()}
    return table.data_version, found


class Registration:
    """Keeps one broker registered: at the start, every 30 s, and whenever its topics change.

    Only changed topics are sent, unless the name server has lost the former registration.
    """

    def __init__(
        self,
        identity: BrokerIdentity,
        *,
        ha_address: str,
        routes: RouteTable,
        topics: BrokerTopics,
        broker_keys: LiveGroup[BrokerKeys],
    ) -> None:
        self._identity = identity
        self._ha_address = ha_address
        self._routes = routes
        self._topics = topics
        self._broker_keys = broker_keys
        self._registered: DataVersion | None = None

    def register(self, changed: Iterable[TopicConfig] | None = None) -> None:
        """Register the topics with the name server, restricted by the broker's permission.

        Only the changed ones; None: any may have changed.
        """
        if self._registered is None or not self._routes.serves(self._identity, self._registered):
            changed = None
        version, topics = topics_to_register(self._topics, self._broker_keys.current, changed)
        queues = queues_of(self._identity.name, topics)
        self._routes.register(self._identity, queues=queues, data_version=version, ha_address=self._ha_address)
        self._registered = version

    def unregister(self) -> None:
        """Remove the registration."""
        self._routes.unregister(self._identity)

    async def run(self) -> None:
        """Register periodically; never returns."""
        while True:
            self.register(())
            await trio.sleep(PERIOD_SECONDS)
