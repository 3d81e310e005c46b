"""The sockets of a server: bound before anything is opened, so that a port that is taken touches no store."""

from __future__ import annotations

import contextlib
import logging
import socket
from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import NAME_SERVER, ServerConfig
from rocketwire.server.grpc.keys import DEFAULT_ADDRESS
from rocketwire.server.net.listener import AddressInUse, bind, listened_address
from rocketwire.wire.addresses import Address

log = logging.getLogger(__name__)

_VIP_PORT_BELOW: Final = 2
_FREE_PAIR_ATTEMPTS: Final = 20
"""How many free ports are tried (port 0) until the one two below is free as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSockets:
    """What is listened on; None: nothing of that kind.

    Attributes:
        config: Where to listen.
        name_server: For clients of the name server.
        broker: For clients of the broker; the first has its port.
        http: For operators.
        grpc: For clients of 5.x.
    """

    config: ServerConfig
    name_server: socket.socket | None
    broker: list[socket.socket]
    http: socket.socket | None
    grpc: socket.socket | None

    @classmethod
    def bind(cls, config: ServerConfig, stack: contextlib.ExitStack) -> ServerSockets:
        """Listen on all addresses of a configuration until the stack unwinds.

        Raises:
            AddressInUse: a port cannot be had.
        """

        def listen(address: Address | None, option: str) -> socket.socket | None:
            return None if address is None else stack.enter_context(bind(address.host, address.port, option=option))

        name_server = listen(config.name_server, "--namesrv")
        broker = [stack.enter_context(sock) for sock in _bind_broker(config.broker)]
        http = listen(config.http, "--http")
        grpc = listen(config.grpc.address, "--grpc")
        if config.grpc.address is None and config.grpc.automatic:
            try:
                grpc = listen(DEFAULT_ADDRESS, "--grpc")
            except AddressInUse as error:
                log.warning(
                    "5.x clients are served on the broker's port only: %(reason)s; --grpc names another",
                    {"reason": error},
                )
        return cls(config=config, name_server=name_server, broker=broker, http=http, grpc=grpc)

    @property
    def port(self) -> int:
        """The broker's port."""
        port: int = self.broker[0].getsockname()[1]
        return port

    @property
    def advertised(self) -> Address:
        """The broker's address that clients are given."""
        return Address(host=self.config.broker.advertised_host, port=self.config.advertised_port or self.port)

    @property
    def for_broker(self) -> list[socket.socket]:
        """Those that the broker's connections come to, of both generations of clients."""
        return self.broker if self.grpc is None else [*self.broker, self.grpc]

    @property
    def name_server_address(self) -> Address | None:
        """Where the name server listens."""
        if self.name_server is None:
            return None
        return listened_address(self.name_server, self.config.name_server or NAME_SERVER)

    @property
    def grpc_address(self) -> Address | None:
        """The address of the separate port for clients of 5.x."""
        return None if self.grpc is None else listened_address(self.grpc, self.config.grpc.address or DEFAULT_ADDRESS)

    def log_addresses(self) -> None:
        """Log where each listens."""
        listens = (
            ("name server", self.name_server),
            *(("broker", sock) for sock in self.broker),
            ("gRPC", self.grpc),
        )
        for what, sock in listens:
            if sock is None:
                continue
            host, port = sock.getsockname()[:2]  # of a name with several addresses, the one taken
            log.info("%(what)s listens on %(address)s", {"what": what, "address": Address(host=host, port=port)})


def _bind_broker(keys: BrokerKeys) -> list[socket.socket]:
    """The broker's sockets: its port, and two below it for clients that use the VIP channel."""
    for attempts_left in reversed(range(1 if keys.listen_port else _FREE_PAIR_ATTEMPTS)):
        main = bind(keys.bind_address, keys.listen_port, option="--broker")
        port = main.getsockname()[1]
        if not keys.fast_remoting or port <= _VIP_PORT_BELOW:
            break
        try:
            return [main, bind(keys.bind_address, port - _VIP_PORT_BELOW, option="--broker port - 2, fastRemoting")]
        except AddressInUse:
            main.close()
            if not attempts_left:
                raise
    return [main]
