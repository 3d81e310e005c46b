"""Apache's own name server and broker, each a JVM of the host.

Theory: the broker's log of its store is a result too: whether the last stop was clean, what it read, and whether
something was wrong. So the broker prints what its store logs, and the warnings of everything else.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from rocketwire.compat.brokers.ports import LOOPBACK, free_ports, port_of
from rocketwire.compat.brokers.processes import READY_WITHIN, EndpointError, Process
from rocketwire.compat.environment import artifacts, cache
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import RemotingError
from rocketwire.wire.names import AUTO_CREATE_TOPIC

_Arguments: TypeAlias = Sequence[str | Path]
COMMIT_LOG_FILE_SIZE: Final = 64 << 20

# 4.x reads one of these from ROCKETMQ_HOME/conf for each of its programs; 5.x has logback in another package and gets
# the file by a property.
_LOGBACK: Final = """<configuration>
  <statusListener class="{package}ch.qos.logback.core.status.NopStatusListener"/>
  <appender name="OUT" class="{package}ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%level %logger %msg%n</pattern></encoder>
  </appender>
  <logger name="RocketmqStore" level="INFO"/>
  <root level="{level}"><appender-ref ref="OUT"/></root>
</configuration>
"""
_PACKAGE: Final = {"4": "", "5": "org.apache.rocketmq.logging."}

_BROKER: Final = "org.apache.rocketmq.broker.BrokerStartup"
_PROXY: Final = "org.apache.rocketmq.proxy.ProxyStartup"
_ARCHIVE: Final = "classes.jsa"

_COMPLAINT: Final = re.compile("(WARN|ERROR) Rocketmq(Store|StoreError) |ERROR RocketmqBroker ")
# Warnings of a broker on a store that it alone has ever used; the second and third are about the log's end.
_USUAL: Final = (
    "WARN RocketmqStore Load default HA Service",
    "WARN RocketmqStore found a illegal magic code 0x0$",
    r"WARN RocketmqStore maxPhyOffsetOfConsumeQueue\((?P<end>[0-9]+)\) >= processOffset\((?P=end)\), truncate dirty",
    # The next file is being made:
    "WARN RocketmqStoreError Offset not matched. Request offset: (?P<next>[0-9]+), .* lastOffset: (?P=next),",
    "WARN RocketmqStore (Over index file capacity|Index file .* is full, trying to create another one)",
    r"WARN RocketmqStore .*\b(spent time|elapsed time|costs?)\b",  # the machine is busy
    # At the stop:
    "WARN RocketmqStore AllocateMappedFileService interrupted, possibly by shutdown",
    "WARN RocketmqStore take flush disk commit request, but interrupted",
    "WARN RocketmqStore message store has shutdown, so getMessage is forbidden",
)
_USUAL_WHEN_NEW: Final = "WARN RocketmqStore The commitlog files are deleted, and delete the consume queue files"
# A killed broker may leave queue entries of a message that it did not come to write, messages that are not flushed, and
# one that it was writing: a part of it.
_USUAL_AFTER_A_KILL: Final = (
    "WARN RocketmqStore (CRC check failed|found a illegal magic code)",
    r"ERROR RocketmqStore \[BUG\]read total count not equals msg total size",
    "WARN RocketmqStore Maybe try to build consume queue repeatedly",
    "WARN RocketmqStore maxPhyOffsetOfConsumeQueue.*, truncate dirty logic files",
)
# The thread that handles connection events wakes only every 3 s, or at an event; the stop waits for it, twice.
_CONNECTIONS_THAT_END: Final = 4


class ApacheNameServer:
    """Apache's name server."""

    def __init__(self, folder: Path, *, address: str, version: str = "4.9.7") -> None:
        self.address = address
        self._folder = folder
        self._version = version
        self._process: Process | None = None

    def start(self) -> None:
        """Start it unless it runs."""
        if self._process is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        configuration = self._folder / "namesrv.conf"
        configuration.write_text(f"listenPort={port_of(self.address)}\n", "utf-8")
        main = "org.apache.rocketmq.namesrv.NamesrvStartup"
        arguments = ("-c", configuration)
        self._process = _apache(self._folder, self._version, main, arguments, heap="256m", log="OFF")
        self._process.wait_for("boot success", within=READY_WITHIN)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop it."""
        process, self._process = self._process, None
        if process is not None:
            process.stop(number)


class ApacheBroker:
    """Apache's broker, registering with any name server.

    `registers`: whether `start` waits until the name server knows it, which takes 5.5.0's 10 s.
    """

    def __init__(
        self,
        folder: Path,
        *,
        namesrv: str,
        port: int,
        version: str = "4.9.7",
        name: str = "broker-a",
        host: str = LOOPBACK,
        registers: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.namesrv = namesrv
        self.broker = f"{host}:{port}"
        self._folder = folder
        self._version = version
        self._registers = registers
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
            **(settings or {}),
        }
        self._process: Process | None = None
        self._also_usual: list[str] = []
        self.log: list[str] = []

    def start(self) -> None:
        """Start it and wait until the name server knows it."""
        configuration = self._folder / f"{self.name}.conf"
        self._folder.mkdir(parents=True, exist_ok=True)
        configuration.write_text("".join(f"{key}={value}\n" for key, value in self._settings.items()), "utf-8")
        store = self._folder / "store"
        self._also_usual = [] if store.exists() else [_USUAL_WHEN_NEW]
        self._also_usual += _USUAL_AFTER_A_KILL if (store / "abort").exists() else ()
        self._process = self._started(configuration)
        self.log = self._process.output
        end = time.monotonic() + READY_WITHIN
        while self._registers and not self._is_registered():
            if time.monotonic() > end or not self._process.running:
                raise EndpointError(f"{self.name} did not register with {self.namesrv}: {self._process.tail()}")
            time.sleep(0.05)

    def _started(self, configuration: Path) -> Process:
        """Its process, with its ports open."""
        arguments = ("-c", configuration)
        process = _apache(self._folder, self._version, _BROKER, arguments, heap="1g", log="WARN")
        process.wait_for("boot success", within=READY_WITHIN)
        return process

    def _is_registered(self) -> bool:
        """Whether the name server names it as a broker on which topics can be created."""
        try:
            with BlockingCluster(self.namesrv) as cluster:
                brokers = cluster.route(AUTO_CREATE_TOPIC).broker_datas
        except RemotingError:
            return False
        return any(self.broker in each.broker_addrs.values() for each in brokers)

    def stop(self) -> None:
        """Stop it; a JVM ends with code 143 after SIGTERM."""
        process, self._process = self._process, None
        if process is not None:
            with self._connected():
                process.stop()

    def kill(self) -> None:
        """Kill it."""
        process, self._process = self._process, None
        if process is not None:
            process.stop(signal.SIGKILL)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Some connections to each of its ports, whose end wakes its waiting threads at the stop."""
        host, port = self.broker.rpartition(":")[0].strip("[]"), port_of(self.broker)
        with contextlib.ExitStack() as stack:
            for each in (port, port - 2) * _CONNECTIONS_THAT_END:
                with contextlib.suppress(OSError):
                    stack.enter_context(socket.create_connection((host, each), 1))
            yield

    def complaints(self) -> list[str]:
        """The warnings of its store and the errors of both that were logged since its start, less the usual ones."""
        usual = re.compile("|".join((*_USUAL, *self._also_usual)))
        return [line for line in self.log if _COMPLAINT.match(line) and not usual.match(line)]


class ApacheLocalProxy(ApacheBroker):
    """Apache's proxy of 5.x in its LOCAL mode: the broker is in its process.

    `grpc`: the port for clients of 5.x.
    """

    def __init__(
        self,
        folder: Path,
        *,
        namesrv: str,
        port: int,
        grpc: int,
        version: str,
        host: str = LOOPBACK,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, namesrv=namesrv, port=port, version=version, host=host, settings=settings)
        self._grpc = grpc

    def _started(self, configuration: Path) -> Process:
        """Its process, with its ports open."""
        keys = {
            "rocketMQClusterName": self._settings["brokerClusterName"],
            "proxyMode": "LOCAL",
            "namesrvAddr": self.namesrv,
            "grpcServerPort": self._grpc,
            "remotingListenPort": 0,  # a second way in for clients of 4.x, of no use beside the broker's
        }
        own = self._folder / "proxy.json"
        own.write_text(json.dumps(keys), "utf-8")
        # No archive of classes: it would be another one, whose making takes longer than it saves in a run.
        arguments = ("-pc", own, "-pm", "local", "-bc", configuration, "-n", self.namesrv)
        process = _jvm(self._folder, self._version, _PROXY, arguments, heap="1g", log="WARN", options=[], kind="proxy")
        process.wait_for("startup successfully", within=READY_WITHIN)
        return process


def _apache(folder: Path, version: str, main: str, arguments: _Arguments, *, heap: str, log: str) -> Process:
    """One of Apache's own programs on the host's JVM; it logs to its output from the level `log` on."""
    archive = cache.cached(f"classes/apache-{version}", lambda target: _archive_classes(version, target))
    # An archive that does not fit (of another JDK, for example) is not used, silently.
    options = [f"-XX:SharedArchiveFile={archive / _ARCHIVE}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
    return _jvm(folder, version, main, arguments, heap=heap, log=log, options=options)


def _archive_classes(version: str, target: Path) -> None:
    """Start and stop a broker whose JVM keeps the classes that it loaded, parsed and verified: others start faster."""
    with tempfile.TemporaryDirectory(prefix="archive-") as name:
        folder = Path(name)
        port = free_ports()[1]
        values = {
            "brokerIP1": LOOPBACK,
            "listenPort": port,
            "haListenPort": port + 1,
            "storePathRootDir": "store",
            "storePathCommitLog": "store/commitlog",
            "mappedFileSizeCommitLog": COMMIT_LOG_FILE_SIZE,
            "popConsumerFSServiceInit": "false",  # 5.x takes seconds longer to stop with it
        }
        configuration = folder / "broker.conf"
        configuration.write_text("".join(f"{key}={value}\n" for key, value in values.items()), "utf-8")
        options = [f"-XX:ArchiveClassesAtExit={target / _ARCHIVE}"]
        process = _jvm(folder, version, _BROKER, ("-c", configuration), heap="1g", log="WARN", options=options)
        try:
            process.wait_for("boot success", within=READY_WITHIN)
        finally:
            process.stop()


def _jvm(
    folder: Path,
    version: str,
    main: str,
    arguments: _Arguments,
    *,
    heap: str,
    log: str,
    options: Sequence[str],
    kind: str = "server",
) -> Process:
    """The same with these options of the JVM, and the jars of a kind."""
    home = folder / "home"
    (home / "conf").mkdir(parents=True, exist_ok=True)
    program = main.split(".")[3]
    logback = home / "conf" / f"logback_{program}.xml"
    logback.write_text(_LOGBACK.format(package=_PACKAGE[version[0]], level=log), "utf-8")
    classes = artifacts.classpath(artifacts.jars(version, kind=kind))
    command = [
        artifacts.java(),
        *artifacts.JAVA_FLAGS,
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",  # a short life: start fast
        *options,
        f"-Duser.home={folder}",
        f"-Drmq.logback.configurationFile={logback}",
    ]
    return Process(
        main.rpartition(".")[2],
        [*command, "-cp", classes, main, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "ROCKETMQ_HOME": str(home), "RMQ_PROXY_HOME": str(home)},
    )
