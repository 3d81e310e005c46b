"""The adapter of Apache's Java client: one instance a version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.clients.java import build
from rocketwire.compat.environment import artifacts, cache
from rocketwire.compat.environment.containers import DOCKER, PODMAN, Containers

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
RUNNER: Final = "compat.Runner"
_INSIDE: Final = "/opt/compat"
_JAVA_OPTIONS: Final = "JAVA_TOOL_OPTIONS"
_ACL_JARS: Final = "ACL_JARS"
_PROGRAM: Final = re.compile(r"^    public static void (\w+)\(Request in, Out out\) throws Exception", re.MULTILINE)
_WITH_LITE: Final = "4.6"
_CONTAINERS: Final = {Engine.PODMAN: PODMAN, Engine.DOCKER: DOCKER}


class JavaClient(Adapter):
    """Apache's Java client of a version."""

    name = "Apache's Java client"
    language = "Java"
    host_needs = ("java", "javac", "mvn")
    engines = frozenset({Engine.HOST, *_CONTAINERS})
    secures = frozenset({Security.TLS, Security.ACL})

    def __init__(self, version: str) -> None:
        """Take the version, one of `artifacts.CLIENT_VERSIONS`."""
        self.id = f"java-{version}"
        self.version = version
        self.programs = _programs(version)

    def prepare(self, engine: Engine) -> None:
        """Fetch the jars with Maven, and compile the programs."""
        artifacts.fetch_jars([("client", version) for version in artifacts.CLIENT_VERSIONS])
        if engine is Engine.HOST:
            build.classes()
        else:
            build.clients_image(_CONTAINERS[engine])

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """A JVM that runs programs."""
        return [*self.java(engine, env=env, name=name), RUNNER]

    def java(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """A JVM with the client and the programs, short of the class to run."""
        return self._on_host(env) if engine is Engine.HOST else self._in_container(_CONTAINERS[engine], env, name)

    def _on_host(self, env: Mapping[str, str]) -> list[str]:
        variables = [f"{key}={value}" for key, value in env.items()]
        home = cache.cached("home", lambda _: None)
        path = artifacts.classpath(artifacts.jars(self.version))
        classes = f"{build.classes() / self.version}:{path}"
        return ["env", *variables, artifacts.java(), *JVM_FLAGS, f"-Duser.home={home}", "-cp", classes]

    def _in_container(self, containers: Containers, env: Mapping[str, str], name: str) -> list[str]:
        variables = [option for key, value in env.items() for option in ("--env", f"{key}={value}")]
        classes = f"{_INSIDE}/classes/{self.version}:{_INSIDE}/jars/client-{self.version}/*"
        if _ACL_JARS in env:
            variables += ["--volume", f"{env[_ACL_JARS]}:{env[_ACL_JARS]}:ro"]
        options = ["--rm", "--interactive", "--name", name, *variables, build.clients_image(containers)]
        return [*containers.run, *options, "java", *JVM_FLAGS, "-Duser.home=/tmp", "-cp", classes]

    def environment(self, security: frozenset[Security]) -> dict[str, str]:
        """The JVM's option for TLS (any certificate will do), and where the jar is that signs in 4.x."""
        tls = {_JAVA_OPTIONS: "-Dtls.enable=true"} if Security.TLS in security else {}
        acl = {_ACL_JARS: str(artifacts.jars("4.9.7", kind="server"))} if Security.ACL in security else {}
        return tls | acl


def _programs(version: str) -> frozenset[str]:
    """The names of the programs that are compiled for a version (sources/compile.sh)."""
    folders = ("common",) if version < _WITH_LITE else ("common", "lite")
    return programs_of(path for folder in folders for path in (build.SOURCES / folder).glob("*.java"))


def programs_of(files: Iterable[Path]) -> frozenset[str]:
    """The names of the programs among Java sources: their methods, each with a capital."""
    methods = (name for path in files for name in _PROGRAM.findall(path.read_text("utf-8")))
    return frozenset(f"{name[0].upper()}{name[1:]}" for name in methods)
