"""The endpoints under test: rocketwire, or Apache's own name server and broker, started on free ports."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from compat_tests.readme import ROOT
from rocketwire.compat.brokers.apache import COMMIT_LOG_FILE_SIZE
from rocketwire.compat.brokers.endpoint import Apache, Apache5, ApacheProxy
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports, grpc_port
from rocketwire.compat.brokers.processes import READY_WITHIN, EndpointError, Process

SWIFT: Final[Mapping[str, str]] = {
    "messageDelayLevel": "1s 2s" + 15 * " 1s" + " 3s",
    "transactionTimeOut": "2000",
    "transactionCheckInterval": "2000",  # a producer must answer a back-check before the next one
    "transactionCheckMax": "3",
    "enablePropertyFilter": "true",
    "recallMessageEnable": "true",
    "traceTopicEnable": "true",
}
"""Delays of minutes or hours, shortened to seconds: retries begin at level 3, level 18 is the last."""
AGED: Final[Mapping[str, str]] = {"accessMessageInMemoryMaxRatio": "0"}
"""Every message counts as old, that is, no longer in memory."""
GENEROUS: Final[Mapping[str, str]] = {
    "maxTransferCountOnMessageInMemory": "1024",
    "maxTransferBytesOnMessageInMemory": str(1 << 20),
}
"""A pull is answered with up to the most messages that a client may request."""


SETTINGS: Final[Mapping[str, str]] = {
    "mappedFileSizeCommitLog": str(COMMIT_LOG_FILE_SIZE),
    # The usage of the machine's disk must not matter to a test.
    "diskSpaceWarningLevelRatio": "100",
    "diskSpaceCleanForciblyRatio": "100",
    "brokerFastFailureEnable": "false",  # a busy machine is no reason to refuse
}
"""What each of our brokers is given."""


class Own:
    """A process of rocketwire that may be started again.

    Args:
        command: Of the program `rocketwire`, with its arguments.
        ready: What its line contains when it is ready.
    """

    def __init__(self, command: Sequence[str | Path], ready: str = "rocketwire ready") -> None:
        self._command = command
        self._ready = ready
        self._process: Process | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        command = [sys.executable, "-m", "rocketwire", *self._command]
        self._process = Process("rocketwire", command, cwd=ROOT, env=os.environ)
        self._process.wait_for(self._ready, within=READY_WITHIN)

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self._process is not None
        return self._process.pid

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop it as a service manager does, with code 0; with another signal it may end with any code."""
        process, self._process = self._process, None
        if process is not None and (code := process.stop(number)) != 0 and number == signal.SIGTERM:
            raise EndpointError(f"rocketwire ended with code {code} after SIGTERM: {process.tail()}")

    def kill(self) -> None:
        """Kill it."""
        self.stop(signal.SIGKILL)


class Rocketwire(Own):
    """`rocketwire serve` with a separate store."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: Mapping[str, str] | None = None,
        host: str = LOOPBACK,
        advertise: str | None = None,
        ports: tuple[int, int] | None = None,
        grpc: bool = False,
        options: Sequence[str] = (),
    ) -> None:
        """`ports`: the name server's and the broker's, if not free ones; `options`: more of the command line.

        `grpc`: whether clients of 5.x have a separate address.
        """
        self._folder = folder
        self._host = host
        self._namesrv_port, self._broker_port = ports or free_ports(host)
        self.grpc = f"{host}:{grpc_port(self._broker_port)}" if grpc else ""
        command: list[str | Path] = ["serve", "--namesrv", self.namesrv, "--broker", self.broker, "--store", self.store]
        if advertise is not None:
            command += ["--advertise", advertise]
        command += ["--grpc", self.grpc or "none"]
        for key, value in {**SETTINGS, **(settings or {})}.items():
            command += ["--set", f"{key}={value}"]
        super().__init__([*command, *options])

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

    def restart(self) -> None:
        """Stop it cleanly and start it again on the same store."""
        self.stop()
        self.start()


TARGETS: Final[Mapping[str, type[Rocketwire | Apache]]] = {
    "rocketwire": Rocketwire,
    "apache-4.9.7": Apache,
    "apache-5.5.0": Apache5,
}

#: Those with an address for clients of 5.x.
GRPC_TARGETS: Final[Mapping[str, Callable[..., Rocketwire | ApacheProxy]]] = {
    "rocketwire": partial(Rocketwire, grpc=True),
    "apache-5.5.0": ApacheProxy,
}
