"""How a server's process tells that it is ready: lines for people, or one JSON object for programs.

Programs that start a server on free ports (port 0) learn its addresses so: from its output, or from a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping

from rocketwire import __version__
from rocketwire.server.banner import reachable_address, ready_lines
from rocketwire.server.configuration import ServerConfig
from rocketwire.store.disk.files import RealFileSystem
from rocketwire.wire.addresses import Address

Announce = Callable[[Address | None, Address | None, Address | None, Address | None], None]
"""Tells that all is ready; takes the addresses of name server, broker, HTTP and gRPC, None for what there is not."""


class NotAnnounced(Exception):
    """Nobody can be told that the server is ready: the output or the port file cannot be written."""

    def __init__(self, where: str, error: OSError) -> None:
        """Take what cannot be written and the system's error."""
        super().__init__(f"{where} cannot be written: {error.strerror}")


ReportReady = Callable[[Mapping[str, object], Callable[[], list[str]]], None]
"""Tells that all is ready: the object for programs, and the lines for people."""


@contextlib.contextmanager
def ready_announcer(config: ServerConfig) -> Iterator[Announce]:
    """What announces that the server is ready. The port file is removed at the end, and one left over at the start.

    Raises:
        NotAnnounced: from what is yielded: the output or the port file cannot be written.
    """
    with ready_reporter(config) as tell:

        def announce(
            name_server: Address | None, broker: Address | None, http: Address | None, grpc: Address | None
        ) -> None:
            tell(
                _document(config, name_server, broker, http, grpc),
                lambda: ready_lines(config, name_server, broker, http, grpc),
            )

        yield announce


@contextlib.contextmanager
def ready_reporter(config: ServerConfig) -> Iterator[ReportReady]:
    """What tells that a process is ready, in the form that is configured.

    Raises:
        NotAnnounced: from what is yielded, as with `ready_announcer`.
    """
    port_file = None if config.port_file is None else _PortFile(config.port_file)

    def tell(document: Mapping[str, object], lines: Callable[[], list[str]]) -> None:
        line = json.dumps({**document, "pid": os.getpid(), "version": __version__}, separators=(",", ":"))
        if port_file is not None:
            port_file.write(line)
        _print([line] if config.json_ready else lines())

    with contextlib.nullcontext() if port_file is None else contextlib.closing(port_file):
        yield tell


def _document(
    config: ServerConfig,
    name_server: Address | None,
    broker: Address | None,
    http: Address | None,
    grpc: Address | None,
) -> dict[str, object]:
    """All that a program needs to use the server, with the addresses as clients reach them."""
    return {
        "namesrv": None if name_server is None else str(reachable_address(name_server)),
        "broker": None if broker is None else str(broker),
        "http": None if http is None else str(reachable_address(http)),
        "grpc": None if grpc is None else str(reachable_address(grpc)),
        "store": str(config.store.folder.absolute()),
    }


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
        self._files = RealFileSystem()
        self.close()  # one that a killed server left would be taken for this one's

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
