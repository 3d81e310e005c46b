"""deploy/github-actions: the file is valid, and its steps pass at its service, with podman in the place of docker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from compat_tests.containers import ServerContainer
from compat_tests.readme import ROOT
from compat_tests.server_image import server_image
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.environment.artifacts import run
from rocketwire.compat.messages import Outgoing, assert_each_once

pytestmark = pytest.mark.usefixtures("only_rocketwire")

FILE: Final = ROOT / "deploy" / "github-actions" / "rocketwire.yml"


def test_the_file_is_valid() -> None:
    run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", FILE])


@pytest.mark.usefixtures("fixed_ports")
def test_its_steps_pass_and_a_client_reaches_its_service(clients: Clients, tmp_path: Path) -> None:
    job: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))["jobs"]["tests"]
    service = job["services"]["rocketwire"]
    assert service["image"] == "${{ vars.ROCKETWIRE_IMAGE }}"
    published = [option for port in service["ports"] for option in ("--publish", f"127.0.0.1:{port}")]
    container = ServerContainer(server_image(), options=published, variables=service["env"])
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\nexec podman --runtime runc "$@"\n')
    docker.chmod(0o755)
    identity = {"${{ job.services.rocketwire.id }}": container.name}
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    env |= {name: identity.get(value, value) for name, value in job["env"].items()}
    with running(container):
        assert container.healthy()
        outputs = []
        for step in job["steps"]:
            if "if" not in step:
                shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
                done = subprocess.run(shell, env=env, capture_output=True, text=True, check=False, timeout=300)
                assert done.returncode == 0, done.stderr
                outputs.append(done.stdout)
        assert any(line.startswith("Orders ") for line in outputs[0].splitlines())
        client = Client(clients=clients, id="java-4.9.7", namesrv=job["env"]["NAMESRV_ADDR"])
        client.run("SendSync", topic="Orders", message=[Outgoing(body="from the runner")])
        received = client.only("received", "PushConcurrent", topic="Orders", group="g", count=1)
    assert_each_once(received, [Outgoing(body="from the runner")])
