# The C kernel's functions and types; the files in kernel/ say what they do.

from collections.abc import Callable, Sequence
from mmap import mmap
from typing import Any, Literal, Self, TypeAlias

from typing_extensions import Buffer

from rocketwire.native import PythonLogTail, PythonQueueTail
from rocketwire.store.commit_log import CommitLog
from rocketwire.store.consume_queue import ConsumeQueue
from rocketwire.store.drafts import Appended, Draft
from rocketwire.store.key_column import PythonKeyColumn
from rocketwire.store.timer.units import DueUnit
from rocketwire.store.timer.waiting import Waiting
from rocketwire.wire.connection import RawFrame

# text_module.c: for tests and fuzzers
_Found: TypeAlias = tuple[bytes, bytes | None, bytes | None, bytes | None, bool | None, bool, bool]

def rewrite_properties(text: Buffer, cluster_item: bytes, /) -> _Found: ...
def look_at_properties(text: Buffer, /) -> _Found: ...
def take_batch(body: Buffer, /) -> list[tuple[int, bytes, bytes]] | None: ...
def java_hash(text: Buffer, before: int = 0, /) -> int: ...
def crc32(data: Buffer, portable: bool = False, /) -> int: ...
def write_record(
    topic_field: bytes,
    magic: int,
    queue_id: int,
    flag: int,
    sys_flag: int,
    reconsume_times: int,
    queue_offset: int,
    physical_offset: int,
    born_timestamp: int,
    store_timestamp: int,
    prepared_offset: int,
    born_host: bytes,
    store_host: bytes,
    body: bytes,
    properties: tuple[bytes, bytes, bytes],
    whole: bool = True,
    /,
) -> bytes: ...
def write_queue_entry(physical_offset: int, size: int, tags_code: int, /) -> bytes: ...

# tails.c
class LogTail(PythonLogTail): ...
class QueueTail(PythonQueueTail): ...

# codec_module.c
def scan_frame(data: Buffer, /) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]: ...
def read_header(
    data: Buffer, serialize_type: int, /
) -> tuple[int, int, int, list[tuple[bytes, bytes, bool]]] | None: ...
def read_send(data: Buffer, serialize_type: int, /) -> tuple[str | int | bool | None, ...] | None: ...
def read_pull(data: Buffer, serialize_type: int, /) -> tuple[str | int | None, ...] | None: ...
def read_offset(data: Buffer, serialize_type: int, /) -> tuple[str, str, int, int] | None: ...
def unescape(raw: Buffer, /) -> bytes | None: ...

# keys.c, index_module.c
class KeyColumn(PythonKeyColumn): ...

def put_index_entries(
    mapping: mmap | bytearray,
    room: tuple[int, int, int, int, int],
    hashes: memoryview,
    offsets: memoryview,
    timestamps: memoryview,
    count: int,
    /,
) -> int: ...
def scan_index_entries(
    view: memoryview,
    at: int,
    count: int,
    key_hash: int,
    most: int,
    file_begin: int,
    begin: int,
    end: int,
    /,
) -> tuple[list[int], bool]: ...

# pulls_type.c
_Parts: TypeAlias = tuple[bytes, ...]

FILTER_NAMES_MOST: int

class Pulls:
    def __new__(
        cls,
        log: PythonLogTail,
        *,
        plan: Callable[..., tuple[object, ...] | bool | None],
        plan_offset: Callable[[str, str], bool],
        commit: Callable[[str, str, int, int], object],
        hold: Callable[[Any, Any, int, int, int, int, int], object],
        texts: tuple[tuple[_Parts, ...], ...],
        max_frame: int,
    ) -> Self: ...
    def forget(self) -> None: ...
    def take(self) -> tuple[list[tuple[Any, int, int]], dict[int, int]]: ...
    def serve(self, session: object, data: bytes, now: int, /) -> tuple[bytes, int]: ...

# hub.c, channel.c
class Channel:
    last_activity: float
    frame_started: float
    writing: bool
    @property
    def stalled(self) -> bool: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...

HIGH_WATER: int
READ_BYTES: int

class Hub:
    def __new__(cls, sends: object, pulls: object, frame_type: type[RawFrame], clock: Callable[[], int]) -> Self: ...
    def fileno(self) -> int: ...
    def add(self, fd: int, session: object, born_host: bytes, /) -> Channel: ...
    def ready(self) -> bool: ...
    @property
    def took_sends(self) -> bool: ...
    @property
    def took_pulls(self) -> bool: ...
    @property
    def unfinished(self) -> bool: ...
    def round(self, ms: int, seconds: float, /) -> bool: ...
    def close(self) -> None: ...

# sends_type.c
_TimerPlan: TypeAlias = tuple[PythonQueueTail, int, bytes, bytes | None]

class Sends:
    enabled: bool
    deferred: bool
    max_body: int
    slow_ns: int
    def __init__(
        self,
        log: PythonLogTail,
        *,
        plan: Callable[
            [str, int, int, str | None],
            tuple[PythonQueueTail, int, bytes | None, bool]
            | tuple[PythonQueueTail | None, int, bytes | None, bool, _TimerPlan | None]
            | Literal[False]
            | None,
        ],
        make_room: Callable[[int], None],
        waiting: Callable[[Any, bytes, int], None],
        slow: Callable[[int], None],
        keys: KeyColumn | None,
        store_host: bytes,
        cluster_item: bytes,
        answers: tuple[tuple[bytes, ...], tuple[bytes, ...]],
        id_prefix: bytes,
        max_body: int,
    ) -> None: ...
    def forget(self) -> None: ...
    def take(self) -> tuple[list[PythonQueueTail], int, int, dict[int, int]]: ...
    def serve(self, session: object, born_host: Buffer, now: int, data: Buffer, /) -> tuple[bytes, int]: ...

# advise.c
def advise(mapping: mmap, option: int, start: int, length: int, /) -> None: ...

# ahead.c
class Ahead:
    def ask(self, mapping: mmap, path: str, start: int, length: int, /) -> None: ...
    def stop(self) -> None: ...

# append.c
class AppendLoop:
    def __init__(
        self,
        log: CommitLog,
        queues: dict[tuple[str, int], ConsumeQueue],
        create: Callable[[str, int], ConsumeQueue],
        keys: PythonKeyColumn | None,
        store_host: bytes,
        draft: type[Any],
        appended: type[Appended],
        size_behind: Callable[[Sequence[Draft], int, bytes], int],
        /,
    ) -> None: ...
    def append(
        self, drafts: Sequence[Draft], results: list[Appended], touched: set[ConsumeQueue], now: int, /
    ) -> None: ...

# restoring.c
def stored_again(
    draft: type[Draft], data: Buffer, start: int, end: int, due: list[Any], now: int, /
) -> list[Draft | None]: ...
def restored_delayed(draft: type[Draft], record: Buffer, /) -> Draft | None: ...
def waiting_in(
    waiting: type[Waiting], data: Buffer, start: int, end: int, entries: Buffer, /
) -> list[Waiting | None]: ...

# timer_units.c
def due_units(kind: type[DueUnit], mapping: Buffer, low: int, positions: Buffer, /) -> list[DueUnit]: ...
def settle_units(
    mapping: mmap | bytearray, low: int, outcomes: list[tuple[int, int]], first: int, counts: dict[int, int], /
) -> int: ...
