"""The events of the recording in a file."""

from __future__ import annotations

from pathlib import Path

from rocketwire.capture.errors import CaptureError
from rocketwire.capture.file.events import Event
from rocketwire.capture.file.reader import Report, events_of


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
