"""`rocketwire compat run --engine docker`, with podman in the place of Docker: the same commands and options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from compat_tests.endpoints import Rocketwire
from compat_tests.readme import ROOT
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.environment.artifacts import ArtifactError, run
from rocketwire.compat.environment.containers import DOCKER, PODMAN

pytestmark = pytest.mark.usefixtures("only_rocketwire")

# What builds is given a chroot for its steps, and what runs the runtime of this machine; all else is passed on.
_DOCKER = """#!/bin/sh
echo "$@" >> "$0.log"
case $1 in
build) shift; exec buildah bud --isolation chroot "$@";;
*) exec podman --runtime runc "$@";;
esac
"""
_ACCOUNTS = """accounts:
- {accessKey: the-admin, secretKey: 12345678, admin: true}
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called docker, first in the path."""
    PODMAN.ensure()
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(_DOCKER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


def test_the_java_clients_run_and_sign_in_docker(docker: Path, tmp_path: Path) -> None:
    accounts = tmp_path / "plain_acl.yml"
    accounts.write_text(_ACCOUNTS)
    command = [sys.executable, "-m", "rocketwire", "compat", "run", "--engine", "docker"]
    with running(Rocketwire(tmp_path / "endpoint", options=("--acl", str(accounts)))) as endpoint:
        options = ["--namesrv", endpoint.namesrv, "--acl", "the-admin:12345678", "--out", str(tmp_path / "report")]
        options += ["--clients", "java-4.9.7,java-5.5.0", "--scenarios", "send.batch,push.tags"]
        done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, timeout=540, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "report" / "results.json").read_text("utf-8"))["results"]
    assert [each["outcome"] for each in results] == ["pass"] * 4
    requested = docker.with_name("docker.log").read_text().splitlines()
    containers = [line.split(" --name ")[1].split()[0] for line in requested if line.startswith("run ")]
    assert containers
    left = run(["podman", "ps", "--all", "--format", "{{.Names}}"]).split()
    assert not set(containers) & set(left)


@pytest.mark.usefixtures("docker")
def test_an_image_is_built_with_docker(tmp_path: Path) -> None:
    tag = f"localhost/rocketwire-test:{uuid.uuid4().hex[:12]}"
    (tmp_path / "Containerfile").write_text(
        "ARG NAME\nFROM scratch\nARG NAME\nCOPY Containerfile /\nLABEL name=$NAME\n"
    )
    assert not DOCKER.has(tag)
    DOCKER.make(tag, tmp_path, "Containerfile", "NAME=of-the-test")
    try:
        assert DOCKER.has(tag)
        assert run(["podman", "inspect", "--format", '{{index .Labels "name"}}', tag]).strip() == "of-the-test"
    finally:
        run(["podman", "rmi", tag])


def test_a_daemon_that_does_not_run_is_an_error(docker: Path) -> None:
    docker.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    with pytest.raises(ArtifactError, match=r"docker failed .*Cannot connect to the Docker daemon"):
        DOCKER.has("localhost/anything:1")
