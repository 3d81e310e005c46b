"""The endpoints under test: rocketwire, or Apache's own name server and broker, started on free ports.

Theory: a test knows an endpoint only by its addresses and by stop, start and restart; so the same test runs against
both, and a test that fails on one only is a difference between them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

from compat_tests.readme import ROOT
from rocketwire.compat.brokers.apache import COMMIT_LOG_FILE_SIZE, ApacheBroker, ApacheNameServer
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.brokers.processes import READY_WITHIN, EndpointError, Process


class Startable(Protocol):
    """What `running` runs."""

    def start(self) -> None:
        """Start it and return when a client can use it. Raises EndpointError."""

    def stop(self) -> None:
        """Stop it cleanly. Raises EndpointError when it does not stop as it should."""


class Endpoint(Startable, Protocol):
    """A name server and a broker under test."""

    @property
    def namesrv(self) -> str:
        """The name server's address, HOST:PORT."""

    @property
    def broker(self) -> str:
        """The broker's address, HOST:PORT."""

    def kill(self) -> None:
        """Kill the broker, and what shares its process, with SIGKILL; `start` starts it again on the same store."""

    def restart(self) -> None:
        """Stop it cleanly and start it again on the same store."""


Started = TypeVar("Started", bound=Startable)


class Rocketwire:
    """`rocketwire serve` with a store of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: Mapping[str, str] | None = None,
        host: str = LOOPBACK,
        advertise: str | None = None,
        ports: tuple[int, int] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        """`ports`: the name server's and the broker's, if not free ones; `options`: more of the command line."""
        self._folder = folder
        self._host = host
        self._advertise = advertise
        self._namesrv_port, self._broker_port = ports or free_ports(host)
        self._settings = {
            "mappedFileSizeCommitLog": str(COMMIT_LOG_FILE_SIZE),
            # The usage of the machine's disk must not matter to a test.
            "diskSpaceWarningLevelRatio": "100",
            "diskSpaceCleanForciblyRatio": "100",
            "brokerFastFailureEnable": "false",  # a busy machine is no reason to refuse
            **(settings or {}),
        }
        self._options = options
        self._process: Process | None = None

    @property
    def store(self) -> Path:
        """The store directory."""
        return self._folder / "store"

    @property
    def namesrv(self) -> str:
        """The name server's address."""
        return f"{self._host}:{self._namesrv_port}"

    @property
    def broker(self) -> str:
        """The broker's address."""
        return f"{self._host}:{self._broker_port}"

    def start(self) -> None:
        """Start it and wait for its "ready" line."""
        command: list[str | Path] = [sys.executable, "-m", "rocketwire", "serve"]
        command += ["--namesrv", self.namesrv, "--broker", self.broker, "--store", self.store]
        if self._advertise is not None:
            command += ["--advertise", self._advertise]
        for key, value in self._settings.items():
            command += ["--set", f"{key}={value}"]
        command += self._options
        self._process = Process("rocketwire", command, cwd=ROOT, env=os.environ)
        self._process.wait_for("rocketwire ready", within=READY_WITHIN)  # "ready" is in "already in use" too

    def stop(self) -> None:
        """Stop it as a service manager does; a clean stop ends with code 0."""
        process, self._process = self._process, None
        if process is not None and (code := process.stop()) != 0:
            raise EndpointError(f"rocketwire ended with code {code} after SIGTERM: {process.tail()}")

    def kill(self) -> None:
        """Kill it."""
        process, self._process = self._process, None
        if process is not None:
            process.stop(signal.SIGKILL)

    def restart(self) -> None:
        """Stop it cleanly and start it again on the same store."""
        self.stop()
        self.start()


class Apache:
    """Apache's own name server and broker."""

    def __init__(
        self,
        folder: Path,
        *,
        version: str = "4.9.7",
        settings: Mapping[str, str] | None = None,
        host: str = LOOPBACK,
    ) -> None:
        namesrv, port = free_ports(host)
        self._name_server = ApacheNameServer(folder, address=f"{host}:{namesrv}", version=version)
        self._broker = ApacheBroker(
            folder, namesrv=self.namesrv, port=port, version=version, host=host, settings=settings
        )

    @property
    def namesrv(self) -> str:
        """The name server's address."""
        return self._name_server.address

    @property
    def broker(self) -> str:
        """The broker's address."""
        return self._broker.broker

    def start(self) -> None:
        """Start the name server unless it runs, then the broker."""
        self._name_server.start()
        self._broker.start()

    def kill(self) -> None:
        """Kill the broker; the name server keeps running."""
        self._broker.kill()

    def stop(self) -> None:
        """Stop the broker, then the name server."""
        try:
            self._broker.stop()
        finally:
            self._name_server.stop()

    def restart(self) -> None:
        """Stop both cleanly and start them again on the same store."""
        self.stop()
        self.start()


@contextlib.contextmanager
def running(endpoint: Started) -> Iterator[Started]:
    """The endpoint, started; stopped at the end."""
    try:
        endpoint.start()
    except EndpointError:
        with contextlib.suppress(EndpointError):
            endpoint.stop()
        raise
    try:
        yield endpoint
    finally:
        endpoint.stop()


class Apache5(Apache):
    """Apache's name server and broker of 5.5.0, which has timers; they take 10 s to know each other."""

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None, host: str = LOOPBACK) -> None:
        super().__init__(folder, version="5.5.0", settings=settings, host=host)


TARGETS: Final[Mapping[str, type[Rocketwire | Apache]]] = {
    "rocketwire": Rocketwire,
    "apache-4.9.7": Apache,
    "apache-5.5.0": Apache5,
}
