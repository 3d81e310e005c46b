"""One broker among the others of its cluster: its registrations, the routes it knows, and how queues are assigned."""

from __future__ import annotations

import trio

from rocketwire.server.assignments.assignments import Assignments
from rocketwire.server.assignments.keys import AssignmentKeys
from rocketwire.server.broker.foundation import Foundation
from rocketwire.server.broker.tables import BrokerTables
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.name_server.registration import Registration, topics_to_register
from rocketwire.server.name_server.routes import BrokerIdentity, RouteTable
from rocketwire.server.upstream.registration import RemoteRegistration
from rocketwire.server.upstream.routes import RemoteRoutes
from rocketwire.wire.addresses import Address


class BrokerCluster:
    """A broker's registrations at name servers, and what it reads from them.

    Attributes:
        address: The broker's address that clients are given.
        elsewhere: Its registration at other name servers.
        assignments: Which queues each consumer of a group gets.
    """

    def __init__(
        self, base: Foundation, tables: BrokerTables, clients: ClientGroups, routes: RouteTable, advertised: Address
    ) -> None:
        config, broker_keys = base.started, base.config[BrokerKeys]
        self.address = str(advertised)
        self._routes = RemoteRoutes(config.name_servers, config.broker.broker_name, routes.queues)
        self.assignments = Assignments(
            tables.request_modes,
            broker_name=config.broker.broker_name,
            clients=clients,
            groups=tables.groups,
            keys=base.config[AssignmentKeys],
            routes=self._routes.queues,
            topics=tables.topics,
        )
        identity = BrokerIdentity(
            cluster=config.broker.broker_cluster_name,
            name=config.broker.broker_name,
            broker_id=config.broker.broker_id,
            address=self.address,
        )
        ha_address = str(Address(host=advertised.host, port=advertised.port + 1))
        self._registration = Registration(
            identity, ha_address=ha_address, routes=routes, topics=tables.topics, broker_keys=broker_keys
        )
        self.elsewhere = RemoteRegistration(
            config.name_servers,
            identity,
            ha_address=ha_address,
            topics=lambda changed: topics_to_register(tables.topics, broker_keys.current, changed),
        )
        tables.topics.changed.subscribe(self._registration.register)
        tables.topics.changed.subscribe(self.elsewhere.register)

    def start(self, nursery: trio.Nursery) -> None:
        """Register, and repeat that regularly."""
        self._registration.register()
        nursery.start_soon(self._registration.run)
        nursery.start_soon(self.elsewhere.run)
        nursery.start_soon(self._routes.run)

    def leave(self) -> None:
        """Take the registration at this process's name server back."""
        self._registration.unregister()
