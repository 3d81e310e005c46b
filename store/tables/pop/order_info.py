"""config/consumerOrderInfo.json of 5.x: the messages of each queue that a group popped in order and has not finished.

The file maps `topic@group` to queue ids, and these to the last batch that was popped of the queue. What changed since
it was written is in consumerOrderInfo.changes.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import StoreNotWritable
from rocketwire.store.tables.changes_file import ChangesFile
from rocketwire.store.tables.saved_table import SavedTable, TableText
from rocketwire.store.tables.unknown_fields import load_body
from rocketwire.wire.bodies._shapes import from_builtins, to_builtins
from rocketwire.wire.bodies.fastjson import encode_in_steps
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
    """The client for which the batch is renewed while it is connected. Rocketwire's; no Apache broker has it."""

    @property
    def offsets(self) -> tuple[int, ...]:
        """The queue offsets of the messages."""
        first, *others = self.offset_list or (0,)
        return (first, *(first + each for each in others)) if self.offset_list else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderInfoBody:
    """The file."""

    order_info_count: Int32 = 0
    ordered_consumption_level: str = _PER_QUEUE
    table: dict[str, dict[Int32, OrderInfo]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderChange:
    """The new state of the last batch of a queue; without `info` the queue has none."""

    group: str = ""
    info: OrderInfo | None = None
    queue_id: Int32 = 0
    topic: str = ""


class OrderInfoTable(SavedTable):
    """Batches by (topic, group, queue id).

    Attributes:
        left: What a killed process changed since it wrote the file, the last change of each queue; the table has it.
    """

    def __init__(self, path: str, files: FileSystem) -> None:
        super().__init__(path, files)
        saved, self._unknown = load_body(path, files, OrderInfoBody)
        changes = ChangesFile(path.removesuffix(".json") + ".changes", files, files.read(path) or b"")
        self._table = {key: dict(queues) for key, queues in saved.table.items()}
        self._noted = changes
        found = [from_builtins(OrderChange, each) for each in changes.unsaved_changes]
        self.unsaved_changes = tuple({(each.topic, each.group, each.queue_id): each for each in found}.values())
        for change in self.unsaved_changes:
            self._apply(change)

    def get(self, topic: str, group: str, queue_id: int) -> OrderInfo | None:
        """The last batch of a queue, None when there is none."""
        return self._table.get(topic + _SEPARATOR + group, {}).get(queue_id)

    def put(self, topic: str, group: str, queue_id: int, info: OrderInfo) -> None:
        """Set the last batch of a queue."""
        self._change(OrderChange(topic=topic, group=group, queue_id=queue_id, info=info))

    def remove(self, topic: str, group: str, queue_id: int) -> None:
        """Forget the last batch of a queue, if there is one."""
        if self.get(topic, group, queue_id) is not None:
            self._change(OrderChange(topic=topic, group=group, queue_id=queue_id))

    def _change(self, change: OrderChange) -> None:
        self._apply(change)
        self._noted.append_change(to_builtins(change))

    def _apply(self, change: OrderChange) -> None:
        key = change.topic + _SEPARATOR + change.group
        if change.info is not None:
            self._table.setdefault(key, {})[change.queue_id] = change.info
        elif (queues := self._table.get(key)) is not None:
            queues.pop(change.queue_id, None)
            self._unknown.forget(_TABLE, key, change.queue_id)
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
        document = to_builtins(OrderInfoBody(order_info_count=len(self._table)))
        if not self._unknown:  # then each is encoded alone, step by step
            return {**document, _TABLE: self._table}
        return self._unknown.restore({**document, _TABLE: to_builtins(OrderInfoBody(table=self._table))[_TABLE]})

    def _text(self) -> Generator[None, None, bytes]:
        self._noted.begin_text()
        text = yield from encode_in_steps(self._document(), newer=True)
        self._noted.note_text(text)
        return text

    def write(self, text: TableText) -> None:
        """See SavedTable."""
        super().write(text)
        self._noted.note_written()

    def close(self) -> None:
        """See SavedTable; then there are no changes beside the file."""
        self.persist()
        try:
            self._noted.remove()
        except OSError as error:
            raise StoreNotWritable(self.path, error.strerror or str(error)) from error
