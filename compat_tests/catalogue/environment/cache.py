"""The folder that fetched and built things are kept in.

A finished entry is in it under a descriptive name; it is made beside that name and renamed into place, so an entry
that exists is complete. A lock file keeps two processes from making the same entry twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final


def _folder() -> Path:
    """Of a clone of the repository `.cache` in it; of an installed package the user's."""
    place = Path(__file__).resolve().parents[1]
    if place.name == "catalogue" and place.parent.name == "compat_tests":
        return place.parents[1] / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rocketwire"


CACHE: Final = _folder()


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the cache's lock called `name`; a second process waits here."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """The cache's entry `name` (a directory); `make` fills an empty directory when there is none yet.

    An entry appears whole or not at all. Raises what `make` raises.
    """
    entry = CACHE / name
    if entry.is_dir():
        return entry
    with locked(name.replace("/", "-")):
        if not entry.is_dir():
            entry.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".making-", dir=entry.parent) as scratch:
                fresh = Path(scratch) / "entry"
                fresh.mkdir()
                make(fresh)
                fresh.rename(entry)
    return entry
