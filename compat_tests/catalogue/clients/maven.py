"""Clients in Java besides Apache's own: their jars come by a pom, their programs are compiled on the host.

They share with Apache's client what reads requests, makes messages and prints events (java/sources), and have the same
command line.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rocketwire.compat.clients import sources
from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.clients.java import build
from rocketwire.compat.clients.java.adapter import JVM_FLAGS, RUNNER, programs_of
from rocketwire.compat.environment import artifacts, cache

_COMMON: Final = ("Runner", "Request", "Lines", "Out", "Bodies", "Messages", "Inbox", "Clients")
_SHIMS: Final = ("Shim", "TraceShim")
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


class MavenClient(Adapter):
    """A client whose pom.xml and `sources` are in `folder`.

    Attributes:
        folder: The client's folder.
        remoting: The version of Apache's Java client that it is made of, as `4.9.3`.
        settings: Properties of the pom that choose its version.
    """

    language = "Java"
    host_needs = ("java", "javac", "mvn")
    secures = frozenset({Security.TLS, Security.ACL})
    folder: Path
    remoting: str
    settings: Mapping[str, str]

    def __init__(self) -> None:
        """Find the programs among its sources."""
        self.programs = programs_of((self.folder / "sources").glob("*.java"))

    def prepare(self, engine: Engine) -> None:
        """Fetch the jars with Maven, and compile the programs."""
        del engine
        self._classes()

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """A JVM that runs programs."""
        del engine, name
        variables = [f"{key}={value}" for key, value in env.items()]
        home = cache.cached("home", lambda _: None)
        path = f"{self._classes()}:{artifacts.classpath(self._jars())}"
        return ["env", *variables, artifacts.java(), *JVM_FLAGS, f"-Duser.home={home}", "-cp", path, RUNNER]

    def environment(self, security: frozenset[Security]) -> dict[str, str]:
        """The JVM's option for TLS; any certificate will do."""
        return {"JAVA_TOOL_OPTIONS": "-Dtls.enable=true"} if Security.TLS in security else {}

    def _jars(self) -> Path:
        """The folder of its jars, those it depends on among them."""
        return cache.cached(
            f"jars/{self.id}-{sources.digest([self.folder / 'pom.xml'], *self._options())}", self._fetch
        )

    def _options(self) -> list[str]:
        return [f"-D{key}={value}" for key, value in self.settings.items()]

    def _fetch(self, target: Path) -> None:
        artifacts.ensure_programs({name: artifacts.PACKAGES[name] for name in ("mvn", "java")})
        # A short life: start fast.
        quick = f"{os.environ.get('MAVEN_OPTS', '')} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        command: list[str | Path] = ["mvn", "-q", "-B", "-f", self.folder / "pom.xml", _COPY, "-DincludeScope=runtime"]
        artifacts.run(
            [*command, f"-DoutputDirectory={target}", *self._options()], env={**os.environ, "MAVEN_OPTS": quick}
        )

    def _classes(self) -> Path:
        """The compiled programs."""
        return cache.cached(f"classes/{self.id}-{sources.digest(self._sources(), *self._options())}", self._compile)

    def _sources(self) -> Sequence[Path]:
        common = [build.SOURCES / "common" / f"{name}.java" for name in _COMMON]
        shims = [build.SOURCES / f"v{self.remoting[0]}" / f"{name}.java" for name in _SHIMS]
        return [*common, *shims, *sorted((self.folder / "sources").glob("*.java"))]

    def _compile(self, target: Path) -> None:
        flags: list[str | Path] = ["-nowarn", "-Xlint:none", "-encoding", "UTF-8", "-d", target]
        flags += ["-cp", artifacts.classpath(self._jars())]
        with tempfile.TemporaryDirectory() as empty:  # javac must not search classes where it happens to run
            artifacts.run([artifacts.javac(), *flags, *self._sources()], cwd=Path(empty))
