"""Keys of the broker itself: its name and addresses, what it allows, what it sends to producers."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import NEWER, OURS, key
from rocketwire.wire.addresses import MAX_PORT, Address


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerKeys:
    """The identity of the broker."""

    broker_name: str = key("the name by which clients know the broker's queues", default="broker-a")
    broker_cluster_name: str = key("the cluster the broker belongs to", default="DefaultCluster")
    broker_id: int = key("0 is the master's", default=0, form=("0", "0: this broker is always a master"))
    bind_address: str = key("the host the broker listens on", default="127.0.0.1", known=NEWER)
    listen_port: int = key("the port the broker listens on; 0 is any free one", default=10911, high=MAX_PORT)
    broker_ip1: str = key("the address that clients get; empty: the host listened on", name="brokerIP1", default="")
    fast_remoting: bool = key(
        "listen on listenPort - 2 too, where clients with the VIP channel connect", default=True, known=OURS
    )
    broker_permission: int = key("2 write, 4 read, 6 both", default=6, low=2, high=6, online=True)
    region_id: str = key("sent to producers with each answer, and stored with each message", default="DefaultRegion")
    store_region: bool = key(
        "store regionId and traceOn with each message: consumers of 5.x trace no others",
        default=True,
        known=OURS,
    )
    trace_on: bool = key("sent with each answer and stored with each message: whether clients trace it", default=True)

    @property
    def address(self) -> Address:
        """Where the broker listens."""
        return Address(host=self.bind_address, port=self.listen_port)

    @property
    def advertised_host(self) -> str:
        """The host that clients are given."""
        return self.broker_ip1 or self.bind_address
