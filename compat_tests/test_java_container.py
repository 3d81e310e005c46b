"""The library's Testcontainers module: a test in Java starts this repository's image by an engine's API."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests import java_library
from compat_tests.containers import PODMAN
from compat_tests.processes import READY_WITHIN, EndpointError
from compat_tests.server_image import server_image

pytestmark = pytest.mark.usefixtures("only_rocketwire")

# What `containers.RUN_OPTIONS` says, for containers that another program asks for.
_SETTINGS: Final = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
"""


@contextlib.contextmanager
def docker_api(folder: Path) -> Iterator[str]:
    """The address of podman's own service with the API of Docker, which ends with the `with`."""
    settings, socket, log = folder / "containers.conf", folder / "api.sock", folder / "log"
    settings.write_text(_SETTINGS, "utf-8")
    address = f"unix://{socket}"
    with log.open("wb") as output:
        service = subprocess.Popen(
            [*PODMAN, "system", "service", "--time=0", address],
            env={**os.environ, "CONTAINERS_CONF": str(settings)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        end = time.monotonic() + READY_WITHIN
        while not socket.exists():
            if service.poll() is not None or time.monotonic() > end:
                raise EndpointError(f"podman's service did not start: {log.read_text('utf-8')}")
            time.sleep(0.02)
        yield address
    finally:
        service.terminate()
        service.wait(60)


def test_a_container_serves_a_test_in_java(tmp_path: Path) -> None:
    image = server_image()
    with docker_api(tmp_path) as address:
        passed = java_library.run_tests(
            "-Pcontainer",
            f"-Drocketwire.image={image}",
            env={
                "DOCKER_HOST": address,
                "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1",
                "TESTCONTAINERS_RYUK_DISABLED": "true",  # its image would come from a registry
            },
        )
    assert passed == {"RocketwireContainerTest": 2}
