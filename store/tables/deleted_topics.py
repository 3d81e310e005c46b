"""config/deletedTopics.json: which messages of the log belong to topics that were deleted since.

The log keeps the messages of a deleted topic until its files expire, and recovery after a crash makes the entries of
all messages that it reads. So each deletion writes here first up to which physical offset the topic's messages are
dead: recovery gives these no entries. That also makes a deletion whole: it is marked as done when everything of the
topic is removed, and a start that finds it not done finishes it.

Apache's brokers know no such file and ignore it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from rocketwire.store.disk.files import FileSystem, store_error_for
from rocketwire.store.tables import config
from rocketwire.wire.bodies.fastjson import dumps_pretty, loads
from rocketwire.wire.errors import BodyInvalid

_TABLE: Final = "deletedTopics"
_END: Final = "logOffset"
_DONE: Final = "done"
MOST_DELETED: Final = 10_000
"""The most topics that are kept, each with its last deletion: each deletion writes all of them, a megabyte."""


class Deletion(NamedTuple):
    """One deleted topic: its messages before `end` are dead; `done`: its configuration and offsets are removed."""

    end: int
    done: bool


class DeletedTopics:
    """The last deletion of each topic that has dead messages in the log."""

    def __init__(self, path: str, files: FileSystem, deletions: dict[str, Deletion]) -> None:
        self._path = path
        self._files = files
        self._deletions = deletions

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None) -> DeletedTopics:
        """Load the file; without one no topic was deleted.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        files = files or FileSystem()
        return cls(str(path), files, config.load(str(path), files, _decode) or {})

    @property
    def unfinished(self) -> set[str]:
        """The topics that may not be removed completely."""
        return {topic for topic, deletion in self._deletions.items() if not deletion.done}

    def dead_before(self, log_start: int) -> dict[str, int]:
        """By topic the physical offset before which its messages are dead, if the log has any of these."""
        return {topic: deletion.end for topic, deletion in self._deletions.items() if deletion.end > log_start}

    def begin(self, topic: str, end: int, *, log_start: int) -> None:
        """Note a deletion so that a killed process does not lose it; `save` puts it on the disk.

        Deletions whose messages are removed from the log are forgotten, and the oldest if there are too many.

        Raises:
            StoreError: it could not be written, and is not noted.
        """
        kept = {name: each for name, each in self._deletions.items() if each.end > log_start and name != topic}
        while len(kept) >= MOST_DELETED:
            del kept[next(iter(kept))]
        kept[topic] = Deletion(end, done=False)
        temporary = self._path + ".next"
        try:
            self._files.write(temporary, _text(kept), durable=False)
            self._files.rename(temporary, self._path)
        except OSError as error:
            raise store_error_for(error, self._path, self._files) from error
        self._deletions = kept

    def finish(self, topic: str) -> None:
        """Note that a topic is removed completely; `save` writes it."""
        self._deletions[topic] = self._deletions[topic]._replace(done=True)

    def save(self) -> None:
        """Put the file on the disk. Blocking; safe in a thread while nothing is added.

        Raises:
            StoreError: it could not be written.
        """
        config.save(self._path, self._files, _text(self._deletions))


def _text(deletions: Mapping[str, Deletion]) -> bytes:
    table = {topic: {_END: each.end, _DONE: each.done} for topic, each in deletions.items()}
    return dumps_pretty({_TABLE: table})


def _decode(data: bytes) -> dict[str, Deletion]:
    document = loads(data)
    table = document.get(_TABLE) if isinstance(document, dict) else None
    if not isinstance(table, dict):
        raise BodyInvalid("it holds no deleted topics")
    try:
        return {str(topic): Deletion(int(each[_END]), done=bool(each[_DONE])) for topic, each in table.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise BodyInvalid(f"a deleted topic has no offsets: {error}") from error
