"""The files of a store directory: `discover` reads names and sizes, and opens nothing but `lock`.

The result is a snapshot. While a broker is writing, files may be removed before they are opened, and the last ones may
have grown more content; sizes of whole files do not change.

Commit log, consume queue and timer log are rows of files that are created at full size, so a row's file size is that of
its first file. Names that no broker gives are listed in `ignored`. What has the name of a store's file and cannot be
one is listed in `strange`. Both are otherwise skipped.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from rocketwire.store.disk.foreign import LOST_AND_FOUND, OFFSET_DIGITS, TIME_DIGITS, is_number_of
from rocketwire.store.disk.input_files import DirectoryEntry
from rocketwire.store.errors import StoreForeign, StoreUnreadable
from rocketwire.store.offline.read.file_system import LOCAL, Listing, ReadableFileSystem
from rocketwire.wire.java import INT32_MAX, INT64_MAX

_UNFINISHED: Final = (".next", ".old", ".tmp")
"""Suffixes of the temporary files that a broker makes for config files; a kill may leave such a file."""
_DIRECTORIES: Final = frozenset({"commitlog", "consumequeue", "batchconsumequeue", "index", "timerlog", "config"})
_KNOWN: Final = _DIRECTORIES | {"timerwheel", "checkpoint", "abort", "abort.bak", "lock"}


class StoreState(enum.Enum):
    """Whether a broker uses the store."""

    LIVE = "live: a broker has it open"
    AT_REST = "at rest: the last broker stopped cleanly"
    CRASHED = "crashed: the last broker did not stop cleanly"
    UNKNOWN = "live or crashed: its lock may not be read"


class RowFile(NamedTuple):
    """A file of a row: `start` is the offset in bytes that its name gives; `allocated` is what it takes of the disk."""

    path: str
    start: int
    size: int
    allocated: int
    modified: int
    files: ReadableFileSystem = LOCAL

    @property
    def end(self) -> int:
        """Offset of the first byte after the file."""
        return self.start + self.size

    @property
    def name(self) -> str:
        """The file's name without its directory."""
        return self.path.rpartition("/")[2]


class PlainFile(NamedTuple):
    """A file that is no part of a row; sizes in bytes, time in ms."""

    path: str
    size: int
    allocated: int
    modified: int
    files: ReadableFileSystem = LOCAL

    @property
    def name(self) -> str:
        """The file's name without its directory."""
        return self.path.rpartition("/")[2]


class UnexpectedFile(NamedTuple):
    """A file or directory that does not belong there, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFiles:
    """The files of one consume queue, in order; none if only its directory remains."""

    topic: str
    queue_id: int
    path: str
    files: tuple[RowFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDirectory:
    """What was found under `root`.

    Attributes:
        root: The store's directory.
        state: Whether a broker has it open.
        commit_log: Files of the commit log, by offset; there may be gaps. A live broker's last one may be empty yet.
        topics: Names of the directories under `consumequeue`, also of those without a queue: deleted topics.
        queues: Consume queues by topic and number.
        batch_queues: Those of 5.x's batch topics (`batchconsumequeue`), whose entries are of another kind.
        index: Index files, oldest first; without one that a live broker has just made and not given its size.
        timer_log: Files of 5.x's timer log, by offset.
        timer_wheel: 5.x's timer wheel.
        config: Files of `config`, .bak files among them.
        checkpoint: The checkpoint file.
        abort: Whether `abort` exists: a broker runs, or did not stop cleanly.
        others: Names in `root` that are none of these: other stores of 5.x, for instance.
        strange: Files and directories with names of a store that cannot be what these names mean.
        ignored: Paths of files and directories whose names no broker gives, such as `lost+found`.
        files: The file system that holds them.
    """

    root: str
    state: StoreState
    commit_log: tuple[RowFile, ...] = ()
    topics: tuple[str, ...] = ()
    queues: tuple[QueueFiles, ...] = ()
    batch_queues: tuple[QueueFiles, ...] = ()
    index: tuple[PlainFile, ...] = ()
    timer_log: tuple[RowFile, ...] = ()
    timer_wheel: PlainFile | None = None
    config: tuple[PlainFile, ...] = ()
    checkpoint: PlainFile | None = None
    abort: bool = False
    others: tuple[str, ...] = ()
    unexpected: tuple[UnexpectedFile, ...] = ()
    ignored: tuple[str, ...] = ()
    files: ReadableFileSystem = LOCAL

    @property
    def start(self) -> int:
        """Physical offset of the first byte of the commit log; 0 when there is no file."""
        return self.commit_log[0].start if self.commit_log else 0

    def queues_of(self, topic: str) -> list[QueueFiles]:
        """The consume queues of a topic that have files, by number."""
        return [queue for queue in self.queues if queue.topic == topic and queue.files]


def discover(
    root: str,
    *,
    commit_log: str | None = None,
    files: ReadableFileSystem = LOCAL,
) -> StoreDirectory:
    """List a store directory.

    Args:
        root: The store's directory.
        commit_log: The commit log's directory, if it is not `commitlog` in the store's.
        files: The file system of both. If it cannot find who holds the lock, a store that has `abort` is UNKNOWN.

    Raises:
        StoreForeign: it is not a RocketMQ store.
        StoreUnreadable: a directory in it, or one of the two, does not exist or may not be read.
    """
    if not root:
        raise StoreForeign("''", "the folder's name is empty")
    root = root.rstrip("/") or "/"
    look = _Look(root, files)
    top = {entry.name: entry for entry in look.at(root, needed=True)}
    # In a broker's first second there are only lock and abort; a `config` directory alone may belong to anything.
    if not top.keys() & {"commitlog", "consumequeue", "checkpoint", "abort"}:
        raise StoreForeign(root, "it holds neither commitlog, consumequeue nor checkpoint")
    if commit_log is None:
        log = tuple(look.row(f"{root}/commitlog"))
    else:
        elsewhere = _Look(commit_log.rstrip("/") or "/", files, look.strange, look.ignored)
        log = tuple(elsewhere.row(elsewhere.root, needed=True))
    topics, queues = look.queues(f"{root}/consumequeue")
    index = list(look.index())
    state = _state(root, files, abort="abort" in top)
    if index and index[-1].size == 0 and state in {StoreState.LIVE, StoreState.UNKNOWN}:
        index.pop()
    return StoreDirectory(
        root=root,
        state=state,
        commit_log=log,
        topics=tuple(topics),
        queues=tuple(queues),
        batch_queues=tuple(look.queues(f"{root}/batchconsumequeue")[1]),
        index=tuple(index),
        timer_log=tuple(look.row(f"{root}/timerlog")),
        timer_wheel=look.plain(top.get("timerwheel")),
        config=tuple(look.config()),
        checkpoint=look.plain(top.get("checkpoint")),
        abort="abort" in top,
        others=tuple(name for name in top if name not in _KNOWN),
        unexpected=tuple(look.strange),
        ignored=tuple(look.ignored),
        files=files,
    )


def _state(root: str, files: ReadableFileSystem, *, abort: bool) -> StoreState:
    try:
        held = files.locked(f"{root}/lock")
    except OSError:
        return StoreState.UNKNOWN if abort else StoreState.AT_REST
    if held:
        return StoreState.LIVE
    return StoreState.CRASHED if abort else StoreState.AT_REST


class _Look:
    """One listing of a directory and all below it; `strange` and `ignored` collect what is skipped."""

    def __init__(
        self,
        root: str,
        files: ReadableFileSystem,
        strange: list[UnexpectedFile] | None = None,
        ignored: list[str] | None = None,
    ) -> None:
        self.root = root
        self.strange: list[UnexpectedFile] = [] if strange is None else strange
        self.ignored: list[str] = [] if ignored is None else ignored
        self._files = files
        self._listing: Listing | None = None

    def at(self, path: str, *, needed: bool = False) -> list[DirectoryEntry]:
        try:
            if self._listing is None:
                self._listing = self._files.listing(self.root)
            return self._listing(path)
        except FileNotFoundError as error:
            if not needed:
                return []
            raise StoreUnreadable(path, "there is no such directory") from error
        except OSError as error:
            raise StoreUnreadable(path, error.strerror or str(error)) from error

    def row(self, directory: str, *, needed: bool = False) -> Iterator[RowFile]:
        for entry in self.at(directory, needed=needed):
            path = f"{directory}/{entry.name}"
            if not is_number_of(entry.name, OFFSET_DIGITS):
                self.ignored.append(path)
            elif int(entry.name) > INT64_MAX - entry.size:
                self.strange.append(UnexpectedFile(path, "its name is not an offset of 63 bits"))
            elif not entry.regular:
                self.strange.append(UnexpectedFile(path, "it is not a regular file"))
            else:
                yield RowFile(path, int(entry.name), entry.size, entry.allocated, entry.modified, self._files)

    def queues(self, directory: str) -> tuple[list[str], list[QueueFiles]]:
        topics: list[str] = []
        queues: list[QueueFiles] = []
        for topic in self.at(directory):
            path = f"{directory}/{topic.name}"
            if not topic.directory or topic.name == LOST_AND_FOUND:
                self.ignored.append(path)
                continue
            if not _is_text(topic.name):
                self.strange.append(UnexpectedFile(path, "it is not a topic's directory"))
                continue
            topics.append(topic.name)
            numbers: list[int] = []
            for queue in self.at(path):
                if queue.directory and _is_number(queue.name, INT32_MAX) and str(int(queue.name)) == queue.name:
                    numbers.append(int(queue.name))
                elif queue.name.isdigit():
                    self.strange.append(UnexpectedFile(f"{path}/{queue.name}", "it is not a queue's directory"))
                else:
                    self.ignored.append(f"{path}/{queue.name}")
            for number in sorted(numbers):
                at = f"{path}/{number}"
                queues.append(QueueFiles(topic=topic.name, queue_id=number, path=at, files=tuple(self.row(at))))
        return topics, queues

    def index(self) -> Iterator[PlainFile]:
        directory = f"{self.root}/index"
        for entry in self.at(directory):
            if not is_number_of(entry.name, TIME_DIGITS):
                self.ignored.append(f"{directory}/{entry.name}")
            elif not entry.regular:
                self.strange.append(UnexpectedFile(f"{directory}/{entry.name}", "it is not a regular file"))
            else:
                yield self._plain(directory, entry)

    def config(self) -> Iterator[PlainFile]:
        directory = f"{self.root}/config"
        for entry in self.at(directory):
            if entry.regular and not entry.name.endswith(_UNFINISHED):
                yield self._plain(directory, entry)

    def plain(self, entry: DirectoryEntry | None) -> PlainFile | None:
        return None if entry is None or not entry.regular else self._plain(self.root, entry)

    def _plain(self, directory: str, entry: DirectoryEntry) -> PlainFile:
        return PlainFile(f"{directory}/{entry.name}", entry.size, entry.allocated, entry.modified, self._files)


def _is_number(name: str, most: int) -> bool:
    return name.isascii() and name.isdigit() and int(name) <= most


def _is_text(name: str) -> bool:
    """Whether the name of a directory is UTF-8, as those of all topics are."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
