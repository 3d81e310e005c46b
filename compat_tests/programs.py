"""Where the Java clients of the tests run: in a container where an engine works, else on the host's JVM."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rocketwire.compat.clients.adapter import Engine
from rocketwire.compat.clients.java.adapter import RUNNER, JavaClient
from rocketwire.compat.environment import artifacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """How a Java program is started: `command` is given the client's version, variables and a container's name."""

    description: str
    in_container: bool
    command: Callable[[str, Mapping[str, str], str], list[str]]

    def java(
        self, version: str, main: str, *args: str, env: Mapping[str, str] | None = None, name: str = ""
    ) -> list[str]:
        """The command that runs the class `main` with client `version`; `name` names its container."""
        return [*self.command(version, env or {}, name or f"rocketwire-{uuid.uuid4().hex[:12]}"), main, *args]

    def runner_command(self, client: str, env: Mapping[str, str], name: str) -> list[str]:
        """The command of the process that runs programs with the client of this id."""
        return self.java(client.removeprefix("java-"), RUNNER, env=env, name=name)


def find_programs(where: str = "auto") -> Programs:
    """The programs in a container, or on the host where no engine works (`where`: "container", "host" or "auto").

    Raises ArtifactError when "container" is wanted and none works.
    """
    reason = "requested"
    if where != "host":
        try:
            return _in_container()
        except artifacts.ArtifactError as error:
            if where == "container":
                raise
            reason = str(error)
    for program in ("mvn", "javac"):
        artifacts.ensure_programs({program: artifacts.PACKAGES[program]})
    return _with(Engine.HOST, f"on the host's JVM, no container: {reason}")


def _in_container() -> Programs:
    found = _with(Engine.PODMAN, "in a container")
    artifacts.run(found.java(artifacts.CLIENT_VERSIONS[0], "-version"), timeout=60)
    return found


def _with(engine: Engine, description: str) -> Programs:
    clients = {version: JavaClient(version) for version in artifacts.CLIENT_VERSIONS}
    next(iter(clients.values())).prepare(engine)

    def command(version: str, env: Mapping[str, str], name: str) -> list[str]:
        return clients[version].java(engine, env=env, name=name)

    return Programs(description=description, in_container=engine is not Engine.HOST, command=command)
