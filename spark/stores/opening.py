"""Opens the stores of a read, and checks that the topics, queues and brokers of its options exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rocketwire.spark.errors import NotAStore, OptionInvalid, PathUnreadable, SparkSourceError, TopicUnknown
from rocketwire.spark.files.roots import canonical, resolve
from rocketwire.spark.files.schemes import unreadable
from rocketwire.spark.request.options import ReadOptions, is_hidden
from rocketwire.spark.request.values import RequestedOffsets, nearest
from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.store.errors import StoreError, StoreForeign, StoreUnreadable
from rocketwire.store.offline.read.config import table
from rocketwire.store.offline.read.directory import RowFile, StoreDirectory, discover
from rocketwire.store.offline.read.file_system import ReadableFileSystem
from rocketwire.store.offline.read.log import LogFileReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.wire.facts.record import BLANK_MAGIC, MAGIC_AT, MAGIC_V1, MAGIC_V2, PHYSICAL_OFFSET_AT, SMALLEST_RECORD

_A_ROOT: Final = "Name the directory that a broker's storePathRootDir names: it holds commitlog and consumequeue"
_READABLE: Final = "Check that the path is right, and that the user of Spark's driver and workers may read all of it"
_VERSIONS: Final = "Stores of RocketMQ 4.x and 5.x can be read; a newer rocketwire may know this one"
_DLEDGER: Final = "dledger"
_MAGICS: Final = frozenset({MAGIC_V1, MAGIC_V2, BLANK_MAGIC, 0})


def open_stores(options: ReadOptions) -> list[StoreSnapshot]:
    """Snapshots of the stores of the option `path`.

    Raises:
        SparkSourceError: one is not a store, or cannot be read; or no store has a topic or queue of the options.
    """
    stores = [opened(root) for root in open_roots(options)]
    check_names(stores, options)
    return stores


def opened(root: StoreRoot) -> StoreSnapshot:
    """A snapshot of one store.

    Raises:
        SparkSourceError: it is no store, or cannot be read.
    """
    try:
        directory = discover(root.root, files=root.files)
        _check_log(directory)
        return StoreSnapshot(root.broker, directory)
    except StoreError as error:
        raise source_error(error) from error


def source_error(error: StoreError) -> SparkSourceError:
    """Convert an error of the store to one of the data source, with its class and remedy."""
    if isinstance(error, StoreForeign):
        return NotAStore(f"{error.path} is no RocketMQ store: {error.what}", _A_ROOT)
    if isinstance(error.__cause__, NotADirectoryError) and isinstance(error, StoreUnreadable):
        return NotAStore(f"{error.path} is a file, and no RocketMQ store", _A_ROOT)
    cause = error.__cause__
    if isinstance(cause, OSError) and isinstance(error, StoreUnreadable) and "://" in error.path:
        return unreadable(error.path, cause)
    return PathUnreadable(str(error), _READABLE)


def _check_log(directory: StoreDirectory) -> None:
    """Refuse a store that keeps its messages in another way, or elsewhere."""
    if any(name.startswith(_DLEDGER) for name in directory.others) and not directory.commit_log:
        what = f"{directory.root} is the store of a DLedger group, whose log is of another form"
        raise NotAStore(what, "Read from the running brokers: option namesrv instead of a path")
    if not directory.commit_log:
        if any(_has_messages(directory)):
            what = f"{directory.root} has consume queues with messages, and no commit log"
            raise NotAStore(what, f"Link the folder that storePathCommitLog names to {directory.root}/commitlog")
        return
    magic = _unknown_magic(directory.commit_log[0])
    if magic is not None:
        what = f"{directory.root} holds records of an unknown version (magic number {magic & 0xFFFFFFFF:08X})"
        raise NotAStore(what, _VERSIONS)


def _unknown_magic(first: RowFile) -> int | None:
    """The magic number of a file's first two records, if it is unknown: damage hardly changes both alike."""
    at, magics = first.start, []
    try:
        with LogFileReader(first) as file:
            for _ in range(2):
                head = file.read(at, SMALLEST_RECORD)
                size = int.from_bytes(head[:MAGIC_AT])
                own = int.from_bytes(head[PHYSICAL_OFFSET_AT : PHYSICAL_OFFSET_AT + 8], signed=True)
                if len(head) < SMALLEST_RECORD or size < SMALLEST_RECORD or own != at:
                    return None
                magics.append(int.from_bytes(head[MAGIC_AT : MAGIC_AT + 4], signed=True))
                at += size
    except FileGone:
        return None
    return magics[0] if magics[0] == magics[1] and magics[0] not in _MAGICS else None


def _has_messages(directory: StoreDirectory) -> Iterable[bool]:
    for files in directory.queues:
        with QueueReader(files) as queue:
            yield len(queue) > 0


def check_names(stores: Sequence[StoreSnapshot], options: ReadOptions) -> None:
    """Refuse topics, queues and brokers that options name and no store has.

    The topics of stores without topics.json and consume queues are unknown.

    Raises:
        TopicUnknown: there is no such topic, or none of the topics read has such a queue.
        OptionInvalid: there is no such broker, or two have the same name.
    """
    names = [store.broker for store in stores]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptionInvalid(f"two stores have the broker {twice}", "Give each a name of its own by the option brokers")
    if not _have_topics(stores, options):
        _check_queues(stores, options, names)


def _check_queues(stores: Sequence[StoreSnapshot], options: ReadOptions, names: list[str]) -> None:
    queues: dict[str, set[int]] = {}
    for store in stores:
        found = _queues_of(store)
        if found is None:
            return
        for topic, numbers in found.items():
            queues.setdefault(topic, set()).update(numbers)
    for topic in options.topics:
        _need_topic(topic, queues)
    read = [numbers for topic, numbers in queues.items() if options.takes_topic(topic)]
    for number in sorted(options.queues or ()) if read else ():
        if not any(number in numbers for numbers in read):
            raise TopicUnknown(f"no topic that is read has a queue {number}", "Check the option queues")
    for offsets in (options.starting_offsets, options.ending_offsets):
        if isinstance(offsets, dict):
            _check_offsets(offsets, queues, names)


def _have_topics(stores: Sequence[StoreSnapshot], options: ReadOptions) -> bool:
    """Whether options name nothing but topics with queues: then no topics.json is read, as requests cost time."""
    if (
        options.queues is not None
        or isinstance(options.starting_offsets, dict)
        or isinstance(options.ending_offsets, dict)
    ):
        return False
    return all(any(topic in store.directory.topics for store in stores) for topic in options.topics)


def _check_offsets(offsets: RequestedOffsets, queues: dict[str, set[int]], brokers: list[str]) -> None:
    for broker, topics in offsets.items():
        if broker is not None and broker not in brokers:
            raise OptionInvalid(f"offsets are given of {broker}, which no store is", f"They are {', '.join(brokers)}")
        for topic, numbers in topics.items():
            _need_topic(topic, queues)
            for number in numbers:
                if topic in queues and number not in queues[topic]:
                    known = ", ".join(map(str, sorted(queues[topic])))
                    raise TopicUnknown(f"{topic} has no queue {number}, of which offsets are given", f"It has {known}")


def _need_topic(topic: str, known: dict[str, set[int]]) -> None:
    # Not all of RocketMQ's own topics are in topics.json.
    if topic not in known and not is_hidden(topic):
        remedy = nearest(topic, sorted(known)) or "rocketwire store list lists the topics of a store"
        raise TopicUnknown(f"there is no topic {topic}", remedy.strip())


def _queues_of(store: StoreSnapshot) -> dict[str, set[int]] | None:
    """The topics of a store with the numbers of their queues, with messages or without; None if unknown."""
    topics = store.topics()
    if topics is None:
        return None
    found: dict[str, set[int]] = {topic: set() for topic in topics}
    directory = store.directory
    for files in (*directory.queues, *directory.batch_queues):
        found[files.topic].add(files.queue_id)
    try:
        configured = table(directory, "topics.json", "topicConfigTable")
    except StoreUnreadable:
        configured = {}
    for topic, config in configured.items():
        found[topic].update(range(_count(config, "readQueueNums")), range(_count(config, "writeQueueNums")))
    return found


def _count(config: object, name: str) -> int:
    count = config.get(name) if isinstance(config, dict) else None
    return count if isinstance(count, int) and 0 <= count <= 1 << 16 else 0


class StoreRoot(NamedTuple):
    """A store's directory, by which file system it is reached, and its broker's name."""

    broker: str
    root: str
    files: ReadableFileSystem


def open_roots(options: ReadOptions) -> list[StoreRoot]:
    """The stores of the option `path`, with names by the option `brokers`, else by their paths.

    Raises:
        PathUnreadable: a path or pattern names nothing, or cannot be reached.
        PackageMissing: a package that a URL needs is not installed.
        OptionInvalid: `brokers` names a path that is not one of the stores; or a file system does not take the options.
    """
    roots = resolve(options.paths, options.files, options.prefetch_bytes)
    names = {canonical(path): broker for path, broker in options.brokers.items()}
    unknown = names.keys() - {root.path for root in roots}
    if unknown:
        what = f"option brokers names {min(unknown)}, which is none of the stores"
        raise OptionInvalid(what, f"The stores are {', '.join(root.path for root in roots)}")
    return [StoreRoot(names.get(root.path, root.path), root.path, root.files) for root in roots]
