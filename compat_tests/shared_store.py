"""One store directory that Apache's broker and rocketwire open alternately, at one address.

Theory: both get the same small file sizes, so that a few hundred messages fill several files of each kind; and the same
port, so that the address in a message id is that of the running broker.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from compat_tests.endpoints import Rocketwire
from compat_tests.store_view import loads
from rocketwire.compat.brokers.apache import ApacheBroker, ApacheNameServer
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports, port_of
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.segments import Segments
from rocketwire.store.layout.consume_queue import AHEAD
from rocketwire.store.offline.read.directory import discover
from rocketwire.store.offline.verify.findings import Finding, FindingKind
from rocketwire.store.offline.verify.verify import VerifySummary, verify
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore

LOG_FILE: Final = 256 << 10  # bytes of a commit log file
QUEUE_FILE: Final = 100  # messages in a consume queue file
TIMER_FILE: Final = 40 * 52 + 16  # bytes of a timer log file
MARGIN: Final = 3000  # ms before the times of log and queues that both brokers recover from
SIZES: Final[Mapping[str, str]] = {
    "mappedFileSizeCommitLog": str(LOG_FILE),
    "mappedFileSizeConsumeQueue": str(QUEUE_FILE * 20),
    "maxHashSlotNum": "100",
    "maxIndexNum": "200",
    "mappedFileSizeTimerLog": str(TIMER_FILE),
}
# Apache only. Without the first it forgets keys after a kill: it deletes the index file that was not full at the last
# checkpoint, but may read the log again from a later place. Tests that pop messages of 5.x need POPPING: it keeps what
# is popped, and searches for what was not acknowledged every 10 s by default. A clean stop waits 3-4 s
# longer for that.
_INDEX_SAFE: Final = {"messageIndexSafe": "true"}
POPPING: Final[Mapping[str, str]] = {"popConsumerFSServiceInit": "true", "reviveScanTime": "200", "reviveQueueNum": "1"}
_APACHE: Final[Mapping[str, Mapping[str, str]]] = {
    "4.9.7": _INDEX_SAFE,
    "5.5.0": {**_INDEX_SAFE, "popConsumerFSServiceInit": "false"},
}


def verified(root: Path) -> tuple[VerifySummary, list[str]]:
    """The result of `store verify`: the summary, and each damage."""
    found: list[Finding] = []
    summary = verify(discover(str(root)), found.append)
    return summary, [str(each) for each in found if each.kind is FindingKind.DAMAGE]


def assert_undamaged(root: Path) -> VerifySummary:
    """`store verify` finds no damage; its summary."""
    summary, damages = verified(root)
    assert not damages
    return summary


class SharedStore:
    """A store directory, and the brokers that open it."""

    def __init__(self, folder: Path, name_server: ApacheNameServer) -> None:
        self.path = folder / "store"
        self._folder = folder
        self._name_server = name_server
        self._ports = free_ports()

    @property
    def broker(self) -> str:
        """The address of the broker that runs."""
        return f"{LOOPBACK}:{self._ports[1]}"

    @contextlib.contextmanager
    def apache(self, version: str = "4.9.7", **settings: str) -> Iterator[ApacheBroker]:
        """Apache's broker on the store; it must log no warning about it.

        It is stopped cleanly at the end unless it was killed.
        """
        broker = ApacheBroker(
            self._folder,
            namesrv=self._name_server.address,
            port=port_of(self.broker),
            version=version,
            registers=version == "4.9.7",
            settings={**SIZES, **_APACHE[version], **settings},
        )
        with running(broker):
            yield broker
        complaints = broker.complaints()
        assert not complaints, "\n".join(complaints)

    @contextlib.contextmanager
    def rocketwire(self, **settings: str) -> Iterator[Rocketwire]:
        """The server of this project on the store; stopped cleanly at the end unless it was killed."""
        with running(Rocketwire(self._folder, settings={**SIZES, **settings}, ports=self._ports)) as server:
            yield server

    def config(self, name: str) -> dict[str, Any]:
        """A file of config/, without its data version."""
        document = loads((self.path / "config" / name).read_text("utf-8"))
        return {key: value for key, value in document.items() if key != "dataVersion"}

    def flushed_before(self) -> int:
        """Up to which store time (ms) the checkpoint proves log, queues and index flushed, as Apache reads it."""
        log, queues, index = struct.unpack_from(">3q", (self.path / "checkpoint").read_bytes())
        return int(min(log - MARGIN, queues - MARGIN, index))

    def digests(self, *names: str) -> dict[str, str]:
        """The SHA-256 of some files of the store and of all below some folders, less the files that hold only zeros.

        Those are made ahead.
        """
        below = [file for name in names for file in (self.path / name, *sorted((self.path / name).rglob("*")))]
        texts = {str(file.relative_to(self.path)): file.read_bytes() for file in below if file.is_file()}
        return {name: hashlib.sha256(text).hexdigest() for name, text in texts.items() if text.strip(b"\0")}

    def expire(self, *, keep: int) -> None:
        """Remove the oldest files but `keep` of the commit log, and the entries' files, by rocketwire's retention.

        A server begins with that 60 s after its start, like Apache's; so the store is called here.
        """
        settings = StoreSettings(
            root=self.path,
            commit_log_file_size=LOG_FILE,
            consume_queue_file_size=QUEUE_FILE * 20,
            index_slots=int(SIZES["maxHashSlotNum"]),
            index_entries=int(SIZES["maxIndexNum"]),
        )
        store = MessageStore.open(settings, clock=lambda: time.time_ns() // 1_000_000, store_host=bytes(8))
        while len(list((self.path / "commitlog").iterdir())) > keep:
            segment = store.retention.detach_log_file(0, 0, forcibly=True)
            assert segment is not None
            segment.remove()
        store.retention.sync_log()
        for queue in store.retention.queues():
            while store.retention.remove_queue_file(queue):
                store.retention.sync_queue(queue)
        for file in store.retention.detach_index_files():
            file.remove()
        store.close()

    def make_queue_file(self, topic: str, queue_id: int, offset: int) -> None:
        """Make the file of a queue that begins at an offset, as rocketwire does before it has an entry for it."""
        folder = self.path / "consumequeue" / topic / str(queue_id)
        folder.mkdir(parents=True, exist_ok=True)
        Segments(str(folder), QUEUE_FILE * 20, FileSystem(), most_mapped=1).append(offset * 20, AHEAD)

    def remove_unfinished(self) -> None:
        """Remove files without a size, which a broker had just made when it was killed: Apache's own starts on none."""
        for folder in ("commitlog", "consumequeue", "index"):
            for path in (self.path / folder).rglob("*"):
                if path.is_file() and not path.stat().st_size:
                    path.unlink()

    def remove(self, *folders: str) -> None:
        """Remove folders of the store."""
        for folder in folders:
            shutil.rmtree(self.path / folder)
