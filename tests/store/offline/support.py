"""What the tests of verifying and repairing share: a small store with all kinds of messages, and ways to damage it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.offline.read.directory import discover
from rocketwire.store.offline.verify.findings import Finding, FindingKind
from rocketwire.store.offline.verify.verify import VerifySummary, verify
from rocketwire.store.store import MessageStore
from rocketwire.wire.hosts import encode_host
from tests.store.support import Clock, draft, kill, open_store, small

SLOTS, ENTRIES = 20, 50


class Quick(FileSystem):
    """Waits for no disk."""

    def sync(self, fd: int) -> None:
        pass

    def sync_directory(self, path: str) -> None:
        pass


def verified(root: Path) -> tuple[list[Finding], VerifySummary]:
    findings: list[Finding] = []
    summary = verify(discover(str(root)), findings.append)
    assert summary.damages == sum(each.kind is FindingKind.DAMAGE for each in findings)
    assert summary.notes == sum(each.kind is FindingKind.NOTE for each in findings)
    return findings, summary


def damages(root: Path) -> list[Finding]:
    return [each for each in verified(root)[0] if each.kind is FindingKind.DAMAGE]


def fill(store: MessageStore, clock: Clock, count: int = 85) -> None:
    for number in range(count):
        clock.now += 700
        changes: dict[str, Any] = {}
        if number % 7 == 3:
            delay = b"DELAY\x01%d\x02UNIQ_KEY\x01D%d" % (number % 2 + 1, number)
            changes = {"topic": "SCHEDULE_TOPIC_XXXX", "queue_id": number % 2, "properties": delay}
            changes |= {"tags_code": 0, "unique_key": f"D{number}", "keys": None}
        elif number % 7 == 5:
            changes = {"sys_flag": 4}
        elif number % 7 == 6:
            changes = {"born_host": encode_host("::1", 99), "unique_key": None, "keys": None, "properties": b""}
            changes["tags_code"] = 0
        store.append([draft(number, **{"queue_id": number % 3, **changes})])
    while store.dispatch_index():
        pass


@contextmanager
def made(root: Path, *, crash: bool = False) -> Iterator[Path]:
    clock = Clock()
    store = open_store(small(root, index_slots=SLOTS, index_entries=ENTRIES), clock, Quick())
    fill(store, clock)
    if crash:
        kill(store)
    else:
        store.close()
    yield root


class Item(NamedTuple):
    """A record, an entry or a field of a file."""

    path: str
    start: int
    stop: int


@contextmanager
def flipped(path: Path, position: int, value: int) -> Iterator[None]:
    with path.open("r+b") as file:
        file.seek(position)
        former = file.read(1)
        file.seek(position)
        file.write(bytes([former[0] ^ value]))
    try:
        yield
    finally:
        with path.open("r+b") as file:
            file.seek(position)
            file.write(former)


def records(root: Path) -> list[Item]:
    found = []
    for file in sorted((root / "commitlog").iterdir()):
        data = file.read_bytes()
        at = 0
        while (size := int.from_bytes(data[at : at + 4])) and data[at + 4] == 0xDA:
            found.append(Item(f"commitlog/{file.name}", at, at + size))
            at += size
    return found
