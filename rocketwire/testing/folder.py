"""The temporary folder of an endpoint: its store, its log and its accounts.

It lies in memory (/dev/shm) where there is room. A process that is killed cannot remove its folders; so it locks a file
in each, and the next process that makes a folder removes those whose lock is free.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

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
