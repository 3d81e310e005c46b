"""The brokers of a cluster: where they are, how they do, and their configuration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rocketwire.remoting.connection import BlockingConnection
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, KVTable
from rocketwire.wire.facts.codes import RequestCode

_MASTER: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredBroker:
    """One address that is registered under a broker's name; id 0 is the master."""

    cluster: str
    name: str
    broker_id: int
    address: str

    @property
    def is_master(self) -> bool:
        """Whether it takes changes."""
        return self.broker_id == _MASTER


def registered_brokers(info: ClusterInfo) -> list[RegisteredBroker]:
    """All addresses of all brokers, by cluster, name and id."""
    return brokers_of(info.broker_addr_table.values(), info)


def brokers_of(datas: Iterable[BrokerData], info: ClusterInfo | None = None) -> list[RegisteredBroker]:
    """The addresses of some brokers, by cluster, name and id; `info` has the clusters of those that name none."""
    of_name = {} if info is None else {name: each for each, names in info.cluster_addr_table.items() for name in names}
    found = (
        RegisteredBroker(
            cluster=data.cluster or of_name.get(data.broker_name, ""),
            name=data.broker_name,
            broker_id=broker_id,
            address=address,
        )
        for data in datas
        for broker_id, address in data.broker_addrs.items()
    )
    return sorted(found, key=lambda each: (each.cluster, each.name, each.broker_id))


def masters_only(brokers: Iterable[RegisteredBroker]) -> list[RegisteredBroker]:
    """Of each broker the address with the lowest id: the master, if there is one."""
    found: dict[tuple[str, str], RegisteredBroker] = {}
    for each in brokers:
        key = each.cluster, each.name
        if key not in found or each.broker_id < found[key].broker_id:
            found[key] = each
    return list(found.values())


def runtime_info(broker: BlockingConnection) -> dict[str, str]:
    """How a broker does (28): texts by key."""
    return decode_body(KVTable, broker.ask(RequestCode.GET_BROKER_RUNTIME_INFO).body).table


def configuration(broker: BlockingConnection) -> str:
    """A broker's configuration (26), in Java's properties format."""
    return str(broker.ask(RequestCode.GET_BROKER_CONFIG).body, "utf-8", "replace")


def change_configuration(broker: BlockingConnection, properties: str) -> None:
    """Change keys of a broker's configuration (25), given in Java's properties format."""
    broker.ask(RequestCode.UPDATE_BROKER_CONFIG, body=properties.encode())
