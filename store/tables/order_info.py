"""config/consumerOrderInfo.json of 5.x: the messages of each queue that a group popped in order and has not finished.

The file maps `topic@group` to queue ids, and these to the last batch that was popped of the queue.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rocketwire.store.disk.files import FileSystem, RealFileSystem
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.unknown_fields import UnknownFields, load_body
from rocketwire.wire.bodies._shapes import to_builtins
from rocketwire.wire.bodies.fastjson import in_steps
from rocketwire.wire.java import Int32, Int64

_TABLE: Final = "table"
_SEPARATOR: Final = "@"
_PER_QUEUE: Final = "QUEUE"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderInfo:
    """The last batch of a queue that a group popped in order. Times are in ms since 1970."""

    attempt_id: str | None = field(default=None, metadata={"wire": "a"})
    """The client's name for its attempt."""
    commit_offset_bit: Int64 = field(default=0, metadata={"wire": "cm"})
    """Bit n: message n of the batch was acknowledged."""
    invisible_time: Int64 | None = field(default=None, metadata={"wire": "i"})
    """For how long the batch is out, in ms from `pop_time` on."""
    last_consume_timestamp: Int64 = field(default=0, metadata={"wire": "l"})
    offset_list: tuple[Int64, ...] = field(default=(), metadata={"wire": "o"})
    """The queue offset of the first message, and by how much the others' are larger; see `offsets`."""
    offset_consumed_count: dict[Int64, Int32] | None = field(default=None, metadata={"wire": "oc"})
    """By queue offset: how often a message was popped before, if it was."""
    offset_next_visible_time: dict[Int64, Int64] | None = field(default=None, metadata={"wire": "ot"})
    """By queue offset: until when a message is out, if not until the batch's time is up."""
    pop_time: Int64 = 0
    renewer: str | None = field(default=None, metadata={"wire": "rn"})
    """The client for whom the batch is kept for longer as long as it is here. Ours, no Apache broker's."""

    @property
    def offsets(self) -> tuple[int, ...]:
        """The queue offsets of the messages."""
        first, *others = self.offset_list or (0,)
        return (first, *(first + each for each in others)) if self.offset_list else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderInfos:
    """The file."""

    order_info_count: Int32 = 0
    ordered_consumption_level: str = _PER_QUEUE
    table: dict[str, dict[Int32, OrderInfo]] = field(default_factory=dict)


class OrderInfoTable(SavedTable):
    """Batches by (topic, group, queue id)."""

    def __init__(self, path: str, files: FileSystem, saved: OrderInfos, unknown: UnknownFields) -> None:
        super().__init__(path, files)
        self._table = {key: dict(queues) for key, queues in saved.table.items()}
        self._unknown = unknown

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None) -> OrderInfoTable:
        """Load the table from its file; an empty one when there is none.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        files = files or RealFileSystem()
        saved, unknown = load_body(str(path), files, OrderInfos)
        return cls(str(path), files, saved, unknown)

    def get(self, topic: str, group: str, queue_id: int) -> OrderInfo | None:
        """The last batch of a queue, None when there is none."""
        return self._table.get(topic + _SEPARATOR + group, {}).get(queue_id)

    def put(self, topic: str, group: str, queue_id: int, info: OrderInfo) -> None:
        """Set the last batch of a queue."""
        self._table.setdefault(topic + _SEPARATOR + group, {})[queue_id] = info
        self._changed()

    def remove(self, topic: str, group: str, queue_id: int) -> None:
        """Forget the last batch of a queue, if there is one."""
        key = topic + _SEPARATOR + group
        queues = self._table.get(key, {})
        if queues.pop(queue_id, None) is None:
            return
        self._unknown.forget(_TABLE, key, queue_id)
        if not queues:
            del self._table[key]
        self._changed()

    def consumptions(self) -> list[tuple[str, str]]:
        """Each topic and group that popped it in order."""
        return [(topic, group) for topic, _, group in (key.partition(_SEPARATOR) for key in self._table)]

    def of(self, topic: str, group: str) -> dict[int, OrderInfo]:
        """The last batches of a group in a topic, by queue id."""
        return dict(self._table.get(topic + _SEPARATOR + group, {}))

    def _document(self) -> dict[str, Any]:
        document = to_builtins(OrderInfos(order_info_count=len(self._table)))
        if not self._unknown:  # then each is encoded by itself, step by step
            return {**document, _TABLE: self._table}
        return self._unknown.restore({**document, _TABLE: to_builtins(OrderInfos(table=self._table))[_TABLE]})

    def _text(self) -> Generator[None, None, bytes]:
        return in_steps(self._document(), newer=True)
