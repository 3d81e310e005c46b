"""The README's first command on a machine that has Python, venv, make and CA certificates, and nothing else.

A minimal Debian in a container gets a clean copy of the repository (what git has committed). The way to the package
index is the machine's own: pip's settings and the CA certificates are handed in when the container starts. Where no
container engine works, the same command runs in the clean copy on the host.
"""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.programs import Programs
from compat_tests.readme import ROOT, commands, printed
from rocketwire.compat.brokers.processes import Process
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.environment import artifacts, cache, image
from rocketwire.compat.environment.containers import PODMAN
from rocketwire.compat.messages import Outgoing, assert_same

SET_UP_WITHIN: Final = 600.0  # seconds, most of them pip's


@pytest.fixture
def clean_copy() -> Iterator[Path]:
    """What a clone of the repository holds."""
    with tempfile.TemporaryDirectory(prefix="clean-") as folder:
        copy = Path(folder) / "rocketwire"
        copy.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", str(copy)], input=archive.stdout, check=True)
        yield copy


def pip_environment() -> dict[str, str]:
    """This machine's pip settings as the variables that pip reads."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    settings = {}
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        scope, _, key = name.partition(".")
        if scope in {"global", "install", ":env:"} and key != "no-compile":  # tox's, for its own environments
            settings[f"PIP_{key.upper().replace('-', '_')}"] = value.strip("'\"")
    return settings


def in_container(copy: Path, command: str, name: str) -> list[str | Path]:
    """The command in a fresh Debian, with the clean copy as its working folder."""
    settings = pip_environment()
    mounts = {value: value for value in settings.values() if value.startswith("/") and Path(value).exists()}
    paths = ssl.get_default_verify_paths()
    authorities = os.environ.get("SSL_CERT_FILE") or paths.cafile or paths.openssl_cafile
    if Path(authorities).is_file():
        mounts["/etc/ssl/certs/ca-certificates.crt"] = str(Path(authorities).resolve())
    downloads = cache.cached("pip", lambda _: None)
    options = ["--rm", "--name", name, "--volume", f"{copy}:/rocketwire", "--workdir", "/rocketwire"]
    options += ["--volume", f"{downloads}:/pip-cache", "--env", "PIP_CACHE_DIR=/pip-cache"]
    for inside, outside in mounts.items():
        options += ["--volume", f"{outside}:{inside}:ro"]
    for key, value in settings.items():
        options += ["--env", f"{key}={value}"]
    fresh = image.debian_image("fresh", image.FRESH_PACKAGES)
    return [*PODMAN.run, *options, fresh, "sh", "-c", command]


@pytest.mark.usefixtures("fixed_ports")
@pytest.mark.parametrize("target", ["rocketwire"])
def test_the_first_command_of_the_readme(target: str, clean_copy: Path, programs: Programs, clients: Clients) -> None:
    assert target == "rocketwire"  # whatever else the session tests: this is about the repository
    first, second = commands(printed("Quick start 1"))
    assert (first, second) == ("make serve", "make test")
    assert second in (clean_copy / ".ci" / "run").read_text(encoding="utf-8").splitlines()  # which is run alone
    command = f"exec {first}"  # so that signals reach make, not a shell

    name = f"rocketwire-{uuid.uuid4().hex[:12]}"
    run = in_container(clean_copy, command, name) if programs.in_container else ["sh", "-c", command]
    server = Process("the first command", run, cwd=clean_copy, env=os.environ)
    try:
        server.wait_for("Installing rocketwire", within=SET_UP_WITHIN)
        server.wait_for(" s  installed", within=SET_UP_WITHIN)
        ready = server.wait_for("ready", within=SET_UP_WITHIN)
        assert "127.0.0.1:9876" in ready
        assert "127.0.0.1:10911" in ready

        outside = Client(clients=clients, id="java-4.9.7", namesrv="127.0.0.1:9876")
        message = Outgoing(body="from outside 从外面来", tags="TagA", keys="k1")
        (sent,) = outside.only("sent", "SendSync", topic="TopicTest", message=[message])
        assert sent["status"] == "SEND_OK"
        read = outside.only("received", "PushConcurrent", topic="TopicTest", group="readers", count=1)
        assert_same(read[0], message)
    finally:
        if programs.in_container:
            artifacts.run(["podman", "stop", "--time", "20", name])
        server.stop()
    assert (clean_copy / "data" / "commitlog").is_dir()
    assert not (clean_copy / "data" / "abort").exists()  # it was stopped cleanly
