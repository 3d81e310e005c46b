"""config/timercheck: the timer's saved progress (layout.timer_check), with an extension behind Apache's fields.

The file is overwritten in place, like the checkpoint: it fits into one page, and needs no new disk space. After a torn
write the extension is void, and recovery works without it.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final, NamedTuple

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.layout.timer_check import (
    CHECK_STRUCT,
    EXTENSION_AT,
    EXTENSION_MAGIC,
    EXTENSION_STRUCT,
    FILE_SIZE,
)
from rocketwire.store.tables import config
from rocketwire.wire.java import to_int32

_ZERO: Final = bytes(EXTENSION_AT - CHECK_STRUCT.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerCheckpointExtension:
    """The extension of rocketwire: see layout.timer_check."""

    log_place: int
    precision: int
    clean: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerCheckpoint:
    """The content of the file: see layout.timer_check. `extension` is None if it is void."""

    last_read_time: int = 0
    last_log_flushed: int = 0
    last_queue_offset: int = 0
    master_queue_offset: int = 0
    state_version: int = 0
    timestamp: int = 0
    counter: int = 0
    extension: TimerCheckpointExtension | None = None


class StartPositions(NamedTuple):
    """Where the commit log and the timer's queue ended at the start, before anything was appended; `now` is in ms."""

    log: int
    queue: int
    now: int


def plausible_checkpoint(check: TimerCheckpoint | None, *, newest: int, log_end: int) -> TimerCheckpoint:
    """The check, or an empty one if it has no checksum and its values are impossible.

    Args:
        check: As it was read.
        newest: The latest time in ms that may have been read.
        log_end: Where the last file of the timer log ends.
    """
    if check is None:
        return TimerCheckpoint()
    can_be = 0 <= check.last_read_time <= newest and 0 <= check.last_log_flushed <= log_end
    return check if check.extension is not None or (can_be and check.last_queue_offset >= 0) else TimerCheckpoint()


def read_checkpoint(path: str, files: FileSystem) -> TimerCheckpoint | None:
    """The content of the file; None when there is none, or it is too short.

    Raises:
        OSError: it cannot be read.
    """
    data = files.read(path)
    return None if data is None else decode_checkpoint(data)


def decode_checkpoint(data: bytes) -> TimerCheckpoint | None:
    """Decode the file; None when it is too short, or nothing was ever written."""
    if len(data) < FILE_SIZE or not any(data):
        return None
    values = CHECK_STRUCT.unpack_from(data)
    return TimerCheckpoint(
        last_read_time=values[0],
        last_log_flushed=values[1],
        last_queue_offset=values[2],
        master_queue_offset=values[3],
        state_version=values[4],
        timestamp=values[5],
        counter=values[6],
        extension=_extension(data),
    )


def _extension(data: bytes) -> TimerCheckpointExtension | None:
    magic, crc, log_place, precision, clean = EXTENSION_STRUCT.unpack_from(data, EXTENSION_AT)
    if magic != EXTENSION_MAGIC or crc != _crc(data):
        return None
    return TimerCheckpointExtension(log_place=log_place, precision=precision, clean=clean == 1)


def _crc(data: bytes) -> int:
    head = zlib.crc32(data[: CHECK_STRUCT.size])
    return to_int32(zlib.crc32(data[EXTENSION_AT + 8 : EXTENSION_AT + EXTENSION_STRUCT.size], head))


def encode_checkpoint(check: TimerCheckpoint) -> bytes:
    """The beginning of the file; zeros follow."""
    head = CHECK_STRUCT.pack(
        check.last_read_time,
        check.last_log_flushed,
        check.last_queue_offset,
        check.master_queue_offset,
        check.state_version,
        check.timestamp,
        check.counter,
    )
    own = check.extension
    if own is None:
        return head
    fields = (own.log_place, own.precision, int(own.clean))
    data = head + _ZERO + EXTENSION_STRUCT.pack(EXTENSION_MAGIC, 0, *fields)
    return head + _ZERO + EXTENSION_STRUCT.pack(EXTENSION_MAGIC, _crc(data), *fields)


def write_checkpoint(path: str, files: FileSystem, check: TimerCheckpoint) -> None:
    """Write and flush it. Blocking; safe in a thread.

    Raises:
        OSError: it could not be written.
    """
    data = encode_checkpoint(check)
    if files.size(path) != FILE_SIZE:
        config.make_folder(path, files)
        files.write(path, data.ljust(FILE_SIZE, b"\0"))
        return
    fd = files.open(path)
    try:
        files.write_at(fd, data, 0)
        files.sync(fd)
    finally:
        files.close(fd)
