"""Where an endpoint is: its ports, folder and accounts, which outlive its server."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from rocketwire.testing.options import EndpointSettings, arguments, write_accounts
from rocketwire.testing.ports import KeptPorts

_PREFIX: Final = "rocketwire-test-"
_OWNER: Final = "owner"
_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - folders in it are made with mkdtemp
_ROOM: Final = 512 << 20
"""So many bytes have to be free there."""
_YOUNG_SECONDS: Final = 60.0
"""A younger folder may be one whose process is about to lock it."""


class TemporaryFolder:
    """A folder that is removed when it is closed.

    Attributes:
        path: The folder.
    """

    def __init__(self) -> None:
        base = base_folder()
        remove_abandoned(base)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        self._owner = os.open(self.path / _OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._owner, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Remove it."""
        if self._owner >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._owner)
            self._owner = -1


def base_folder(in_memory: Path = _IN_MEMORY) -> Path:
    """Where folders are made: in memory if there is room, else where the system has temporary files."""
    with contextlib.suppress(OSError):
        room = os.statvfs(in_memory)
        if os.access(in_memory, os.W_OK | os.X_OK) and room.f_bavail * room.f_frsize >= _ROOM:
            return in_memory
    return Path(tempfile.gettempdir())


def remove_abandoned(base: Path) -> None:
    """Remove the folders of processes that have ended without doing so."""
    for path in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if _age(base, path) < _YOUNG_SECONDS:
                continue
            owner = os.open(path / _OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(owner)


def _age(base: Path, path: Path) -> float:
    """Seconds by the clock of the file system, since the folder was last changed."""
    with tempfile.TemporaryFile(dir=base) as now:
        return os.fstat(now.fileno()).st_mtime - path.stat().st_mtime


class EndpointPlace:
    """The place of one endpoint, until it is closed.

    Attributes:
        namesrv: The name server's address.
        broker: The broker's.
        http: That of faults, clock, metrics and health.
        grpc: That of clients of 5.x.
        store: The store's folder.
        stays: Whether that stays when the place is closed: then the server has to leave it whole.
        log: The file of the server's log.
        credentials: The account of the endpoint's own client; None without access control.
        arguments: Those of `rocketwire serve`.
    """

    def __init__(self, options: EndpointSettings) -> None:
        """Make it.

        Raises:
            NotStarted: a port is taken, or the accounts cannot be read.
        """
        with contextlib.ExitStack() as stack:
            kept = stack.enter_context(contextlib.closing(KeptPorts(options.ports)))
            folder = stack.enter_context(contextlib.closing(TemporaryFolder())).path
            ports = kept.ports
            self.namesrv, self.broker, self.http, self.grpc = (
                f"127.0.0.1:{port}" for port in (ports["namesrv"], ports["broker"], ports["http"], ports["grpc"])
            )
            self.stays = options.store is not None
            self.store = folder / "store" if options.store is None else options.store
            self.log = folder / "server.log"
            accounts: Path | None = None
            self.credentials = None
            if options.acl is not None:
                accounts = folder / "plain_acl.yml"
                self.credentials = write_accounts(options.acl, accounts)
            self.arguments = arguments(options, ports=ports, store=self.store, accounts=accounts)
            self._stack = stack.pop_all()

    def close(self) -> None:
        """Give the ports back, and remove the folder."""
        self._stack.close()
