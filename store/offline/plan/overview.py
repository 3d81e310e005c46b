"""Overview of a whole store: which broker wrote it, what it holds, its disk usage, and up to where it was flushed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.layout.timer_log import UnitMagic
from rocketwire.store.offline.plan.summary import LogSummary, log_summary
from rocketwire.store.offline.read.config import CheckpointTimes, checkpoint, document
from rocketwire.store.offline.read.directory import PlainFile, RowFile, StoreDirectory, StoreState
from rocketwire.store.offline.read.index_files import DEFAULT, OpenIndexFile
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import open_queues
from rocketwire.store.offline.timer.timer import StoreTimer, read_check
from rocketwire.wire.names import TIMER_TOPIC, is_system_topic_of_any_version

T = TypeVar("T")

_TOPICS: Final = "topics.json"
#: Files and directories that only 5.x makes.
_ONLY_5 = ("config/timercheck", "config/timermetrics", "config/consumerOrderInfo.json", "timerwheel", "timerlog")
#: Of these, those that Rocketwire makes too.
_TIMER: Final = frozenset({"config/timercheck", "config/timermetrics", "timerwheel", "timerlog"})
_ONLY_5_ELSEWHERE = ("batchconsumequeue", "compaction", "rocksdbstore", "consumequeue_rocksdb")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUsage:
    """Files of one kind: how many, their sizes in bytes, and what they take of the disk."""

    count: int
    bytes: int
    allocated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCounts:
    """Topics, their queues, and the messages these lead to."""

    topics: int
    queues: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSummary:
    """An index file: its keys, for how many it has room (None: unknown), and its messages' store times (ms)."""

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
class TimerSummary:
    """5.x's timer: up to which slot (ms) it has come (None: not known), and how many messages wait for their time.

    `behind` counts those of them, and of markers, that are in its topic and not in the wheel yet.
    """

    read_time: int | None
    waiting: int
    behind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOverview:
    """See the module. `problems` are lines about what could not be read."""

    version: str
    facts: tuple[str, ...]
    log: LogSummary
    own_topics: StoreCounts
    user_topics: StoreCounts
    files: dict[str, FileUsage]
    index: tuple[IndexSummary, ...]
    checkpoint: CheckpointTimes | None
    config: tuple[ConfigSummary, ...]
    timer: TimerSummary | None
    problems: tuple[str, ...]
    ignored: tuple[str, ...]


def overview(directory: StoreDirectory) -> StoreOverview:
    """Read everything but the messages.

    Raises:
        StoreUnreadable: the commit log or a consume queue cannot be read.
    """
    problems: list[str] = []
    own, user, newest = _count(directory)
    log = log_summary(directory, newest)
    problems += [str(trouble) for trouble in log.troubles if not trouble.gone]
    problems += [f"{strange.path}: {strange.reason}" for strange in directory.unexpected]
    documents = _documents(directory, problems)
    check = _tried(problems, lambda: read_check(directory), None)
    own_timer = check is not None and check.extension is not None
    version, facts = _version_of(directory, documents[_TOPICS], own_timer=own_timer)
    return StoreOverview(
        version=version,
        facts=tuple(facts),
        log=log,
        own_topics=own,
        user_topics=user,
        files=_files(directory),
        index=tuple(_index(directory, problems)),
        checkpoint=_tried(problems, lambda: checkpoint(directory), None),
        config=tuple(_config(directory, documents)),
        timer=_tried(problems, lambda: _timer(directory, problems), None),
        problems=tuple(problems),
        ignored=directory.ignored,
    )


def _version_of(directory: StoreDirectory, topics: dict[str, Any], *, own_timer: bool) -> tuple[str, list[str]]:
    """Which broker wrote the store, `5.x`, `4.x` or `unknown`, and the evidence.

    A 4.x one may also be Rocketwire's, which writes the same files; only the timer's files differ.
    """
    present = {f"config/{file.name}" for file in directory.config} | set(directory.others)
    present |= {"timerwheel"} if directory.timer_wheel is not None else set()
    present |= {"timerlog"} if directory.timer_log else set()
    present |= {"batchconsumequeue"} if directory.batch_queues else set()
    ours = []
    if own_timer:
        present -= _TIMER
        ours = ["the timer's files are rocketwire's"]
    facts = [f"{name} is there" for name in (*_ONLY_5, *_ONLY_5_ELSEWHERE) if name in present]
    version = topics.get("dataVersion")
    if isinstance(version, dict) and "stateVersion" in version:
        facts.append("the data version of topics.json has a stateVersion")
    if facts:
        return "5.x", ours + facts
    if topics:
        nothing = ["the data version of topics.json has no stateVersion", "there is no file that only 5.x makes"]
        return "4.x", ours + nothing
    return "unknown", [*ours, "there is no topics.json, and no file that only 5.x makes"]


def _tried(problems: list[str], reading: Callable[[], T], otherwise: T) -> T:
    try:
        return reading()
    except StoreUnreadable as error:
        problems.append(str(error))
        return otherwise


def _documents(directory: StoreDirectory, problems: list[str]) -> dict[str, dict[str, Any]]:
    """What is in each JSON file of `config`, and in topics.json, be it there or not."""
    names = {_TOPICS} | {file.name for file in directory.config if file.name.endswith(".json")}
    nothing: dict[str, Any] = {}
    return {name: _tried(problems, partial(document, directory, name), nothing) for name in sorted(names)}


def _count(directory: StoreDirectory) -> tuple[StoreCounts, StoreCounts, int]:
    """Topics, queues, messages: of RocketMQ's own topics, of the others; physical offset of the newest message."""
    topics: tuple[set[str], set[str]] = (set(), set())
    queues, messages, newest = [0, 0], [0, 0], 0
    for queue in open_queues(directory):
        kind = not is_system_topic_of_any_version(queue.topic)
        topics[kind].add(queue.topic)
        queues[kind] += 1
        messages[kind] += len(queue)
        if len(queue):
            with contextlib.suppress(FileGone):
                newest = max(newest, queue.entry(queue.end - 1)[0])
    own, user = (StoreCounts(topics=len(topics[n]), queues=queues[n], messages=messages[n]) for n in (0, 1))
    return own, user, newest


def _files(directory: StoreDirectory) -> dict[str, FileUsage]:
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
    found: dict[str, FileUsage] = {}
    for kind, files in kinds.items():
        every = list(files)
        if every:
            size, allocated = sum(file.size for file in every), sum(file.allocated for file in every)
            found[kind] = FileUsage(count=len(every), bytes=size, allocated=allocated)
    return found


def _index(directory: StoreDirectory, problems: list[str]) -> Iterator[IndexSummary]:
    likely = DEFAULT
    live = directory.state in {StoreState.LIVE, StoreState.UNKNOWN}
    for plain in directory.index:
        try:
            with OpenIndexFile(plain, likely=likely) as file:
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


def _config(directory: StoreDirectory, documents: dict[str, dict[str, Any]]) -> Iterator[ConfigSummary]:
    for file in directory.config:
        counter = changed = None
        version = documents.get(file.name, {}).get("dataVersion")
        if isinstance(version, dict):
            counter, changed = _number(version.get("counter")), _number(version.get("timestamp"))
        yield ConfigSummary(name=file.name, bytes=file.size, counter=counter, changed=changed)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _timer(directory: StoreDirectory, problems: list[str]) -> TimerSummary | None:
    if not (directory.timer_log or directory.queues_of(TIMER_TOPIC) or read_check(directory)):
        return None
    with StoreTimer(directory, lambda trouble: problems.append(str(trouble))) as timer:
        waiting = timer.waiting
        check = timer.check
        markers = (waiting["magic"] & UnitMagic.DELETE) != 0
        return TimerSummary(
            read_time=None if check is None else check.last_read_time,
            waiting=int((~markers).sum()),
            behind=int((waiting["position"] < 0).sum()),
        )
