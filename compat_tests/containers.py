"""Containers of the server's image, their networks and volumes, each removed when its `with` ends.

The tests need networks, with a name for each container: podman's plugin for that is a separate package in Debian 12.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rocketwire.compat.brokers.processes import READY_WITHIN, EndpointError, Process
from rocketwire.compat.environment.artifacts import ArtifactError, ensure_programs, run

PODMAN: Final = ("podman", "--runtime", "runc")
# As for `environment/containers.py`. Without systemd podman runs no health checks, and would complain.
RUN_OPTIONS: Final = ("--log-driver", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000")
_NO_SIGNAL: Final = 0
_DNS_PLUGIN: Final = Path("/usr/lib/cni/dnsname")
_DNS_PACKAGE: Final = "golang-github-containernetworking-plugin-dnsname"


def run_command(image: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """The command that runs a container to its end."""
    return [*PODMAN, "run", "--rm", *RUN_OPTIONS, *options, image, *arguments]


def ensure_names() -> None:
    """Install what gives containers names in their networks, if it is missing. Raises ArtifactError."""
    backend = run(["podman", "info", "--format", "{{.Host.NetworkBackend}}"]).strip()
    if backend == "cni" and not _DNS_PLUGIN.exists():
        ensure_programs({str(_DNS_PLUGIN): _DNS_PACKAGE})


@contextlib.contextmanager
def network() -> Iterator[str]:
    """The name of a new network."""
    ensure_names()
    name = f"rocketwire-{uuid.uuid4().hex[:12]}"
    run([*PODMAN, "network", "create", name])
    try:
        yield name
    finally:
        run([*PODMAN, "network", "rm", "-f", name])


@contextlib.contextmanager
def volume() -> Iterator[str]:
    """The name of a new volume."""
    name = f"rocketwire-{uuid.uuid4().hex[:12]}"
    run([*PODMAN, "volume", "create", name])
    try:
        yield name
    finally:
        run([*PODMAN, "volume", "rm", "-f", name])


class ServerContainer:
    """A container that serves."""

    def __init__(
        self,
        image: str,
        *arguments: str,
        options: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        name: str = "",
    ) -> None:
        self.name = name or f"rocketwire-{uuid.uuid4().hex[:12]}"
        given = [option for each in (variables or {}).items() for option in ("--env", "=".join(each))]
        self._command = run_command(image, *arguments, options=("--name", self.name, *given, *options))
        self._process: Process | None = None

    def start(self) -> None:
        """Start it and wait for its "ready" line. Raises EndpointError."""
        self._process = Process(self.name, self._command, cwd=Path("/"), env=os.environ)
        self._process.wait_for("rocketwire ready", within=READY_WITHIN)

    def stop(self) -> None:
        """Stop it as an engine does. Raises EndpointError if its exit code is not 0."""
        process, self._process = self._process, None
        try:
            if process is not None:
                with contextlib.suppress(ArtifactError):  # it has ended already
                    run([*PODMAN, "stop", "-t", "60", self.name])
                if (code := process.stop(_NO_SIGNAL)) != 0:  # podman ends with the container's code
                    raise EndpointError(f"the container ended with code {code}: {process.tail()}")
        finally:
            subprocess.run([*PODMAN, "rm", "-f", "-t", "0", self.name], capture_output=True, check=False)

    def execute(self, *command: str) -> str:
        """What a command in the container prints. Raises ArtifactError if it fails."""
        return run([*PODMAN, "exec", self.name, *command])

    def healthy(self) -> bool:
        """Whether the image's own health check passes now."""
        check = [*PODMAN, "healthcheck", "run", self.name]
        return subprocess.run(check, capture_output=True, check=False, timeout=60).returncode == 0
