"""The errors of the store, one class per cause.

Every text is one line that a user understands who knows only the directory's name; the server maps the classes to
response codes in one table.
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of all errors of the store."""


class StoreLocked(StoreError):
    """Another process holds the store's `lock` file."""

    def __init__(self, path: str) -> None:
        super().__init__(f"store {path} is in use by another process (its lock file is held)")
        self.path = path


class StoreNotWritable(StoreError):
    """The directory cannot be created or written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"store {path} cannot be written: {reason}")
        self.path = path
        self.reason = reason


class StoreForeign(StoreError):
    """The directory is not a RocketMQ store, or one made with other settings."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path} cannot be used as a RocketMQ store: {what}")
        self.path = path
        self.what = what


class StoreUnreadable(StoreError):
    """A file or directory of a store cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} cannot be read: {reason}")
        self.path = path
        self.reason = reason


class StoreGone(StoreError):
    """A file or folder of the open store is not there any more, or another one has its name (`replaced`)."""

    def __init__(self, path: str, *, replaced: bool = False) -> None:
        if replaced:
            text = f"{path} is not the file that the server has open: it was replaced meanwhile; restart the server"
        else:
            text = f"{path} is gone: it was removed or moved away while the server has it open"
        super().__init__(text)
        self.path = path
        self.replaced = replaced


class StoreClosed(StoreError):
    """The store was closed; nothing can be appended."""

    def __init__(self, path: str) -> None:
        super().__init__(f"store {path} is closed")
        self.path = path


class DiskFull(StoreError):
    """No room for the next bytes of a file. Nothing was written; the same call works again once there is room."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"no room on the disk for {path}: {reason}")
        self.path = path
        self.reason = reason


class DiskNearlyFull(StoreError):
    """The disk is so full that nothing is appended any more, though some room remains; the text has the usage."""


class WheelFull(StoreError):
    """A slot of the timer wheel still holds messages of another lap: the clock was set back far."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} has no place for now: messages of another lap still wait there")
        self.path = path


class DraftRefused(StoreError):
    """A message that can never be stored, whatever the state of the store; others can."""


class PropertiesTooLong(DraftRefused):
    """The properties do not fit into a record."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"properties of {length} bytes do not fit into a record that takes {limit}")
        self.length = length
        self.limit = limit


class RecordTooLarge(DraftRefused):
    """A record does not fit into one commit log file."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"a record of {size} bytes does not fit into a commit log file that takes {limit}")
        self.size = size
        self.limit = limit


class TopicUnusable(DraftRefused):
    """A topic that cannot be the name of a directory, is too long for a record, or has queues of another kind."""

    def __init__(self, topic: str, reason: str = "no directory's name, or too long") -> None:
        super().__init__(f"{topic[:300]!r} cannot be a topic: {reason}")
        self.topic = topic


class SyncFailed(OSError):
    """fdatasync or fsync itself failed: the kernel may have dropped what it could not write."""


class FlushFailed(StoreError):
    """A flush failed.

    After that the kernel may have dropped the dirty pages and marked them clean, so a later flush that succeeds proves
    nothing: the store takes no more messages until it is opened again and recovered.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} could not be flushed to the disk: {reason}; restart to recover")
        self.path = path
        self.reason = reason


class FlushDelayed(StoreError):
    """A flush could not be started, for lack of a descriptor or memory; nothing is lost, the next one may work."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} could not be flushed to the disk yet: {reason}")
        self.path = path
        self.reason = reason


class ConfigInvalid(StoreError):
    """A file of `config/` and its .bak cannot be read as what they should be."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is not readable: {reason}")
        self.path = path
        self.reason = reason


class OffsetsTooMany(StoreError):
    """There is no room for the offset of another queue; `most` are kept."""

    def __init__(self, most: int) -> None:
        super().__init__(f"no more than {most} consumer offsets are kept")
        self.most = most
