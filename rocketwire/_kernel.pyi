# The C kernel's functions and types; the files in kernel/ describe them.

from collections.abc import Callable, Iterator, Sequence
from mmap import mmap
from typing import Any, Literal, Self, TypeAlias

from typing_extensions import Buffer

from rocketwire.native import PythonLogTail, PythonQueueTail
from rocketwire.server.throttle.bucket import PythonBucket
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.index.key_column import PythonKeyColumn
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.timer.units import DueTimerUnit, TimerRecord
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.http2.connection import PythonHttp2

# holds.c
def holds(data: Buffer, wanted: bytes, /) -> bool: ...

# tails.c
class LogTail(PythonLogTail): ...
class QueueTail(PythonQueueTail): ...

# keys.c, index_module.c
class KeyColumn(PythonKeyColumn): ...

def put_index_entries(
    mapping: mmap | bytearray,
    places: tuple[int, int, int, int, int],
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

# record_runs.c
def record_runs(entries: Buffer, whole: memoryview, /) -> list[memoryview] | None: ...

# newest.c
def newest_records(
    log: CommitLog, queue: ConsumeQueue, offset: int, most: int, memory: int, most_bytes: int, /
) -> tuple[list[memoryview], int, int] | None: ...

# pulls_type.c
_Parts: TypeAlias = tuple[bytes, ...]

FILTER_NAMES_MOST: int

class Pulls:
    enabled: bool
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
    def take(self) -> tuple[list[tuple[Any, int, int, int]], dict[int, int]]: ...
    def serve(self, session: object, data: bytes, now: int, /) -> tuple[bytes, int]: ...

# hub.c, channel.c
class Channel:
    last_activity: float
    frame_started: float
    writing: bool
    @property
    def began(self) -> bool: ...
    @property
    def stalled(self) -> bool: ...
    @property
    def held(self) -> int: ...
    def beginning(self) -> bytes: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...

HIGH_WATER: int
READ_BYTES: int

# latencies.c
LATENCY_BOUNDS_NS: tuple[int, ...]

class Hub:
    max_frame: int
    @property
    def held(self) -> int: ...
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
    timed: bool
    def take_latencies(self) -> dict[int, tuple[tuple[int, ...], int]]: ...
    def round(self, ms: int, seconds: float, /) -> bool: ...
    def close(self) -> None: ...

# bucket.c
class Bucket(PythonBucket): ...

# sends_type.c
_TimerPlan: TypeAlias = tuple[PythonQueueTail, int, bytes, bytes | None]
#: Buckets and what each is the bucket of; bytes that a message counts once for; factors: of any, with a sharding key,
#: for a set time.
_Quota: TypeAlias = tuple[tuple[Bucket, ...], tuple[str, ...], int, int, int, int]
_Around: TypeAlias = tuple[bytes, bytes]

class Sends:
    enabled: bool
    deferred: bool
    by_group: bool
    done: tuple[_Around, _Around] | None
    refusal: tuple[_Around, _Around] | None
    max_body: int
    slow_ns: int
    def __init__(
        self,
        log: PythonLogTail,
        *,
        plan: Callable[
            [str, int, int, str | None, str],
            tuple[PythonQueueTail, int, bytes | None, bool]
            | tuple[PythonQueueTail | None, int, bytes | None, bool, _TimerPlan | None]
            | tuple[PythonQueueTail | None, int, bytes | None, bool, _TimerPlan | None, _Quota | None]
            | Literal[False]
            | None,
        ],
        make_room: Callable[[int], None],
        waiting: Callable[[Any, bytes, int], None],
        slow: Callable[[int], None],
        keys: KeyColumn | None,
        store_host: bytes,
        broker_items: bytes,
        answers: tuple[tuple[bytes, ...], tuple[bytes, ...]],
        id_prefix: bytes,
        max_body: int,
    ) -> None: ...
    def forget(self) -> None: ...
    def take(
        self,
    ) -> tuple[list[PythonQueueTail], int, int, dict[int, int], int, dict[str, int], dict[tuple[str, str], int]]: ...
    def take_back(
        self,
        plan: Callable[
            [str, bool, str],
            tuple[tuple[str, str], int, bytes, tuple[tuple[PythonQueueTail | None, int, bytes], ...]] | bool | None,
        ],
        /,
    ) -> None: ...
    def take_outcomes(
        self,
        plan: Callable[[str, int], tuple[PythonQueueTail | None, PythonQueueTail, PythonQueueTail] | bool | None],
        may_decide: Callable[[int], bool],
        decided: Callable[[int], None],
        op_properties: bytes,
        op_tags_code: int,
        /,
    ) -> None: ...
    def serve(
        self, session: object, born_host: Buffer, now: int, data: Buffer, seconds: float = 0, /
    ) -> tuple[bytes, int]: ...

# acks_module.c
def read_acks(
    request: Buffer, /
) -> tuple[str, str, str, int, list[tuple[str, int, int, int, int, int, list[int]]], list[str], bytes] | None: ...

# request_scan_type.c
class RequestScan:
    def __new__(
        cls, messages: tuple[tuple[tuple[int, int, int, bool], ...], ...], calls: dict[str, tuple[int, int, int]]
    ) -> Self: ...
    def check(self, path: str, payload: Buffer, /) -> int: ...
    def check_calls(self, events: list[tuple[Any, ...]], /) -> list[tuple[int, int]] | None: ...

# pop_drafts.c
_PointNames: TypeAlias = tuple[bytes, bytes, bytes, bytes, bytes]

class PopDrafts:
    def __init__(
        self, *, draft: type[Draft], revive_topic: str, timer_topic: str, host: bytes, codes: tuple[int, int, int]
    ) -> None: ...
    def check_point(
        self,
        names: _PointNames,
        queue_id: int,
        start_offset: int,
        differences: Sequence[int],
        pop_time: int,
        invisible_time: int,
        renewer: bytes,
        revive_queue: int,
        /,
    ) -> Draft | None: ...
    def ack(
        self,
        names: _PointNames,
        queue_id: int,
        start_offset: int,
        pop_time: int,
        offsets: Sequence[int],
        revive_queue: int,
        due: int,
        now: int,
        /,
    ) -> Draft | None: ...

# call_sends.c
class CallSends:
    user_properties: int
    property_bytes: int
    message_group_bytes: int
    delay_ms: int
    def __init__(
        self,
        *,
        sends: Sends,
        plan: Callable[[str], tuple[int, int, int] | None],
        path: str,
        client_id: str,
        reserved: tuple[bytes, ...],
    ) -> None: ...
    def serve(
        self, events: list[tuple[Any, ...]], born_host: bytes, remote: str, now: int, /
    ) -> list[tuple[int, bytes]]: ...
    def forget(self) -> None: ...

# connection_sends.c
class ConnectionSends:
    def __init__(self, *, owner: object) -> None: ...
    @property
    def deadline(self) -> float | None: ...
    def take(
        self, data: Buffer, /
    ) -> tuple[dict[Any, list[tuple[int, bytes]]], list[tuple[int, int]], int, list[tuple[float, int]]]: ...
    def pop(self, opaque: int, /) -> tuple[Any, int, str, int, float] | None: ...
    def expire(self, now: float, /) -> list[tuple[Any, int, str, int, float]]: ...
    def close(self) -> list[tuple[Any, int, str, int, float]]: ...

# call_forwards.c
class CallForwards:
    user_properties: int
    property_bytes: int
    message_group_bytes: int
    delay_ms: int
    body_bytes: int
    def __init__(
        self,
        *,
        plan: Callable[
            [str], tuple[int, tuple[bytes, ...], tuple[tuple[ConnectionSends | None, int, bool], ...]] | None
        ],
        turns: Iterator[int],
        path: str,
        client_id: str,
        reserved: tuple[bytes, ...],
    ) -> None: ...
    def serve(
        self, events: list[tuple[Any, ...]], connection: object, remote: str, now: int, deadline: float, /
    ) -> tuple[int, int, list[tuple[Any, bytes]]]: ...
    def forget(self) -> None: ...

# deliveries.c
class CallDeliveries:
    def __init__(self, *, names: tuple[tuple[bytes, int], ...]) -> None: ...
    def write(
        self,
        records: Buffer,
        topic: bytes,
        starts: dict[int, int],
        pop_time: int,
        invisible_time: int,
        revive_queue: int,
        broker: bytes,
        mark: bytes,
        most_attempts: int,
        tags: tuple[bytes, ...] | None,
        /,
    ) -> list[bytes] | None: ...

# advise.c
def advise(mapping: mmap, option: int, start: int, length: int, /) -> None: ...

# ahead.c
class PageFaulter:
    def populate(self, mapping: mmap, path: str, start: int, length: int, /) -> None: ...
    def stop(self) -> None: ...

# group_writer.c
class GroupWriter:
    def __init__(
        self,
        log: CommitLog,
        queues: dict[tuple[str, int], ConsumeQueue],
        create: Callable[[str, int], ConsumeQueue],
        keys: PythonKeyColumn | None,
        store_host: bytes,
        draft: type[Any],
        appended: type[AppendResult],
        prepare: Callable[[Sequence[Draft], int], int],
        /,
    ) -> None: ...
    def append(
        self, drafts: Sequence[Draft], results: list[AppendResult], touched: set[ConsumeQueue], now: int, /
    ) -> None: ...

# restoring.c
def stored_again(
    draft: type[Draft], data: Buffer, start: int, end: int, due: list[Any], now: int, /
) -> list[Draft | None]: ...
def restored_delayed(draft: type[Draft], record: Buffer, /) -> Draft | None: ...
def waiting_in(
    waiting: type[TimerRecord], data: Buffer, start: int, end: int, entries: Buffer, /
) -> list[TimerRecord | None]: ...

# timer_units.c
def due_units(kind: type[DueTimerUnit], mapping: Buffer, low: int, positions: Buffer, /) -> list[DueTimerUnit]: ...
def settle_units(
    mapping: mmap | bytearray, low: int, outcomes: list[tuple[int, int]], first: int, counts: dict[int, int], /
) -> int: ...

# json_lines.c: positions are a buffer of 64-bit numbers
def record_lines(buffer: Buffer, positions: Buffer, /) -> tuple[int, bytes]: ...

# nghttp2_library.c, http2_type.c
def nghttp2_version() -> str | None: ...

class Http2(PythonHttp2): ...

# relay_type.c
_Handed: TypeAlias = tuple[int, int, bytes, bytes, bytes, bytes]
#: The cause of a pair's end: a side that closed or failed, a side whose bytes are no frame, or a call.
_Ended: TypeAlias = Literal["client", "upstream", "client misread", "upstream misread", "dropped", "released"]

class Relay:
    def __new__(cls, high_water: int, codes: Buffer = b"", chance: int = 0, seed: int = 0) -> Self: ...
    def fileno(self) -> int: ...
    def add(
        self,
        client: int,
        upstream: int,
        to_upstream: Buffer,
        to_client: Buffer,
        old: Buffer,
        new: Buffer,
        longest_frame: int,
        /,
    ) -> int: ...
    def release(self, pair: int, /) -> None: ...
    def drop(self, pair: int, /) -> None: ...
    def events(self) -> list[tuple[int, _Ended, _Handed | None]]: ...
    def idle(self, seconds: float, /) -> list[int]: ...
    def counts(self) -> tuple[int, int, int, int, int, int]: ...
    def bound(self, most: int, /) -> None: ...
    def times(self) -> dict[int, tuple[int, tuple[int, ...], int]]: ...
    def copies(self) -> tuple[list[tuple[int, bytes]], int]: ...
    def close(self) -> None: ...
