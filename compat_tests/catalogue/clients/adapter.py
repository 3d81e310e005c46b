"""What a client declares, and how its process is started."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Engine(StrEnum):
    """Where the processes of clients run."""

    HOST = "host"
    PODMAN = "podman"
    DOCKER = "docker"

    @property
    def where(self) -> str:
        """The word of the results: "host" or "container"."""
        return "host" if self is Engine.HOST else "container"


class Security(StrEnum):
    """What an endpoint may demand of connections."""

    TLS = "tls"
    ACL = "acl"


class Adapter(ABC):
    """One client in one version. An instance keeps no state but what `prepare` finds out.

    Attributes:
        id: As `--clients` takes it: `java-4.9.7`.
        name: For readers: `Apache's Java client`.
        version: The version of the client, pinned: `4.9.7`.
        language: `Java`.
        programs: The names of the programs that it offers, as clients/java/sources has them: `SendSync`, `PullAll`.
        host_needs: The commands that the machine must have where it runs on the host, as `java`.
        engines: Where it can run.
        grpc: Whether it speaks gRPC, as clients of 5.x do; else it speaks remoting. Requests carry `endpoints`.
        secures: What it can do for endpoints that demand it. With ACL, requests carry `accessKey` and `secretKey`.
        lacks: Ids of scenarios that it cannot run for other reasons than a missing program; each with the reason.
    """

    id: str
    name: str
    version: str
    language: str
    programs: frozenset[str]
    host_needs: tuple[str, ...] = ()
    engines: frozenset[Engine] = frozenset({Engine.HOST})
    grpc: bool = False
    secures: frozenset[Security] = frozenset()
    lacks: Mapping[str, str] = MappingProxyType({})

    def missing(self, engine: Engine) -> str:
        """Why it cannot run with this engine here: one line; empty if it can."""
        if engine not in self.engines:
            return f"does not run with {engine}"
        needed = self.host_needs if engine is Engine.HOST else (engine.value,)
        lacking = [command for command in needed if shutil.which(command) is None]
        return f"missing on this machine: {', '.join(lacking)}" if lacking else ""

    @abstractmethod
    def prepare(self, engine: Engine) -> None:
        """Fetch what it is made of, pinned, and build it, into the cache (environment/cache.py); quick if it is cached.

        Raises:
            ArtifactError: something cannot be had, or does not build.
        """

    @abstractmethod
    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """The command of the process that runs programs. `prepare` has been called.

        Args:
            engine: Where it is to run.
            env: Variables that the process gets besides those of this machine.
            name: Unique; names its container, if it gets one.
        """

    def environment(self, security: frozenset[Security]) -> dict[str, str]:
        """The variables that make it use TLS, or let it sign; `security` is a part of `secures`."""
        del security
        return {}
