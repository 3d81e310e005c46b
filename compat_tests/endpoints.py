"""What the clients talk to: rocketwire, or Apache's own name server and broker, started fresh on free ports.

Theory: a test knows an endpoint only by its addresses and by stop, start and restart; so the same test runs against
both, and a test that fails on one only is a difference between them. Ports come from below the range that the kernel
gives to outgoing connections, so that no client can take one between the choice and the start.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Protocol, TypeVar

from compat_tests import artifacts, remoting

READY_WITHIN: Final = 60.0  # seconds; Apache's broker takes 3-4 here, more on a busy machine
STOP_WITHIN: Final = 30.0
LOOPBACK: Final = "127.0.0.1"
LOOPBACK_6: Final = "[::1]"  # as addresses with a port are written
COMMIT_LOG_FILE_SIZE: Final = 64 << 20

# Apache's programs want one of these for each of their names in ROCKETMQ_HOME/conf; this one logs nothing.
_LOGBACK: Final = '<configuration><root level="OFF"/></configuration>\n'


class EndpointError(Exception):
    """The endpoint did not start or stop as it should; the text ends with what it printed."""


class Endpoint(Protocol):
    """A name server and a broker under test."""

    @property
    def namesrv(self) -> str:
        """The name server's address, HOST:PORT."""

    @property
    def broker(self) -> str:
        """The broker's address, HOST:PORT."""

    def start(self) -> None:
        """Start it and return when a client can use it. Raises EndpointError."""

    def stop(self) -> None:
        """Stop it cleanly. Raises EndpointError when it does not stop as it should."""

    def kill(self) -> None:
        """Kill the broker, and what shares its process, with SIGKILL; `start` starts it again on the same store."""

    def restart(self) -> None:
        """Stop it cleanly and start it again on the same store."""


AnyEndpoint = TypeVar("AnyEndpoint", bound=Endpoint)


class Process:
    """A program of the machine whose output is kept and can be waited for."""

    def __init__(self, name: str, command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self.output: list[str] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # a group of its own, see _end_group
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.output.append(line.rstrip("\n"))
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, text: str, *, within: float) -> str:
        """The first line from now on that contains `text`; EndpointError when none comes within so many seconds."""
        end = time.monotonic() + within
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=left)
                if line is None:
                    raise EndpointError(
                        f"{self.name} ended (code {self._process.wait()}) before it was ready: {self.tail()}"
                    )
                if text in line:
                    return line
        raise EndpointError(f"{self.name} printed no {text!r} within {within:.0f} s: {self.tail()}")

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def stop(self, number: int = signal.SIGTERM, *, within: float = STOP_WITHIN) -> int:
        """Send it a signal and return its exit code; killed, with EndpointError, when that takes over `within` s."""
        if self.running:
            self._process.send_signal(number)
        try:
            code = self._process.wait(within)
        except subprocess.TimeoutExpired as error:
            self._end_group()
            self._process.wait()
            raise EndpointError(f"{self.name} did not stop within {within:.0f} s: {self.tail()}") from error
        finally:
            self._end_group()
            self._reader.join(5)
            if self._process.stdout is not None:
                self._process.stdout.close()
        return code

    def _end_group(self) -> None:
        """Kill what the program started and left behind: it would hold the pipe that the reader waits for."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def tail(self, lines: int = 12) -> str:
        """The last lines it printed."""
        return "\n".join(self.output[-lines:]) or "(it printed nothing)"


class Rocketwire:
    """`rocketwire serve` with a store of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: Mapping[str, str] | None = None,
        host: str = LOOPBACK,
        advertise: str | None = None,
    ) -> None:
        self._folder = folder
        self._host = host
        self._advertise = advertise
        self._namesrv_port, self._broker_port = free_ports(host)
        self._settings = {"mappedFileSizeCommitLog": str(COMMIT_LOG_FILE_SIZE), **(settings or {})}
        self._process: Process | None = None

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
        command += ["--namesrv", self.namesrv, "--broker", self.broker, "--store", self._folder / "store"]
        if self._advertise is not None:
            command += ["--advertise", self._advertise]
        for key, value in self._settings.items():
            command += ["--set", f"{key}={value}"]
        self._process = Process("rocketwire", command, cwd=artifacts.ROOT, env=os.environ)
        self._process.wait_for("ready", within=READY_WITHIN)

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


class ApacheBroker:
    """Apache's broker, registering with any name server."""

    def __init__(
        self,
        folder: Path,
        *,
        namesrv: str,
        port: int,
        version: str = "4.9.7",
        name: str = "broker-a",
        host: str = LOOPBACK,
        **settings: str,
    ) -> None:
        self.name = name
        self.namesrv = namesrv
        self.broker = f"{host}:{port}"
        self._folder = folder
        self._version = version
        self._settings = {
            "brokerClusterName": "DefaultCluster",
            "brokerName": name,
            "brokerId": "0",
            "brokerIP1": host,
            "brokerIP2": host,
            "listenPort": str(port),
            "haListenPort": str(port + 1),
            "namesrvAddr": namesrv,
            "storePathRootDir": "store",
            "storePathCommitLog": "store/commitlog",
            "mappedFileSizeCommitLog": str(COMMIT_LOG_FILE_SIZE),
            "autoCreateTopicEnable": "true",
            "diskMaxUsedSpaceRatio": "95",
            "brokerFastFailureEnable": "false",  # a busy machine is no reason to refuse
            **settings,
        }
        self._process: Process | None = None

    def start(self) -> None:
        """Start it and wait until the name server knows it."""
        configuration = self._folder / f"{self.name}.conf"
        self._folder.mkdir(parents=True, exist_ok=True)
        configuration.write_text("".join(f"{key}={value}\n" for key, value in self._settings.items()), "utf-8")
        self._process = _apache(
            self._folder, self._version, "org.apache.rocketmq.broker.BrokerStartup", configuration, "1g"
        )
        self._process.wait_for("boot success", within=READY_WITHIN)
        end = time.monotonic() + READY_WITHIN
        while self.broker not in remoting.broker_addresses(self.namesrv, "TBW102"):
            if time.monotonic() > end or not self._process.running:
                raise EndpointError(f"{self.name} did not register with {self.namesrv}: {self._process.tail()}")
            time.sleep(0.05)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop it; a JVM ends with code 143 after SIGTERM."""
        process, self._process = self._process, None
        if process is not None:
            process.stop(number)


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
        self._folder = folder
        self._version = version
        self._host = host
        self._namesrv_port, port = free_ports(host)
        self._broker = ApacheBroker(
            folder, namesrv=self.namesrv, port=port, version=version, host=host, **(settings or {})
        )
        self._process: Process | None = None

    @property
    def namesrv(self) -> str:
        """The name server's address."""
        return f"{self._host}:{self._namesrv_port}"

    @property
    def broker(self) -> str:
        """The broker's address."""
        return self._broker.broker

    def start(self) -> None:
        """Start the name server unless it runs, then the broker."""
        if self._process is None:
            self._start_name_server()
        self._broker.start()

    def _start_name_server(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        configuration = self._folder / "namesrv.conf"
        configuration.write_text(f"listenPort={self._namesrv_port}\n", "utf-8")
        main = "org.apache.rocketmq.namesrv.NamesrvStartup"
        self._process = _apache(self._folder, self._version, main, configuration, "256m")
        self._process.wait_for("boot success", within=READY_WITHIN)

    def kill(self) -> None:
        """Kill the broker; the name server keeps running."""
        self._broker.stop(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the broker, then the name server."""
        process, self._process = self._process, None
        try:
            self._broker.stop()
        finally:
            if process is not None:
                process.stop()

    def restart(self) -> None:
        """Stop both cleanly and start them again on the same store."""
        self.stop()
        self.start()


def _apache(folder: Path, version: str, main: str, configuration: Path, heap: str) -> Process:
    """One of Apache's own programs on the host's JVM."""
    home = folder / "home"
    (home / "conf").mkdir(parents=True, exist_ok=True)
    for program in ("broker", "namesrv", "tools"):
        (home / "conf" / f"logback_{program}.xml").write_text(_LOGBACK, "utf-8")
    classes = artifacts.classpath(artifacts.jars(version, kind="server"))
    command = [
        artifacts.java(),
        *artifacts.JAVA_FLAGS,
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        f"-Duser.home={folder}",
    ]
    return Process(
        main.rpartition(".")[2],
        [*command, "-cp", classes, main, "-c", str(configuration)],
        cwd=folder,
        env={**os.environ, "ROCKETMQ_HOME": str(home)},
    )


@contextlib.contextmanager
def running(endpoint: AnyEndpoint) -> Iterator[AnyEndpoint]:
    """The endpoint, started; stopped at the end."""
    endpoint.start()
    try:
        yield endpoint
    finally:
        endpoint.stop()


def port_of(address: str) -> int:
    """The port in HOST:PORT or [IPV6]:PORT."""
    return int(address.rpartition(":")[2])


def free_ports(host: str = LOOPBACK) -> tuple[int, int]:
    """Free ports for a name server and a broker, the latter's P - 2 (VIP channel) and P + 1 (replication) free too."""
    start = 20000 + os.getpid() * 41 % 11000
    for offset in range(0, 1000, 5):
        namesrv = start + offset
        broker = namesrv + 3
        if all(_free(host, port) for port in (namesrv, broker - 2, broker, broker + 1)):
            return namesrv, broker
    raise EndpointError(f"no five free ports in a row from {start} on")


def _free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if host == LOOPBACK_6 else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError:
            return False
        return True


TARGETS: Final[Mapping[str, type[Rocketwire | Apache]]] = {"rocketwire": Rocketwire, "apache-4.9.7": Apache}
