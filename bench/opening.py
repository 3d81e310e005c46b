"""Large sparse stores that are cheap to make, and a process that opens one and reports time and memory.

The stores are cleanly stopped. Their messages either have bodies of 4 MiB of zeros, which are holes, or are small and
very many, of which only the newest are written, because no others are read.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.consume_queue import ENTRY
from rocketwire.store.layout.derive import dtype_fields
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.facts.properties import UNIQ_KEY
from rocketwire.wire.facts.record import END_OF_FILE_BLANK, RECORD_HEADS
from rocketwire.wire.message import MessageRecord, body_crc, encode_record

START = 1_700_000_000_000
MIB = 1 << 20
GIB = 1 << 30
QUEUES = 4
HEAD = RECORD_HEADS[0].size
QUEUE_FILE = StoreSettings(root=Path()).consume_queue_file_size
ROOT = Path(__file__).resolve().parents[1]

OPEN = """
import json, re, sys, time
from pathlib import Path
start = time.perf_counter()
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
imported = time.perf_counter()
before = time.process_time()
store = MessageStore.open(StoreSettings(root=Path(sys.argv[1])), clock=lambda: 1_700_000_000_000, store_host=bytes(8))
worked = time.process_time() - before
opened = time.perf_counter()
status = dict(re.findall(r"(\\w+):\\s+(\\d+) kB", Path("/proc/self/status").read_text()))
print(json.dumps({
    "seconds": opened - imported,
    "cpu_seconds": worked,
    "with_imports": opened - start,
    "most_memory": int(status["VmHWM"]) << 10,
    "own_memory": int(status["RssAnon"]) << 10,
    "start": store.recovered.start,
    "end": store.recovered.end,
    "records": store.recovered.records,
    "numpy": "numpy" in sys.modules,
    "offsets": [store.max_offset("Large", queue_id) for queue_id in range(int(sys.argv[2]))],
}))
store.close()
"""


class Opened(NamedTuple):
    """The report of the opening process: times in seconds, memory in bytes, and what it found."""

    seconds: float
    cpu_seconds: float
    with_imports: float
    most_memory: int
    own_memory: int
    start: int
    end: int
    records: int
    numpy: bool
    offsets: list[int]


def opened(root: Path) -> Opened:
    """Let a new process open a store, and close it again."""
    command = [sys.executable, "-c", OPEN, str(root), str(QUEUES)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return Opened(**json.loads(done.stdout))


def record(number: int, offset: int, body: bytes, crc: int) -> bytes:
    return encode_record(
        MessageRecord(
            topic="Large",
            queue_id=number % QUEUES,
            queue_offset=number // QUEUES,
            body=body,
            body_crc=crc,
            properties=f"{UNIQ_KEY}\x01{number:032X}".encode(),
            physical_offset=offset,
            store_timestamp=START,
        )
    )


def write_queues(root: Path, offsets: NDArray[np.int64], size: int) -> None:
    """Consume queues, in files of full size, with messages at these physical offsets, dealt out one by one."""
    entries = np.zeros(len(offsets), np.dtype(dtype_fields(ENTRY)))
    entries["physical_offset"] = offsets
    entries["size"] = size
    for queue_id in range(QUEUES):
        directory = root / "consumequeue" / "Large" / str(queue_id)
        directory.mkdir(parents=True)
        data = entries[queue_id::QUEUES].tobytes()
        for start in range(0, len(data), QUEUE_FILE):
            with (directory / f"{start:020d}").open("wb") as file:
                file.write(data[start : start + QUEUE_FILE])
                file.truncate(QUEUE_FILE)


def log_files(root: Path, size: int) -> list[Path]:
    """Empty files of a commit log."""
    (root / "commitlog").mkdir(parents=True)
    paths = [root / "commitlog" / f"{start:020d}" for start in range(0, size, GIB)]
    for path in paths:
        with path.open("wb") as file:
            file.truncate(GIB)
    return paths


def large_messages(root: Path, size: int) -> int:
    """A store of messages of 4 MiB; returns how many."""
    body = bytes(4 * MIB)
    crc = body_crc(body)
    length = len(record(0, 0, body, crc))
    offsets: list[int] = []
    for path in log_files(root, size):
        start = int(path.name)
        at = 0
        with path.open("r+b") as file:
            while at + length + 8 <= GIB:
                without_body = record(len(offsets), start + at, b"", crc)
                file.seek(at)
                file.write(length.to_bytes(4) + without_body[4 : HEAD - 4] + len(body).to_bytes(4))
                file.seek(at + HEAD + len(body))
                file.write(without_body[HEAD:])
                offsets.append(start + at)
                at += length
            file.seek(at)
            file.write(END_OF_FILE_BLANK.build({"size": GIB - at}))
    write_queues(root, np.array(offsets), length)
    return len(offsets)


def many_messages(root: Path, size: int) -> int:
    """A store of messages of about 2 KiB, of which only those of the last 32 MiB are in the log; returns how many."""
    body = bytes(2000)
    crc = body_crc(body)
    length = len(record(0, 0, body, crc))
    in_file = (GIB - 8) // length
    paths = log_files(root, size)
    offsets = np.concatenate([int(path.name) + np.arange(in_file) * length for path in paths])
    with paths[-1].open("r+b") as file:
        first = len(offsets) - 32 * MIB // length
        file.seek(int(offsets[first]) - int(paths[-1].name))
        file.write(b"".join(record(n, int(offsets[n]), body, crc) for n in range(first, len(offsets))))
        file.write(END_OF_FILE_BLANK.build({"size": GIB - in_file * length}))
    write_queues(root, offsets, length)
    return len(offsets)
