"""Reading a recording, also one that is cut off or damaged: whole blocks are read, and what is missing is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from rocketwire.capture.errors import CaptureError, NotARecording
from rocketwire.capture.file.events import Event, RecordingStarted, RecordingStopped
from rocketwire.capture.file.layout import BLOCK_HEAD, BLOCK_MAGIC, MOST_PAYLOAD, check_head, decode_events, fits
from rocketwire.capture.file.layout import HEAD as FILE_HEAD

Report: TypeAlias = Callable[[str], None]
"""Gets one line about something that is missing."""
_HEAD_SIZE: Final[int] = BLOCK_HEAD.sizeof()


@dataclass(frozen=True, slots=True)
class RecordingBlock:
    """A whole block: where it is in the file, its number, and its events."""

    at: int
    number: int
    events: list[Event]


def blocks_of(data: bytes, report: Report) -> Iterator[RecordingBlock]:
    """The whole blocks of a file's bytes.

    Raises:
        NotARecording: the bytes begin otherwise.
    """
    check_head(data)
    at: int = FILE_HEAD.sizeof()
    while at < len(data):
        block = _block_at(data, at)
        if block is not None:
            yield block[0]
            at = block[1]
            continue
        further = _next_block(data, at + 1)
        if further is None:
            report(f"the file is cut off or damaged from byte {at} on: {len(data) - at} bytes are not read")
            return
        report(f"the file is damaged from byte {at} to byte {further - 1}: these are not read")
        at = further


def _block_at(data: bytes, at: int) -> tuple[RecordingBlock, int] | None:
    """The block at a position and where it ends; None if there is no whole one."""
    if data[at : at + len(BLOCK_MAGIC)] != BLOCK_MAGIC or len(data) - at < _HEAD_SIZE:
        return None
    head = BLOCK_HEAD.parse(data[at : at + _HEAD_SIZE])
    end = at + _HEAD_SIZE + head.length
    if head.length > MOST_PAYLOAD or end > len(data):
        return None
    payload = data[at + _HEAD_SIZE : end]
    if not fits(head.checksum, head.number, payload):
        return None
    return RecordingBlock(at, head.number, decode_events(payload)), end


def _next_block(data: bytes, at: int) -> int | None:
    while (at := data.find(BLOCK_MAGIC, at)) >= 0:
        if _block_at(data, at) is not None:
            return at
        at += 1
    return None


def events_of(data: bytes, report: Report) -> list[Event]:
    """The events of a recording; `report` gets a line for each part that is missing.

    Raises:
        NotARecording: the bytes are none, or no block of them is whole.
    """
    found: list[Event] = []
    number = -1
    for block in blocks_of(data, report):
        if block.number > number + 1 and number >= 0:
            report(f"blocks {number + 1} to {block.number - 1} are missing before byte {block.at}")
        number = block.number
        found += block.events
    if not found:
        raise NotARecording("no block of it is whole")
    if not isinstance(found[0], RecordingStarted):
        report("the beginning is missing: times of the day are not known")
    if not isinstance(found[-1], RecordingStopped):
        report("the recording was not stopped, but cut off: its end is missing")
    return found


def load(path: str, report: Report) -> list[Event]:
    """The events of a file; `report` gets a line for each part that is missing.

    Raises:
        CaptureError: the file cannot be read.
        NotARecording: it is no recording, or nothing of it is whole.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror}") from error
    return events_of(data, lambda line: report(f"{path}: {line}"))
