"""A PostgreSQL from Debian's packages, unpacked into the cache, and servers of it that run without being installed.

The server refuses to run as root: root runs it as `nobody`, from a copy that this user can read.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from compat_tests import debian
from rocketwire.compat.brokers.processes import READY_WITHIN, Process
from rocketwire.compat.environment import artifacts, cache
from rocketwire.compat.environment.artifacts import ArtifactError

_NOBODY: Final = 65534
_PORT: Final = "5432"  # only the socket's name has it: the server listens to no network


class PostgreSQL:
    """A server with an empty data directory, to be used in a `with`; only this machine's Unix socket leads to it."""

    def __init__(self) -> None:
        self._root = os.geteuid() == 0
        # Its own folder, not pytest's: that one is closed to other users, and too long for a socket's name.
        self._folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._process: Process | None = None

    @property
    def dsn(self) -> str:
        """What a driver connects with."""
        return f"host={self._folder} port={_PORT} user=tests dbname=postgres"

    def __enter__(self) -> Self:
        """Make the data directory and start."""
        try:
            shutil.copytree(unpacked(), self._folder / "postgresql", symlinks=True)
            if self._root:
                self._folder.chmod(0o755)
                os.chown(self._folder, _NOBODY, _NOBODY)
            options = ["-U", "tests", "-A", "trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
            artifacts.run([*self._program("initdb"), "-D", self._data, *options], cwd=self._folder, env=self._env)
            self.start()
        except BaseException:
            shutil.rmtree(self._folder)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and remove everything."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self._folder)

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        command = [*self._program("postgres"), "-D", self._data, "-p", _PORT, "-k", self._folder]
        command += ["-c", "listen_addresses=", "-c", "jit=off"]
        self._process = Process("PostgreSQL", command, cwd=self._folder, env=self._env)
        self._process.wait_for("ready to accept connections", within=READY_WITHIN)

    def stop(self) -> None:
        """Stop it; its connections are closed."""
        process, self._process = self._process, None
        if process is not None:
            code = process.stop(signal.SIGINT)
            assert code == 0, f"PostgreSQL ended with code {code}: {process.tail()}"

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _env(self) -> Mapping[str, str]:
        libraries = ":".join(str(path) for path in sorted((self._folder / "postgresql").glob("usr/lib/*-linux-*")))
        return {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC", "LD_LIBRARY_PATH": libraries}

    def _program(self, name: str) -> list[str | Path]:
        (program,) = (self._folder / "postgresql").glob(f"usr/lib/postgresql/*/bin/{name}")
        become = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
        return [*(become if self._root else ()), program]


def unpacked() -> Path:
    """The packages' files in the cache. Raises ArtifactError where there is no apt, or it does not bring them."""
    return cache.cached(f"postgresql-{debian.release()}", _fetch)


def _fetch(target: Path) -> None:
    """Unpack the server, and of its dependencies those that the machine lacks."""
    with debian.Apt("PostgreSQL") as apt:
        version = _version(apt)
        apt.unpack(target, [f"postgresql-{version}", "libpq5"])
    for path in target.glob("usr/lib/postgresql/*/lib/bitcode"):
        shutil.rmtree(path)
    if not any(target.glob("usr/lib/postgresql/*/bin/postgres")):
        raise ArtifactError(f"the package postgresql-{version} has no program postgres where Debian has it")


def _version(apt: debian.Apt) -> str:
    """The major version of the distribution's PostgreSQL."""
    found = re.search(r"Depends: postgresql-(\d+)", apt.cache("depends", "postgresql"))
    if found is None:
        raise ArtifactError("apt knows no package postgresql; is this Debian, or a descendant?")
    return found[1]
