"""The two servers under test: their start, settings and addresses.

Theory: both get the same cluster and broker names, the same flush mode, a fresh store on the same disk, and
otherwise their own default settings, except that SQL filters are switched on in Apache's broker. Its JVM has a fixed
heap instead of the 8 GiB of its start script; its other flags are those that it needs on Java 17. 4.9.7 has no timer,
so timer messages are compared with 5.5.0 and its timer wheel.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from bench.ports import Ports
from bench.processes import Memory, Server, ServerFailedError
from bench.tools import APACHE_VERSION, TIMER_APACHE_VERSION
from compat_tests.readme import ROOT
from rocketwire.compat.environment import artifacts

BROKER_NAME: Final = "broker-a"
HEAP: Final = "1g"
FIRST_TOPIC: Final = "BenchFirst"
"""The topic of the first accepted send, which the servers create automatically."""
_START_SECONDS: Final = 60.0
_FLUSH: Final[Mapping[str, str]] = {"async": "ASYNC_FLUSH", "sync": "SYNC_FLUSH"}

# 4.x reads its logging file from ROCKETMQ_HOME/conf; 5.x, whose logback is in another package, gets an option.
_LOGBACK: Final = (
    '<configuration><appender name="F" class="{package}ch.qos.logback.core.FileAppender"><file>{name}.log</file>'
    "<encoder><pattern>%d %p %logger %m%n</pattern></encoder></appender>"
    '<root level="INFO"><appender-ref ref="F"/></root></configuration>'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What all servers of a run share; `flush` is "async" or "sync"."""

    flush: str
    load: Path
    ports: Ports


class Side(Protocol):
    """A running name server and broker."""

    name: str
    name_server: str  # host:port
    broker_port: int
    grpc_port: int  # where clients of 5.x are served; 0: nowhere
    start_seconds: float  # from the broker's process start to its first accepted send

    @property
    def pid(self) -> int:
        """Process id of the broker."""
        ...

    def memory(self) -> Memory:
        """Memory of the broker's process."""
        ...

    def name_server_memory(self) -> Memory | None:
        """Memory of the name server's process, None when it is the broker's."""
        ...

    def stop(self) -> None:
        """End all processes; the store stays."""
        ...


def _first_accepted(setup: Setup, port: int, broker: Server) -> float:
    """Seconds from the broker's start to the first send it accepted. Raises ServerFailedError."""
    options = ["--port", str(port), "--topic", FIRST_TOPIC, "--broker-name", BROKER_NAME]
    command = [str(setup.load), "first", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as probe:
        try:
            while probe.poll() is None:
                broker.require_running()
                time.sleep(0.05)
        finally:
            probe.kill()
        output = probe.stdout.read() if probe.stdout else b""
    result = json.loads(output)
    if "accepted_at" not in result:
        raise ServerFailedError(f"{broker.name}: {result.get('error', 'no answer')}")
    # Both clocks are CLOCK_MONOTONIC.
    return float(result["accepted_at"]) - broker.spawned_at


def wait_for_port(port: int, server: Server) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        server.require_running()
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise ServerFailedError(f"{server.name} does not listen on {port} after {_START_SECONDS:.0f} s")


class Apache:
    """Apache's name server and broker, two JVMs."""

    name = "Apache"
    version = APACHE_VERSION
    settings: Mapping[str, str] = {"enablePropertyFilter": "true"}
    grpc_port = 0
    _logback_package = ""
    _jars = "server"

    def __init__(self, setup: Setup, root: Path) -> None:
        """Start both in `root` (made here) and wait for the first accepted send.

        Raises ServerFailedError, ArtifactError.
        """
        name_server_port, self.broker_port = setup.ports.name_server(), setup.ports.broker()
        self.name_server = f"127.0.0.1:{name_server_port}"
        conf = root / "home" / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        for program in ("broker", "namesrv", "tools", "proxy"):
            (conf / f"logback_{program}.xml").write_text(
                _LOGBACK.format(name=program, package=self._logback_package), "utf-8"
            )
        self._write(root / "namesrv.conf", listenPort=name_server_port)
        self._write(
            root / "broker.conf",
            brokerClusterName="DefaultCluster",
            brokerName=BROKER_NAME,
            brokerIP1="127.0.0.1",
            listenPort=self.broker_port,
            namesrvAddr=self.name_server,
            flushDiskType=_FLUSH[setup.flush],
            **self.settings,
            storePathRootDir=root / "store",
            storePathCommitLog=root / "store" / "commitlog",
        )
        self._namesrv = self._jvm(root, "namesrv", "256m", "namesrv.NamesrvStartup", "-c", "namesrv.conf")
        try:
            wait_for_port(name_server_port, self._namesrv)
            self._broker = self._started(root)
            try:
                self.start_seconds = _first_accepted(setup, self.broker_port, self._broker)
            except BaseException:
                self._broker.stop()
                raise
        except BaseException:
            self._namesrv.stop()
            raise

    def _started(self, root: Path) -> Server:
        """The broker's process, which reads broker.conf."""
        return self._jvm(root, "broker", HEAP, "broker.BrokerStartup", "-c", "broker.conf")

    @staticmethod
    def _write(path: Path, **settings: object) -> None:
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), "utf-8")

    def _jvm(self, root: Path, program: str, heap: str, main: str, *arguments: str) -> Server:
        jars = artifacts.jars(self.version, kind=self._jars)
        flags = [*artifacts.JAVA_FLAGS, f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseG1GC", "-Duser.home=."]
        flags.append(f"-Drmq.logback.configurationFile={root / 'home' / 'conf' / f'logback_{program}.xml'}")
        start = ["-cp", artifacts.classpath(jars), f"org.apache.rocketmq.{main}", *arguments]
        env = {"ROCKETMQ_HOME": str(root / "home"), "RMQ_PROXY_HOME": str(root / "home")}
        return Server([artifacts.java(), *flags, *start], cwd=root, log=root / f"{program}.out", env=env)

    @property
    def pid(self) -> int:
        """Process id of the broker."""
        return self._broker.pid

    def memory(self) -> Memory:
        """Memory of the broker's process."""
        return self._broker.memory()

    def name_server_memory(self) -> Memory | None:
        """Memory of the name server's process."""
        return self._namesrv.memory()

    def stop(self) -> None:
        """End both processes."""
        self._broker.stop()
        self._namesrv.stop()


class ApacheWithTimer(Apache):
    """Apache 5.5.0 with its timer wheel."""

    name = "Apache 5.5.0"
    version = TIMER_APACHE_VERSION
    settings: Mapping[str, str] = {"timerWheelEnable": "true"}
    _logback_package = "org.apache.rocketmq.logging."


class OneProcess:
    """A side that is one process."""

    _server: Server

    @property
    def pid(self) -> int:
        """Process id."""
        return self._server.pid

    def memory(self) -> Memory:
        """Memory of the one process."""
        return self._server.memory()

    def name_server_memory(self) -> Memory | None:
        """None: the name server is the same process, or none of this side's."""
        return None

    def stop(self) -> None:
        """End the process."""
        self._server.stop()


class Rocketwire(OneProcess):
    """`rocketwire serve` of this working tree, one process."""

    name = "rocketwire"
    settings: Mapping[str, str] = {}
    grpc_port = 0

    def __init__(self, setup: Setup, root: Path) -> None:
        """Start it with its store in `root` (made here) and wait for the first accepted send.

        Raises ServerFailedError.
        """
        name_server_port, self.broker_port = setup.ports.name_server(), setup.ports.broker()
        self.name_server = f"127.0.0.1:{name_server_port}"
        root.mkdir(parents=True, exist_ok=True)
        settings = {
            **self.settings,
            "brokerName": BROKER_NAME,
            "brokerClusterName": "DefaultCluster",
            "flushDiskType": _FLUSH[setup.flush],
            # How full the machine's disk is, is not what is measured.
            "diskSpaceWarningLevelRatio": 100,
            "diskSpaceCleanForciblyRatio": 100,
        }
        command: list[str | Path] = [
            sys.executable, "-m", "rocketwire", "serve", "--namesrv", self.name_server,
            "--broker", f"127.0.0.1:{self.broker_port}", "--store", root / "store", "--grpc", self._front(setup),
        ]  # fmt: skip
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        self._server = Server(command, cwd=ROOT, log=root / "rocketwire.out")
        try:
            self.start_seconds = _first_accepted(setup, self.broker_port, self._server)
        except BaseException:
            self._server.stop()
            raise

    def _front(self, _setup: Setup) -> str:
        """Where 5.x clients are served: nowhere."""
        return "none"


SIDES: Final[Mapping[str, Callable[[Setup, Path], Side]]] = {"apache": Apache, "rocketwire": Rocketwire}
TIMER_SIDES: Final[Mapping[str, Callable[[Setup, Path], Side]]] = {
    "apache": ApacheWithTimer,
    "rocketwire": Rocketwire,
}


def start_up_seconds(start: Callable[[Setup, Path], Side], setup: Setup, root: Path) -> float:
    """Start-up time of a server with an empty store in `root`, which is removed again.

    Raises ServerFailedError.
    """
    running = start(setup, root)
    try:
        return running.start_seconds
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)
