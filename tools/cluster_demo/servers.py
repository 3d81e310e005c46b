"""The servers of the demonstration: processes that are started, killed, and started again on their ports and stores."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio

_HOST: Final = "127.0.0.1"
_BELOW_OUTGOING: Final = range(20_000, 32_000)
"""The system gives no port of these to outgoing connections, so a server that was killed finds its own free."""
_STEP: Final = 3
"""As `rocketwire proxy` spaces the ports of the brokers; it also wants those two below."""
_NAME_SERVERS: Final = 2
_BROKERS: Final = 3
_PROXIES: Final = 2
_PORTS: Final = _NAME_SERVERS + _STEP * (_BROKERS + _PROXIES * (1 + _BROKERS))
_START_SECONDS: Final = 60.0
_TAIL_LINES: Final = 15


class DemoFailed(Exception):
    """The demonstration cannot continue."""


class Server:
    """One process of rocketwire after the other, with the same arguments.

    Args:
        name: What it is called.
        address: Where it listens.
        arguments: Of `rocketwire`.
        log: The file of its log.

    Attributes:
        state: `starting`, `up`, `killed` or `stopped`.
        kills: How often it was killed.
    """

    def __init__(self, name: str, address: str, arguments: Sequence[str | Path], log: Path) -> None:
        self.name = name
        self.address = address
        self.state = "stopped"
        self.kills = 0
        self._command = [sys.executable, "-m", "rocketwire", *map(str, arguments)]
        self._command += ["--json-ready", "--end-with", str(os.getpid())]
        self._log = log
        self._process: trio.Process | None = None

    @property
    def pid(self) -> int | None:
        """The number of its process; None if none runs."""
        return None if self._process is None else self._process.pid

    @property
    def shown_state(self) -> str:
        """The state, which shows an unexpected end of the process."""
        ended = None if self._process is None else self._process.poll()
        return self.state if ended is None else f"ended with {ended}"

    async def start(self) -> None:
        """Start it; returns when it is ready.

        Raises:
            DemoFailed: it ended, or took too long.
        """
        self.state = "starting"
        with self._log.open("ab") as log:
            self._process = await trio.lowlevel.open_process(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the demonstration, which ends all in order
            )
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        said: bytes | bytearray = b""
        with trio.move_on_after(_START_SECONDS):
            said = await self._process.stdout.receive_some()
        if not said:
            tail = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
            raise DemoFailed("\n".join((f"{self.name} did not become ready; its log ends so:", *tail)))
        self.state = "up"

    async def kill(self) -> None:
        """Kill it, as a crash does."""
        self.kills += 1
        await self.stop()
        self.state = "killed"

    async def stop(self) -> None:
        """End it at once, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            with trio.CancelScope(shield=True):
                await process.wait()
                if process.stdout is not None:
                    await process.stdout.aclose()
        self.state = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """All of them.

    Attributes:
        name_servers: Two, which know all brokers.
        brokers: Three, each registered at both name servers.
        proxies: Two, in front of all.
    """

    name_servers: Sequence[Server]
    brokers: Sequence[Server]
    proxies: Sequence[Server]

    def all(self) -> list[Server]:
        """Each server, in the order in which they are started."""
        return [*self.name_servers, *self.brokers, *self.proxies]

    async def start(self) -> None:
        """Start them.

        Raises:
            DemoFailed: one did not start.
        """
        for kind in (self.name_servers, self.brokers, self.proxies):
            async with trio.open_nursery() as nursery:
                for each in kind:
                    nursery.start_soon(each.start)

    async def stop(self) -> None:
        """End all at once."""
        for each in self.all():
            await each.stop()


def planned(folder: Path) -> Servers:
    """The servers, with their stores and logs in a folder, on free ports; none is started.

    Raises:
        DemoFailed: there are no free ports.
    """
    first = _free_ports()
    ports = iter(range(first + _NAME_SERVERS, first + _PORTS, _STEP))
    names = [f"{_HOST}:{first + number}" for number in range(_NAME_SERVERS)]
    both = ";".join(names)
    name_servers = [
        Server(
            f"names-{number}",
            address,
            ("serve", "--namesrv", address, "--broker", "none", "--store", folder / f"names-{number}"),
            folder / f"names-{number}.log",
        )
        for number, address in enumerate(names, 1)
    ]
    return Servers(
        name_servers=name_servers,
        brokers=[_broker(f"broker-{each}", next(ports), both, folder) for each in "abc"[:_BROKERS]],
        proxies=[_proxy(f"proxy-{number + 1}", ports, both, folder) for number in range(_PROXIES)],
    )


def _broker(name: str, port: int, name_servers: str, folder: Path) -> Server:
    address = f"{_HOST}:{port}"
    keys = {
        "brokerName": name,
        "fastRemoting": "false",
        "mappedFileSizeCommitLog": str(16 << 20),
        "diskSpaceWarningLevelRatio": "100",  # a demonstration on a full disk is one, too
        "diskSpaceCleanForciblyRatio": "100",
    }
    return Server(
        name,
        address,
        (
            *("serve", "--namesrv", "none", "--register", name_servers, "--broker", address, "--grpc", "none"),
            *("--store", folder / name),
            *(part for key, value in keys.items() for part in ("--set", f"{key}={value}")),
        ),
        folder / f"{name}.log",
    )


def _proxy(name: str, ports: Iterator[int], name_servers: str, folder: Path) -> Server:
    own, *of_brokers = (next(ports) + 2 for _ in range(1 + _BROKERS))
    address = f"{_HOST}:{own}"
    options = ("--upstream", name_servers, "--listen", address, "--broker-ports", str(of_brokers[0]))
    return Server(name, address, ("proxy", *options), folder / f"{name}.log")


def _free_ports() -> int:
    """The first of so many free ports in a row."""
    start = os.getpid() * _PORTS
    for offset in range(0, len(_BELOW_OUTGOING) - _PORTS, _PORTS):
        first = _BELOW_OUTGOING[(start + offset) % (len(_BELOW_OUTGOING) - _PORTS)]
        if all(_is_free(port) for port in range(first, first + _PORTS)):
            return first
    raise DemoFailed(f"no {_PORTS} free ports in a row from {_BELOW_OUTGOING.start} to {_BELOW_OUTGOING.stop}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
        return True
