"""Where an endpoint is: its ports, folder and accounts, which outlive its server."""

from __future__ import annotations

import contextlib
from pathlib import Path

from rocketwire.testing.accounts import write_accounts
from rocketwire.testing.folder import TemporaryFolder
from rocketwire.testing.options import EndpointSettings, arguments
from rocketwire.testing.ports import KeptPorts


class EndpointPlace:
    """The place of one endpoint, until it is closed.

    Attributes:
        namesrv: The name server's address.
        broker: The broker's.
        http: That of faults, clock, metrics and health.
        grpc: That of clients of 5.x.
        store: The store's folder.
        stays: Whether that stays when the place is closed: then the server has to leave it whole.
        log: The file of the server's log.
        credentials: The account of the endpoint's own client; None without access control.
        arguments: Those of `rocketwire serve`.
    """

    def __init__(self, options: EndpointSettings) -> None:
        """Make it.

        Raises:
            NotStarted: a port is taken, or the accounts cannot be read.
        """
        with contextlib.ExitStack() as stack:
            kept = stack.enter_context(contextlib.closing(KeptPorts(options.ports)))
            folder = stack.enter_context(contextlib.closing(TemporaryFolder())).path
            ports = kept.ports
            self.namesrv, self.broker, self.http, self.grpc = (
                f"127.0.0.1:{port}" for port in (ports["namesrv"], ports["broker"], ports["http"], ports["grpc"])
            )
            self.stays = options.store is not None
            self.store = folder / "store" if options.store is None else options.store
            self.log = folder / "server.log"
            accounts: Path | None = None
            self.credentials = None
            if options.acl is not None:
                accounts = folder / "plain_acl.yml"
                self.credentials = write_accounts(options.acl, accounts)
            self.arguments = arguments(options, ports=ports, store=self.store, accounts=accounts)
            self._stack = stack.pop_all()

    def close(self) -> None:
        """Give the ports back, and remove the folder."""
        self._stack.close()
