"""How a server's process reports that it is ready: lines for people, or one JSON object for programs.

Programs that start a server on free ports (port 0) learn its addresses so: from its output, or from a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from rocketwire import __version__
from rocketwire.server.configuration import ServerConfig
from rocketwire.server.faults.setup import banner_lines as fault_lines
from rocketwire.server.net.addresses import is_loopback, is_wildcard, machine_address
from rocketwire.store.disk.files import FileSystem
from rocketwire.wire.addresses import Address


class NotAnnounced(Exception):
    """The report that the server is ready cannot be written to the output or the port file."""

    def __init__(self, where: str, error: OSError) -> None:
        """Take what cannot be written and the system's error."""
        super().__init__(f"{where} cannot be written: {error.strerror}")


class ReadyServer(Protocol):
    """A server or proxy that is ready."""

    def document(self) -> dict[str, object]:
        """All that a program needs to use it."""

    def lines(self) -> list[str]:
        """The lines for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddresses:
    """The addresses of a server that is ready; None: it has nothing of that kind.

    Attributes:
        config: The server's configuration.
        name_server: Where its name server listens.
        broker: The broker's address that clients are given.
        http: Where its HTTP server listens.
        grpc: The separate port for clients of 5.x.
    """

    config: ServerConfig
    name_server: Address | None = None
    broker: Address | None = None
    http: Address | None = None
    grpc: Address | None = None

    def document(self) -> dict[str, object]:
        """All that a program needs to use the server, with the addresses as clients reach them."""
        return {
            "namesrv": None if self.name_server is None else str(reachable_address(self.name_server)),
            "broker": None if self.broker is None else str(self.broker),
            "http": None if self.http is None else str(reachable_address(self.http)),
            "grpc": None if self.grpc is None else str(reachable_address(self.grpc)),
            "store": str(self.config.store.folder.absolute()),
        }

    def lines(self) -> list[str]:
        """The lines that report that all is ready, with the addresses that clients use."""
        config, name_server = self.config, self.name_server
        if self.broker is None:
            return [
                f"rocketwire ready: name server {name_server}, values in {config.store.folder}",
                *access_lines(config, name_server),
                "  stop:  Ctrl-C",
            ]
        if name_server is None:
            names = ";".join(map(str, config.name_servers))
            where, used = f"broker {self.broker} of the name servers {names}", names
        else:
            where, used = f"name server {name_server}, broker {self.broker}", str(reachable_address(name_server))
        return [
            f"rocketwire ready: {where}, store {config.store.folder}",
            f'  Java:  producer.setNamesrvAddr("{used}");',
            *front_lines(self.grpc, self.http),
            *access_lines(config, name_server),
            "  stop:  Ctrl-C",
            *_clock_lines(config),
            *fault_lines(config.faults),
        ]


def front_lines(grpc: Address | None, http: Address | None) -> Iterator[str]:
    """How 5.x clients and operators reach a server or proxy that listens there."""
    if grpc is not None:
        yield f'  5.x:   ClientConfiguration.newBuilder().setEndpoints("{reachable_address(grpc)}")'
    if http is not None:
        yield f"  HTTP:  http://{reachable_address(http)}/metrics"


def access_lines(config: ServerConfig, name_server: Address | None) -> list[str]:
    """Which clients may connect: a line if more than this machine could."""
    if config.acl.acl_enable:
        return [f"  ACL:   accounts of {config.acl.path(config.store.folder)}"]
    hosts = [config.broker.bind_address, *(() if name_server is None else (name_server.host,))]
    if all(map(is_loopback, hosts)):
        return []
    return ["  open:  no access control; whoever reaches these addresses may do everything (--acl FILE)"]


def _clock_lines(config: ServerConfig) -> list[str]:
    """That the server's time may differ from the machine's."""
    if not config.clock.movable_clock:
        return []
    how = "over HTTP" if config.http is not None else "over HTTP, which needs --http"
    return [f"  CLOCK: may be moved {how} (movableClock, docs/testing-applications.md)"]


def reachable_address(listened: Address) -> Address:
    """The address that clients use where the server listens: of a wildcard, one of this machine."""
    host = listened.host
    return replace(listened, host=machine_address(ipv6=":" in host)) if is_wildcard(host) else listened


@contextlib.contextmanager
def ready_reporter(config: ServerConfig) -> Iterator[Callable[[ReadyServer], None]]:
    """Give the function that reports, in the configured form, that the process is ready.

    The port file is removed at the end, and an old one at the start.

    Raises:
        NotAnnounced: from what is yielded: the output or the port file cannot be written.
    """
    port_file = None if config.port_file is None else _PortFile(config.port_file)

    def report(ready: ReadyServer) -> None:
        document = {**ready.document(), "pid": os.getpid(), "version": __version__}
        line = json.dumps(document, separators=(",", ":"))
        if port_file is not None:
            port_file.write(line)
        _print([line] if config.json_ready else ready.lines())

    with contextlib.nullcontext() if port_file is None else contextlib.closing(port_file):
        yield report


def _print(lines: list[str]) -> None:
    try:
        print(*lines, sep="\n", flush=True)
    except OSError as error:
        # The interpreter flushes the rest at its exit: to nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise NotAnnounced("the output", error) from error


class _PortFile:
    """The file that exists while the server is ready."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._files = FileSystem()
        self.close()  # the file of a killed server would be mistaken for this one's

    def write(self, line: str) -> None:
        """Write it whole: a reader sees all of it or no file."""
        temporary = f"{self._path}.{os.getpid()}.tmp"
        try:
            self._files.write(temporary, f"{line}\n".encode(), durable=False)
            self._files.rename(temporary, self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._files.remove(temporary)
            raise NotAnnounced(f"--port-file {self._path}", error) from error

    def close(self) -> None:
        """Remove it."""
        with contextlib.suppress(OSError):
            self._files.remove(self._path)
