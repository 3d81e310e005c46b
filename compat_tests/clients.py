"""Runs the official clients: in a container where an engine works, else the same programs on the host's JVM.

Theory: starting a JVM costs more than most scenarios, so one JVM per client version lives through a test session and
takes scenario after scenario on its standard input (java/common/Runner.java), each answered with JSON lines. A JVM that
does not answer in time is killed and the next scenario gets a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Self
from urllib.parse import urlencode

from compat_tests import artifacts, image
from compat_tests.messages import Event, Outgoing
from compat_tests.processes import READY_WITHIN

# A short life and little heap: start fast, keep the other core free.
JVM_FLAGS: Final = (
    *artifacts.JAVA_FLAGS,
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Drocketmq.client.logLevel=ERROR",
    "-Drocketmq.log.root.level=ERROR",
    "-Dcom.rocketmq.remoting.client.connect.timeout=30000",
)
_INSIDE: Final = "/opt/compat"
LONGEST: Final = 300.0
"""Seconds that no scenario takes: what it waits for itself, it gives up before."""

Argument = str | int | Iterable[str] | Iterable[int] | Iterable[Outgoing]


class ScenarioFailed(Exception):
    """A scenario threw, or did not end in time; the text says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Where the Java programs are and how one is started."""

    description: str
    in_container: bool
    command: Callable[[str, Mapping[str, str], str], list[str]]

    def java(
        self, version: str, main: str, *args: str, env: Mapping[str, str] | None = None, name: str = ""
    ) -> list[str]:
        """The command that runs the class `main` with client `version`; `name` names its container."""
        return [*self.command(version, env or {}, name or f"rocketwire-{uuid.uuid4().hex[:12]}"), main, *args]


def find_programs(where: str = "auto") -> Programs:
    """The programs in a container, or on the host where no engine works (`where`: "container", "host" or "auto").

    Raises ArtifactError when "container" is asked for and none works.
    """
    reason = "asked for"
    if where != "host":
        try:
            return _in_container()
        except artifacts.ArtifactError as error:
            if where == "container":
                raise
            reason = str(error)
    return _on_host(reason)


def _in_container() -> Programs:
    tag = image.clients_image()

    def command(version: str, env: Mapping[str, str], name: str) -> list[str]:
        variables = [option for key, value in env.items() for option in ("--env", f"{key}={value}")]
        classes = f"{_INSIDE}/classes/{version}:{_INSIDE}/jars/client-{version}/*"
        options = ["--rm", "--interactive", "--name", name, *variables, tag]
        return [*image.PODMAN_RUN, *options, "java", *JVM_FLAGS, "-Duser.home=/tmp", "-cp", classes]

    version = artifacts.CLIENT_VERSIONS[0]
    artifacts.run([*command(version, {}, f"rocketwire-{uuid.uuid4().hex[:12]}"), "-version"], timeout=60)
    return Programs(description=f"in a container ({tag})", in_container=True, command=command)


def _on_host(reason: str) -> Programs:
    classes = artifacts.cached(f"classes/{image.sources_digest()}", _compile)
    home = artifacts.cached("home", lambda _: None)
    java = artifacts.java()

    def command(version: str, env: Mapping[str, str], name: str) -> list[str]:
        del name  # of containers
        variables = [f"{key}={value}" for key, value in env.items()]
        path = artifacts.classpath(artifacts.jars(version))
        return [
            "env",
            *variables,
            java,
            *JVM_FLAGS,
            f"-Duser.home={home}",
            "-cp",
            f"{classes / version}:{path}",
        ]

    return Programs(description=f"on the host's JVM, no container: {reason}", in_container=False, command=command)


def _compile(target: Path) -> None:
    artifacts.javac()
    all_jars = [artifacts.jars(version) for version in artifacts.CLIENT_VERSIONS]
    java = image.HERE / "java"
    artifacts.run(["sh", java / "compile.sh", java, all_jars[0].parent, target])


class Jvm:
    """One JVM of one client version that runs scenarios in sequence."""

    def __init__(self, programs: Programs, version: str, env: Mapping[str, str]) -> None:
        self._version = version
        self._name = f"rocketwire-{uuid.uuid4().hex[:12]}"
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            programs.java(version, "compat.Runner", env=env, name=self._name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin
        self._answers = self._process.stdout
        self._reader = threading.Thread(target=self._read, args=(self._answers,), daemon=True)
        self._reader.start()
        self._next(time.monotonic() + READY_WITHIN)

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    @property
    def running(self) -> bool:
        """Whether it can take a scenario."""
        return self._process.poll() is None

    def run(
        self,
        scenario: str,
        arguments: Mapping[str, Argument],
        *,
        within: float,
        watch: Callable[[Event], None] | None = None,
    ) -> list[Event]:
        """What the scenario printed, each event also given to `watch` as soon as it came.

        Raises ScenarioFailed when it threw or did not end `within` so many seconds.
        """
        self._requests.write(f"{scenario}?{urlencode(_flat(arguments), doseq=True)}\n")
        self._requests.flush()
        end = time.monotonic() + within
        events: list[Event] = []
        while (event := self._next(end, events))["event"] != "done":
            events.append(event)
            if watch is not None:
                watch(event)
        if crashes := [event for event in events if event["event"] == "crashed"]:
            raise ScenarioFailed(f"{scenario} ({self._version}): {crashes[0]}")
        return events

    def _next(self, end: float, so_far: Sequence[Event] = ()) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            self.close(kill=True)
            raise ScenarioFailed(
                f"client {self._version}: nothing more came in time; so far: {list(so_far)[-5:]}"
            ) from None
        if line is None:
            raise ScenarioFailed(f"client {self._version}: its JVM ended: {self._stderr()}")
        event: dict[str, Any] = json.loads(line)
        return event

    def _stderr(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-2000:]

    def close(self, *, kill: bool = False) -> None:
        """End the JVM: at its next request, or at once with `kill`."""
        with contextlib.suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(0 if kill else 20)
        except subprocess.TimeoutExpired:
            self._process.terminate()  # podman hands the signal on to the JVM in the container
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._reader.join(5)
        self._answers.close()
        if not self._errors.closed and not kill:
            self._errors.close()


def _flat(arguments: Mapping[str, Argument]) -> list[tuple[str, str]]:
    pairs = []
    for key, value in arguments.items():
        many = [value] if isinstance(value, str | int) else list(value)
        pairs += [(key, item.query() if isinstance(item, Outgoing) else str(item)) for item in many]
    return pairs


class Clients:
    """The JVMs of a test session, started when first needed; `env` is what their environment has besides."""

    def __init__(self, programs: Programs, env: Mapping[str, str] | None = None) -> None:
        self.programs = programs
        self._env = env or {}
        self._jvms: dict[str, Jvm] = {}

    def jvm(self, version: str) -> Jvm:
        """The running JVM of a client version."""
        jvm = self._jvms.get(version)
        if jvm is None or not jvm.running:
            jvm = self._jvms[version] = Jvm(self.programs, version, self._env)
        return jvm

    def __enter__(self) -> Self:
        """Close them at the end of a `with`."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """End them all."""
        for jvm in self._jvms.values():
            jvm.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """An official client of one version with one name server's address."""

    clients: Clients
    version: str
    namesrv: str

    def run(
        self,
        scenario: str,
        named: Mapping[str, Argument] | None = None,
        /,
        *,
        within: float = LONGEST,
        watch: Callable[[Event], None] | None = None,
        **arguments: Argument,
    ) -> list[Event]:
        """What the scenario printed, given arguments as a mapping, by keyword or both. Raises ScenarioFailed."""
        every: dict[str, Argument] = {"namesrv": self.namesrv, **(named or {}), **arguments}
        return self.clients.jvm(self.version).run(scenario, every, within=within, watch=watch)

    def only(
        self,
        event: str,
        scenario: str,
        named: Mapping[str, Argument] | None = None,
        /,
        *,
        within: float = LONGEST,
        **arguments: Argument,
    ) -> list[Event]:
        """What the scenario printed of one kind of event."""
        return events(self.run(scenario, {**(named or {}), **arguments}, within=within), event)


def events(all_events: Iterable[Event], kind: str) -> list[Event]:
    """Those of one kind, in order."""
    return [event for event in all_events if event["event"] == kind]
