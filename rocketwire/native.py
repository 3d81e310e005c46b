"""Loading the C kernel: `kernel` is the module `rocketwire._kernel`, or None if the Python twins are used.

It is None where no kernel was built (for lack of a C compiler). The environment variable `ROCKETWIRE_KERNEL` selects:
`python` uses the twins, `native` makes a missing kernel an ImportError, and the path of a `.so` file is loaded in place
of the installed one (one with sanitizers, for instance).

`LogTail` and `QueueTail` are the kernel's types or their twins: the ends of log and queues, which both the kernel and
the store move.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mmap import mmap

_MODULE: Final = "rocketwire._kernel"


def load(wanted: str | None) -> ModuleType | None:
    """The kernel, or None; `wanted` is the value of the environment variable.

    Raises:
        ImportError: a kernel is wanted and there is none.
    """
    if wanted == "python":
        return None
    if wanted is not None and wanted.endswith(".so"):
        return _from_file(wanted)
    try:
        return import_module(_MODULE)
    except ImportError:
        if wanted == "native":
            raise
        return None


def _from_file(path: str) -> ModuleType:
    spec = spec_from_file_location(_MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[_MODULE] = module
    return module


kernel: Final = load(os.environ.get("ROCKETWIRE_KERNEL"))


def name() -> str:
    """Which of the two runs: `native` or `python`."""
    return "python" if kernel is None else "native"


class PythonLogTail:
    """The end of the commit log, shared by all appenders.

    Attributes:
        position: Physical offset of the next record.
        limit: A record that ends after this needs room first.
        buffer: The mapping of the file being written; None while there is none. A value that is not writable memory is
            kept, but the kernel does not write to it.
        base: Physical offset of the first byte of `buffer`.
        timestamp: Store timestamp in ms of the last append; 0 if there was none since the start.
    """

    def __init__(self) -> None:
        self.position = self.limit = self.base = self.timestamp = 0
        self.buffer: mmap | None = None


class PythonQueueTail:
    """The end of a consume queue, shared by all appenders.

    Attributes:
        end: Offset of the next entry.
        min: Offset of the oldest entry whose message is in the log.
        buffer: The mapping of the file being written, or an empty buffer; as for a log.
        position: Where in `buffer` the next entry goes.
        limit: An entry at or after this place needs room first.
        arrived: Messages appended since they were counted; what recovery enters does not count.
        arrived_bytes: Their bytes in the log.
        queue_id: Number of the queue in its topic.
        magic: Magic number of its records.
        index_prefix_hash: Java hash of `topic#`, with which index keys begin.
        topic_field: The topic as its records hold it: length, then UTF-8.
    """

    __slots__ = (
        "arrived",
        "arrived_bytes",
        "buffer",
        "end",
        "index_prefix_hash",
        "limit",
        "magic",
        "min",
        "position",
        "queue_id",
        "topic_field",
    )

    def __init__(self) -> None:
        self.end = self.min = self.position = self.limit = 0
        self.arrived = self.arrived_bytes = 0
        self.buffer: mmap | bytearray = bytearray()
        self.queue_id = self.magic = self.index_prefix_hash = 0
        self.topic_field = b""


if TYPE_CHECKING or kernel is None:
    LogTail = PythonLogTail
    QueueTail = PythonQueueTail
else:
    LogTail = kernel.LogTail
    QueueTail = kernel.QueueTail
