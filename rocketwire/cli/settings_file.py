"""Reading a settings file that the user names: also of a pipe, but never without an end."""

from __future__ import annotations

import os
import select
import stat
import time
from typing import Final

from rocketwire.cli.errors import CommandError
from rocketwire.cli.output import warn

MOST_BYTES: Final = 1 << 20
"""The most that a settings file has."""
NO_WRITER_SECONDS: Final = 1.0
"""So long a pipe may have no writer."""
SILENCE_SECONDS: Final = 10.0
"""So long a writer may take until the end."""
_SAY_AFTER_SECONDS: Final = 1.5
_PAUSE: Final = 0.02


def read_settings_file(option: str, path: str) -> bytes:
    """The content of a file, or what is written to a pipe until it is closed.

    Raises:
        Mistake: it cannot be read, is too long, or has no end.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _read(
                fd, CommandError(f"{option} {path}: longer than {MOST_BYTES} bytes, so it is no settings file")
            )
        finally:
            os.close(fd)
    except TimeoutError as error:
        raise CommandError(f"{option} {path}: {error}") from error
    except OSError as error:
        raise CommandError(f"{option} {path}: {error.strerror}") from error


def _read(fd: int, too_long: CommandError) -> bytes:
    found = bytearray()
    is_pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
    wait = _Wait(fd)
    while len(found) <= MOST_BYTES:
        try:
            data = os.read(fd, MOST_BYTES + 1 - len(found))
        except BlockingIOError:
            data = None
        if data:
            found += data
        elif data is not None and (found or wait.had_writer or not is_pipe):
            return bytes(found)
        else:
            wait.once(is_open=data is None)
    raise too_long


class _Wait:
    """The waits for the writer of one pipe, or of a terminal.

    Attributes:
        had_writer: Whether one has had it open.
    """

    def __init__(self, fd: int) -> None:
        self.had_writer = False
        self._fd = fd
        self._began = time.monotonic()
        self._told = False

    def once(self, *, is_open: bool) -> None:
        """Wait a little.

        Raises:
            TimeoutError: it took too long.
        """
        self.had_writer |= is_open
        waited = time.monotonic() - self._began
        if not is_open and waited >= NO_WRITER_SECONDS:
            raise TimeoutError(f"nobody writes to it ({NO_WRITER_SECONDS:g} s)")
        if is_open and waited >= SILENCE_SECONDS:
            raise TimeoutError(f"it was not closed within {SILENCE_SECONDS:g} s")
        if waited >= _SAY_AFTER_SECONDS and not self._told:
            self._told = True
            warn("waiting for the settings file to end")
        if is_open:
            select.select([self._fd], [], [], _PAUSE)
        else:
            time.sleep(_PAUSE)
