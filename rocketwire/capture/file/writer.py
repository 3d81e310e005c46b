"""Writing a recording: events are collected, and appended to the file as blocks."""

from __future__ import annotations

import os
from typing import Final, Self

from rocketwire.capture.errors import RecordingUnwritable
from rocketwire.capture.file.events import Event
from rocketwire.capture.file.layout import encode_block, encode_event, encode_head

_BLOCK: Final = 256 << 10
"""So many bytes of events are written at once, before the next flush is due."""


class RecordingWriter:
    """The new file of a recording, which only its owner can read.

    Raises:
        RecordingUnwritable: here and in every method: the file exists already, or cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._events: list[bytes] = []
        self._size = 0
        self._blocks = 0
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise RecordingUnwritable(path, "it exists already") from None
        except OSError as error:
            raise RecordingUnwritable(path, error.strerror or str(error)) from error
        self.written = 0
        self._write(encode_head())

    def add(self, event: Event) -> None:
        """Append an event; it reaches the file with the next flush, or when a block is full."""
        data = encode_event(event)
        self._events.append(data)
        self._size += len(data)
        if self._size >= _BLOCK:
            self.flush()

    def flush(self) -> None:
        """Append a block of the events since the last one, if there are any."""
        if self._events:
            payload = b"".join(self._events)
            self._events, self._size = [], 0
            self._write(encode_block(self._blocks, payload))
            self._blocks += 1

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            raise RecordingUnwritable(self._path, error.strerror or str(error)) from error
        self.written += len(data)

    def close(self) -> None:
        """Flush, bring the file to the disk and close it."""
        try:
            self.flush()
            try:
                os.fsync(self._file)
            except OSError as error:
                raise RecordingUnwritable(self._path, error.strerror or str(error)) from error
        finally:
            os.close(self._file)

    def __enter__(self) -> Self:
        """Close at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()
