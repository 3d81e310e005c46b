"""What a whole store is: whose it looks like, what it holds and takes, and how far it is on the disk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from rocketwire.store.archive.config import Times, checkpoint, document
from rocketwire.store.archive.directory import Directory, PlainFile, RowFile, State
from rocketwire.store.archive.index import DEFAULT, IndexFile
from rocketwire.store.archive.opening import FileGone, read_whole
from rocketwire.store.archive.queues import Queue
from rocketwire.store.archive.summary import LogSummary, log_summary
from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.layout.timer_check import CHECK_STRUCT
from rocketwire.wire.names import is_system_topic_of_any_version

T = TypeVar("T")

_TOPICS: Final = "topics.json"
#: Files and directories that only 5.x makes.
_ONLY_5 = ("config/timercheck", "config/timermetrics", "config/consumerOrderInfo.json", "timerwheel", "timerlog")
_ONLY_5_ELSEWHERE = ("batchconsumequeue", "compaction", "rocksdbstore", "consumequeue_rocksdb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Files of one kind: how many, their sizes in bytes, and what they take of the disk."""

    count: int
    bytes: int
    allocated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Topics, their queues, and the messages these lead to."""

    topics: int
    queues: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSummary:
    """An index file: its keys, for how many it has room (None: not to be seen), and its messages' store times (ms)."""

    name: str
    keys: int
    room: int | None
    first_store_time: int
    last_store_time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSummary:
    """A config file, its size in bytes, and its data version if it has one: how often it changed, when last (ms)."""

    name: str
    bytes: int
    counter: int | None
    changed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """See the module. `problems` are lines that say what could not be read."""

    version: str
    facts: tuple[str, ...]
    log: LogSummary
    own_topics: Counts
    user_topics: Counts
    files: dict[str, Files]
    index: tuple[IndexSummary, ...]
    checkpoint: Times | None
    config: tuple[ConfigSummary, ...]
    timer_time: int | None
    problems: tuple[str, ...]


def overview(directory: Directory) -> Overview:
    """Look at everything, without reading the messages.

    Raises:
        StoreUnreadable: the commit log or a consume queue cannot be read.
    """
    problems: list[str] = []
    own, user, newest = _count(directory)
    log = log_summary(directory, newest)
    problems += [str(trouble) for trouble in log.troubles if not trouble.gone]
    problems += [f"{strange.path}: {strange.reason}" for strange in directory.strange]
    documents = _documents(directory, problems)
    version, facts = _version_of(directory, documents[_TOPICS])
    return Overview(
        version=version,
        facts=tuple(facts),
        log=log,
        own_topics=own,
        user_topics=user,
        files=_files(directory),
        index=tuple(_index(directory, problems)),
        checkpoint=_tried(problems, lambda: checkpoint(directory), None),
        config=tuple(_config(directory, documents)),
        timer_time=_timer_time(directory, problems),
        problems=tuple(problems),
    )


def _version_of(directory: Directory, topics: dict[str, Any]) -> tuple[str, list[str]]:
    """Whose store it looks like, `5.x`, `4.x` or `unknown`, and the facts that say so.

    A 4.x one may also be Rocketwire's, which writes the same files.
    """
    present = {f"config/{file.name}" for file in directory.config} | set(directory.others)
    present |= {"timerwheel"} if directory.timer_wheel is not None else set()
    present |= {"timerlog"} if directory.timer_log else set()
    present |= {"batchconsumequeue"} if directory.batch_queues else set()
    facts = [f"{name} is there" for name in (*_ONLY_5, *_ONLY_5_ELSEWHERE) if name in present]
    version = topics.get("dataVersion")
    if isinstance(version, dict) and "stateVersion" in version:
        facts.append("the data version of topics.json has a stateVersion")
    if facts:
        return "5.x", facts
    if topics:
        return "4.x", ["the data version of topics.json has no stateVersion", "there is no file that only 5.x makes"]
    return "unknown", ["there is no topics.json, and no file that only 5.x makes"]


def _tried(problems: list[str], reading: Callable[[], T], otherwise: T) -> T:
    try:
        return reading()
    except StoreUnreadable as error:
        problems.append(str(error))
        return otherwise


def _documents(directory: Directory, problems: list[str]) -> dict[str, dict[str, Any]]:
    """What is in each JSON file of `config`, and in topics.json, be it there or not."""
    names = {_TOPICS} | {file.name for file in directory.config if file.name.endswith(".json")}
    nothing: dict[str, Any] = {}
    return {name: _tried(problems, partial(document, directory, name), nothing) for name in sorted(names)}


def _count(directory: Directory) -> tuple[Counts, Counts, int]:
    """Topics, queues, messages: of RocketMQ's own topics, of the others; physical offset of the newest message."""
    topics: tuple[set[str], set[str]] = (set(), set())
    queues, messages, newest = [0, 0], [0, 0], 0
    for files in directory.queues:
        if files.files:
            kind = not is_system_topic_of_any_version(files.topic)
            with Queue(files, log_start=directory.start) as queue:
                topics[kind].add(files.topic)
                queues[kind] += 1
                messages[kind] += len(queue)
                if len(queue):
                    with contextlib.suppress(FileGone):
                        newest = max(newest, queue.entry(queue.end - 1)[0])
    own, user = (Counts(topics=len(topics[n]), queues=queues[n], messages=messages[n]) for n in (0, 1))
    return own, user, newest


def _files(directory: Directory) -> dict[str, Files]:
    timers: list[RowFile | PlainFile] = [
        *directory.timer_log,
        *([] if directory.timer_wheel is None else [directory.timer_wheel]),
    ]
    kinds: dict[str, Iterable[RowFile | PlainFile]] = {
        "commit log": directory.commit_log,
        "consume queues": [file for queue in (*directory.queues, *directory.batch_queues) for file in queue.files],
        "index": directory.index,
        "timer": timers,
        "config": directory.config,
    }
    found: dict[str, Files] = {}
    for kind, files in kinds.items():
        every = list(files)
        if every:
            size, allocated = sum(file.size for file in every), sum(file.allocated for file in every)
            found[kind] = Files(count=len(every), bytes=size, allocated=allocated)
    return found


def _index(directory: Directory, problems: list[str]) -> Iterator[IndexSummary]:
    likely = DEFAULT
    live = directory.state in {State.LIVE, State.UNKNOWN}
    for plain in directory.index:
        try:
            with IndexFile(plain, likely=likely) as file:
                header = file.header
                if file.geometry is not None:
                    likely = file.geometry
                yield IndexSummary(
                    name=plain.name,
                    keys=header.keys,
                    room=None if file.geometry is None else file.geometry[1] - 1,
                    first_store_time=header.begin_timestamp,
                    last_store_time=header.end_timestamp,
                )
        except StoreUnreadable as error:
            # A live broker removes the oldest.
            if not (live and isinstance(error, FileGone)):
                problems.append(str(error))


def _config(directory: Directory, documents: dict[str, dict[str, Any]]) -> Iterator[ConfigSummary]:
    for file in directory.config:
        counter = changed = None
        version = documents.get(file.name, {}).get("dataVersion")
        if isinstance(version, dict):
            counter, changed = _number(version.get("counter")), _number(version.get("timestamp"))
        yield ConfigSummary(name=file.name, bytes=file.size, counter=counter, changed=changed)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _timer_time(directory: Directory, problems: list[str]) -> int | None:
    path = next((file.path for file in directory.config if file.name == "timercheck"), None)
    data = b"" if path is None else _tried(problems, lambda: read_whole(path, CHECK_STRUCT.size), b"")
    return int(CHECK_STRUCT.unpack(data)[0]) if len(data) == CHECK_STRUCT.size else None
