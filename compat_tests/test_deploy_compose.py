"""deploy/compose: the file is valid, and its service serves this machine and the project's other containers."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from compat_tests.containers import RUN_OPTIONS, ensure_names, run_command
from compat_tests.readme import ROOT
from compat_tests.server_image import server_image
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports, port_of
from rocketwire.compat.brokers.processes import READY_WITHIN, Process
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.environment.artifacts import run
from rocketwire.compat.messages import Outgoing, assert_each_once

pytestmark = pytest.mark.usefixtures("only_rocketwire")

FILE: Final = ROOT / "deploy" / "compose" / "compose.yaml"


class Project:
    """The project of the file, under another name and at other ports."""

    def __init__(self) -> None:
        self.name = f"rocketwire-{uuid.uuid4().hex[:12]}"
        namesrv, broker = free_ports()
        self.namesrv = f"{LOOPBACK}:{namesrv}"
        self.broker = f"{LOOPBACK}:{broker}"
        self._env: Mapping[str, str] = {
            **os.environ,
            "ROCKETWIRE_IMAGE": server_image(),
            "ROCKETWIRE_NAMESRV_PORT": str(namesrv),
            "ROCKETWIRE_BROKER_PORT": str(broker),
            "ROCKETWIRE_HTTP_PORT": str(broker + 1),
        }

    def compose(self, *command: str) -> list[str]:
        """A command of podman-compose, with what podman needs here (`RUN_OPTIONS`)."""
        limits = " ".join((*RUN_OPTIONS, "--no-healthcheck"))
        options = ["--podman-args", "--runtime runc", "--podman-run-args", limits, "--in-pod", "false"]
        return [sys.executable, "-m", "podman_compose", *options, "-f", str(FILE), "-p", self.name, *command]

    def run(self, *command: str) -> None:
        """Run one to its end. Raises ArtifactError."""
        run(self.compose(*command), env=self._env, timeout=300)

    def up(self) -> Process:
        """Start everything, and wait until it is ready."""
        process = Process("podman-compose", self.compose("up"), cwd=ROOT, env=self._env)
        process.wait_for("rocketwire ready", within=READY_WITHIN)
        return process


@pytest.fixture
def project() -> Iterator[Project]:
    ensure_names()
    made = Project()
    process = made.up()
    try:
        yield made
    finally:
        made.run("down", "--volumes")
        process.stop()


def test_the_file_is_valid() -> None:
    run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)])


def test_this_machine_and_a_sibling_are_served(project: Project, clients: Clients) -> None:
    client = Client(clients=clients, id="java-4.9.7", namesrv=project.namesrv)
    client.run("CreateTopic", topic="Composed", queues=2)
    client.run("SendSync", topic="Composed", message=[Outgoing(body="from the host")])
    send = ["message", "send", "Composed", "from a sibling", "--namesrv", "rocketwire:9876"]
    options = ("--network", f"{project.name}_default", "--no-healthcheck")
    run(run_command(server_image(), *send, options=options))
    received = client.only("received", "PushConcurrent", topic="Composed", group="g", count=2)
    assert_each_once(received, [Outgoing(body="from the host"), Outgoing(body="from a sibling")])
    ready = [sys.executable, "-m", "rocketwire", "health", "--http", f"{LOOPBACK}:{port_of(project.broker) + 1}"]
    assert subprocess.run(ready, check=False, capture_output=True, timeout=60).returncode == 0
