"""Where the log and the queues end: the kernel's types have what their Python twins have."""

import gc
import mmap
import weakref
from collections.abc import Callable

import pytest

from rocketwire.native import LogTail, PythonLogTail, PythonQueueTail, QueueTail
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.queues.queue_entries import QueueEntries

NUMBERS = ("end", "min", "position", "limit", "queue_id", "magic", "index_prefix_hash")


class Mapping(mmap.mmap):
    """A mapping that can be watched."""


def test_the_store_builds_on_the_kernels_types() -> None:
    assert issubclass(CommitLog, LogTail)
    assert issubclass(QueueEntries, QueueTail)
    assert issubclass(ConsumeQueue, QueueTail)
    assert LogTail is not PythonLogTail
    assert QueueTail is not PythonQueueTail


@pytest.mark.parametrize("make", [LogTail, PythonLogTail])
def test_a_log_begins_empty_and_takes_what_is_set(make: Callable[[], LogTail]) -> None:
    log = make()
    assert (log.position, log.limit, log.base, log.timestamp, log.buffer) == (0, 0, 0, 0, None)
    log.position, log.limit, log.base, log.timestamp = 1 << 62, -1, 3, 1 << 61
    log.buffer = mapping = mmap.mmap(-1, 4096)
    assert (log.position, log.limit, log.base, log.timestamp, log.buffer) == (1 << 62, -1, 3, 1 << 61, mapping)
    log.buffer = None
    assert log.buffer is None
    mapping.close()


@pytest.mark.parametrize("make", [QueueTail, PythonQueueTail])
def test_a_queue_begins_empty_and_takes_what_is_set(make: Callable[[], QueueTail]) -> None:
    queue = make()
    assert [getattr(queue, name) for name in NUMBERS] == [0] * len(NUMBERS)
    assert (queue.buffer, queue.topic_field) == (bytearray(), b"")
    for number, name in enumerate(NUMBERS):
        setattr(queue, name, -number)
    queue.topic_field = b"\1T"
    assert [getattr(queue, name) for name in NUMBERS] == [-number for number in range(len(NUMBERS))]
    assert queue.topic_field == b"\1T"


@pytest.mark.slow
@pytest.mark.parametrize("make", [LogTail, QueueTail])
@pytest.mark.parametrize("after", [bytearray(), None, mmap.mmap(-1, 1)])
def test_a_mapping_is_dropped_by_forgetting_it(
    make: Callable[[], LogTail | QueueTail], after: mmap.mmap | bytearray | None
) -> None:
    tail = make()
    tail.buffer = mapping = Mapping(-1, 4096)
    with pytest.raises(BufferError):  # the kernel writes through it
        mapping.close()
    alive = weakref.ref(mapping)
    del mapping
    assert alive() is not None
    setattr(tail, "buffer", after)  # noqa: B010 - each of the two takes any of them
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("make", [LogTail, QueueTail])
def test_a_mapping_goes_with_the_tail(make: Callable[[], LogTail | QueueTail]) -> None:
    tail = make()
    tail.buffer = mapping = mmap.mmap(-1, 4096)
    del tail
    gc.collect()
    mapping.close()


@pytest.mark.parametrize("make", [LogTail, QueueTail])
@pytest.mark.parametrize("fake", [b"read only", 17, mmap.mmap(-1, 4096, access=mmap.ACCESS_READ)])
def test_what_gives_no_writable_memory_is_kept(make: Callable[[], LogTail | QueueTail], fake: object) -> None:
    tail = make()
    setattr(tail, "buffer", fake)  # noqa: B010 - of no type that is declared
    assert tail.buffer is fake


@pytest.mark.parametrize(("make", "name"), [(LogTail, "buffer"), (QueueTail, "buffer"), (QueueTail, "topic_field")])
def test_attributes_are_not_deleted(make: Callable[[], LogTail | QueueTail], name: str) -> None:
    with pytest.raises(TypeError):
        delattr(make(), name)


def test_a_topic_is_bytes() -> None:
    with pytest.raises(TypeError):
        setattr(QueueTail(), "topic_field", "T")  # noqa: B010 - of no type that is declared
