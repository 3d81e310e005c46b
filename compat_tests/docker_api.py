"""The API of Docker, as podman's own service offers it, for programs that start containers by it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compat_tests.containers import PODMAN
from rocketwire.compat.brokers.processes import READY_WITHIN, EndpointError

# The settings of `containers.RUN_OPTIONS`, for containers that another program creates.
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
