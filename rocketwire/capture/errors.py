"""Errors of recordings; each text is one line for the user."""

from __future__ import annotations


class CaptureError(Exception):
    """Something is wrong with a recording, or it cannot be made or replayed."""


class NotARecording(CaptureError):
    """A file is no recording, or one of a later version."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no recording: {reason}")


class RecordingUnwritable(CaptureError):
    """The file of a recording cannot be made or written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} cannot be written: {reason}")


class CannotListen(CaptureError):
    """The proxy cannot listen on an address."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"cannot listen on {address}: {reason}")


class CannotReplay(CaptureError):
    """A recording has nothing that can be replayed, or needs a broker that the endpoint does not have."""
