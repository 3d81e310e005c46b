"""What is known of an endpoint: its addresses, its product and what its settings allow."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rocketwire.compat.scenario import Need
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.credentials import Credentials


class Product(StrEnum):
    """The maker of an endpoint, as far as it shows; APACHE stands for everything that is not rocketwire."""

    ROCKETWIRE = "rocketwire"
    APACHE = "Apache RocketMQ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How an endpoint is reached.

    Attributes:
        namesrv: Its name servers, HOST:PORT, several with `;` between.
        credentials: The account, where it has accounts.
        tls: Encrypts the connections.
        grpc: Where clients of 5.x connect, HOST:PORT; empty where there is nothing for them.
    """

    namesrv: str
    credentials: Credentials | None = None
    tls: ssl.SSLContext | None = None
    grpc: str = ""

    def cluster(self, *, timeout: float = 15.0) -> BlockingCluster:
        """Connections to it. Raises RemotingError when no name server can be reached."""
        return BlockingCluster(self.namesrv, timeout=timeout, credentials=self.credentials, tls=self.tls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was found out about an endpoint.

    Attributes:
        access: How it is reached.
        product: Whose it is.
        version: The version of Apache's that it reports, as `4.9.7`; empty if it reports none.
        cluster: The name of its cluster.
        offers: What its settings allow and forbid; what is not among the keys is not known.
        delays: ms of each delay level, from level 1 on; empty if it does not report them.
        settings: Lines about it for readers.
        configuration: The broker's keys and values, as far as it reports them.
    """

    access: Access
    product: Product
    version: str
    cluster: str = ""
    offers: Mapping[Need, bool] = field(default_factory=dict)
    delays: tuple[int, ...] = ()
    settings: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Product and version for readers."""
        return f"{self.product} {self.version}".strip()

    @property
    def is_rocketwire(self) -> bool:
        """Whether it is rocketwire."""
        return self.product is Product.ROCKETWIRE

    @property
    def is_apache_4(self) -> bool:
        """Whether it is, or reports to be, Apache's of 4.x."""
        return self.product is Product.APACHE and self.version.startswith("4.")

    @property
    def is_apache_5(self) -> bool:
        """Whether it is, or reports to be, Apache's of 5.x."""
        return self.product is Product.APACHE and self.version.startswith("5.")
