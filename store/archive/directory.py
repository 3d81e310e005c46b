"""What a store directory holds: `discover` looks at names and sizes, and opens nothing but `lock`.

The picture is that of one moment. Of a store that a broker is writing, files may be gone when they are opened, and
the last ones may have grown more content; sizes of whole files do not change.

Files of a row (commit log, consume queue, timer log) are made at their full size, so a row's file size is that of its
first file. What does not belong where it stands is listed in `strange` and otherwise passed over.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from rocketwire.store.errors import StoreForeign, StoreUnreadable
from rocketwire.store.input_files import Entry, entries, locked_by_another
from rocketwire.store.segment import NAME_DIGITS

_TIME_DIGITS: Final = 17
_DIRECTORIES: Final = frozenset({"commitlog", "consumequeue", "batchconsumequeue", "index", "timerlog", "config"})
_KNOWN: Final = _DIRECTORIES | {"timerwheel", "checkpoint", "abort", "abort.bak", "lock"}


class State(enum.Enum):
    """Whether somebody uses the store."""

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

    @property
    def name(self) -> str:
        """The file's name without its directory."""
        return self.path.rpartition("/")[2]


class Strange(NamedTuple):
    """What does not belong where it stands, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFiles:
    """The files of one consume queue, in order; none for a queue of which only the directory is left."""

    topic: str
    queue_id: int
    path: str
    files: tuple[RowFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """What was found under `root`.

    Attributes:
        root: The store's directory.
        state: Whether a broker has it open.
        commit_log: Files of the commit log, by offset; there may be gaps. A live broker's last one may be empty yet.
        topics: Names of the directories under `consumequeue`, also of those without a queue: deleted topics.
        queues: Consume queues by topic and number.
        batch_queues: Those of 5.x's batch topics (`batchconsumequeue`), whose entries are of another kind.
        index: Index files, oldest first.
        timer_log: Files of 5.x's timer log, by offset.
        timer_wheel: 5.x's timer wheel.
        config: Files of `config`, .bak files among them.
        checkpoint: The checkpoint file.
        abort: Whether `abort` is there: a broker runs, or did not stop cleanly.
        others: Names in `root` that are none of these: other stores of 5.x, for instance.
        strange: What does not belong where it stands.
    """

    root: str
    state: State
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
    strange: tuple[Strange, ...] = ()

    @property
    def start(self) -> int:
        """Physical offset of the first byte of the commit log; 0 when there is no file."""
        return self.commit_log[0].start if self.commit_log else 0

    def queues_of(self, topic: str) -> list[QueueFiles]:
        """The consume queues of a topic that have files, by number."""
        return [queue for queue in self.queues if queue.topic == topic and queue.files]


def discover(root: str, *, commit_log: str | None = None) -> Directory:
    """Look at a store directory.

    Args:
        root: The store's directory.
        commit_log: The commit log's directory, if it is not `commitlog` in the store's.

    Raises:
        StoreForeign: it is no RocketMQ store.
        StoreUnreadable: a directory in it, or one of the two, is not there or may not be read.
    """
    root = root.rstrip("/") or "/"
    top = {entry.name: entry for entry in _listing(root, needed=True)}
    # One that serves its first second has no more than lock and abort yet; `config` alone may be anything's.
    if not top.keys() & {"commitlog", "consumequeue", "checkpoint", "abort"}:
        raise StoreForeign(root, "it holds neither commitlog, consumequeue nor checkpoint")
    strange: list[Strange] = []
    if commit_log is None:
        log = tuple(_row(f"{root}/commitlog", strange))
    else:
        log = tuple(_row(commit_log.rstrip("/") or "/", strange, needed=True))
    topics, queues = _queues(f"{root}/consumequeue", strange)
    _, batch_queues = _queues(f"{root}/batchconsumequeue", strange)
    return Directory(
        root=root,
        state=_state(root, abort="abort" in top),
        commit_log=log,
        topics=tuple(topics),
        queues=tuple(queues),
        batch_queues=tuple(batch_queues),
        index=tuple(_index(f"{root}/index", strange)),
        timer_log=tuple(_row(f"{root}/timerlog", strange)),
        timer_wheel=_plain(root, top.get("timerwheel")),
        config=tuple(_config(f"{root}/config")),
        checkpoint=_plain(root, top.get("checkpoint")),
        abort="abort" in top,
        others=tuple(name for name in top if name not in _KNOWN),
        strange=tuple(strange),
    )


def _state(root: str, *, abort: bool) -> State:
    try:
        held = locked_by_another(f"{root}/lock")
    except OSError:
        return State.UNKNOWN if abort else State.AT_REST
    if held:
        return State.LIVE
    return State.CRASHED if abort else State.AT_REST


def _listing(path: str, *, needed: bool = False) -> list[Entry]:
    try:
        return entries(path)
    except FileNotFoundError as error:
        if not needed:
            return []
        raise StoreUnreadable(path, "there is no such directory") from error
    except OSError as error:
        raise StoreUnreadable(path, error.strerror or str(error)) from error


def _row(directory: str, strange: list[Strange], *, needed: bool = False) -> Iterator[RowFile]:
    for entry in _listing(directory, needed=needed):
        path = f"{directory}/{entry.name}"
        if len(entry.name) != NAME_DIGITS or not _is_number(entry.name):
            strange.append(Strange(path, "its name is not an offset of 20 digits"))
        elif not entry.regular:
            strange.append(Strange(path, "it is not a regular file"))
        else:
            yield RowFile(path, int(entry.name), entry.size, entry.allocated, entry.modified)


def _queues(directory: str, strange: list[Strange]) -> tuple[list[str], list[QueueFiles]]:
    topics: list[str] = []
    queues: list[QueueFiles] = []
    for topic in _listing(directory):
        path = f"{directory}/{topic.name}"
        if not topic.directory:
            strange.append(Strange(path, "it is not a topic's directory"))
            continue
        topics.append(topic.name)
        numbers: list[int] = []
        for queue in _listing(path):
            if queue.directory and _is_number(queue.name) and str(int(queue.name)) == queue.name:
                numbers.append(int(queue.name))
            else:
                strange.append(Strange(f"{path}/{queue.name}", "it is not a queue's directory"))
        for number in sorted(numbers):
            at = f"{path}/{number}"
            queues.append(QueueFiles(topic=topic.name, queue_id=number, path=at, files=tuple(_row(at, strange))))
    return topics, queues


def _index(directory: str, strange: list[Strange]) -> Iterator[PlainFile]:
    for entry in _listing(directory):
        path = f"{directory}/{entry.name}"
        if len(entry.name) != _TIME_DIGITS or not _is_number(entry.name):
            strange.append(Strange(path, "its name is not a time of 17 digits"))
        elif not entry.regular:
            strange.append(Strange(path, "it is not a regular file"))
        else:
            yield PlainFile(path, entry.size, entry.allocated, entry.modified)


def _config(directory: str) -> Iterator[PlainFile]:
    for entry in _listing(directory):
        if entry.regular:
            yield PlainFile(f"{directory}/{entry.name}", entry.size, entry.allocated, entry.modified)


def _plain(root: str, entry: Entry | None) -> PlainFile | None:
    if entry is None or not entry.regular:
        return None
    return PlainFile(f"{root}/{entry.name}", entry.size, entry.allocated, entry.modified)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()
