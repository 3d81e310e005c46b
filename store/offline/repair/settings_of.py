"""Deriving the settings that a store was written with from its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.layout.consume_queue import ENTRY_SIZE
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.read.index_files import OpenIndexFile
from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.settings import DELAY_LEVELS, StoreSettings
from rocketwire.wire.names import SCHEDULE_TOPIC

#: Messages of a level that are read to find its delay.
_SAMPLE: Final = 64


def settings_of(directory: StoreDirectory, root: Path) -> StoreSettings:
    """Settings for a store in `root` that has files of the same sizes; defaults where there are none.

    Raises:
        StoreUnreadable: a read failed.
    """
    default = StoreSettings(root=root)
    sizes = (file.size for queue in directory.queues for file in queue.files)
    queue_file = _usual(size for size in sizes if size % ENTRY_SIZE == 0)
    slots, entries = default.index_slots, default.index_entries
    for plain in directory.index:
        try:
            with OpenIndexFile(plain) as file:
                if file.header.keys and file.geometry is not None:
                    slots, entries = file.geometry
        except StoreUnreadable:
            continue
    return StoreSettings(
        root=root,
        commit_log_file_size=_usual(file.size for file in directory.commit_log) or default.commit_log_file_size,
        consume_queue_file_size=queue_file or default.consume_queue_file_size,
        index_slots=slots,
        index_entries=entries,
        delay_levels=_delay_levels(directory),
    )


def _usual(sizes: Iterable[int]) -> int:
    """The size that most files have; 0 when there are none."""
    counted = Counter(sizes)
    return max(counted, key=lambda size: counted[size], default=0)


def _delay_levels(directory: StoreDirectory) -> tuple[int, ...]:
    """The delays of the levels, as the first messages of each level's queue show them, if two agree."""
    levels = list(DELAY_LEVELS)
    with CommitLogReader(directory.commit_log) as log:
        for files in directory.queues_of(SCHEDULE_TOPIC):
            said: Counter[int] = Counter()
            with QueueReader(files, log_start=directory.start) as queue:
                for _, found in queue.blocks(queue.min, min(queue.end, queue.min + _SAMPLE)):
                    for place, _, tags_code in found.tolist():
                        stored = log.store_time(place)
                        said[tags_code - stored if stored is not None else 0] += 1
            likely, count = said.most_common(1)[0] if said else (0, 0)
            if likely > 0 and count > 1 and files.queue_id < len(levels):
                levels[files.queue_id] = likely
    return tuple(levels)
