"""What a crashed machine can leave on its disk: images of a disk with a page cache, and the directories made of them.

An image has of every file what the disk holds (`disk`, since its last sync) and what the page cache holds (`cached`),
and of every directory the entries at its last sync and the changes since. A crash then chooses:

* of each directory's changes a prefix, for file systems write their metadata in order; a rename is one change. A new
  file and its size are two changes, so a file may exist without content.
* of the pages that differ, any subset: they reach the disk in any order, each whole or not at all. A page that a failed
  sync left marked clean is never written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PAGE = 4096


class FileImage(NamedTuple):
    """A file; `disk` is None when it was never synced, `clean` names pages that will not be written any more."""

    path: str
    disk: bytes | None
    cached: bytes
    clean: frozenset[int]

    def dirty(self) -> list[int]:
        if self.disk == self.cached:
            return []
        old = self._old()
        return [
            number
            for number in range((max(len(old), len(self.cached)) + PAGE - 1) // PAGE)
            if number not in self.clean and page(old, number) != page(self.cached, number)
        ]

    def _old(self) -> bytes:
        return bytes(len(self.cached)) if self.disk is None else self.disk

    def after(self, survivors: set[int], *, sized: bool) -> bytes:
        """The file's bytes when those of its dirty pages reached the disk."""
        if self.disk is None and not sized:
            return b""
        old = self._old()
        length = len(self.cached) if survivors else len(old)
        pages = range((length + PAGE - 1) // PAGE)
        return b"".join(page(self.cached if n in survivors else old.ljust(length, b"\0"), n) for n in pages)[:length]


class Change(NamedTuple):
    """A change of a directory: what its names stand for now (None: nothing), or that a file got its size."""

    entries: Mapping[str, FileImage | DirectoryImage | None]
    sized: FileImage | None = None


class DirectoryImage(NamedTuple):
    """A directory as the disk holds it, and what changed since."""

    entries: Mapping[str, FileImage | DirectoryImage]
    changes: tuple[Change, ...]


class Crash(NamedTuple):
    """How many of a directory's changes, and which of all dirty pages (path, number), reached the disk."""

    name: str
    changes: Callable[[int], int]
    pages: Callable[[Sequence[tuple[str, int]]], Sequence[bool]]


def page(data: bytes, number: int) -> bytes:
    return data[number * PAGE : (number + 1) * PAGE]


def every(count: int) -> int:
    return count


#: The process was killed, or everything reached the disk just in time.
EVERYTHING = Crash("everything", every, lambda pages: [True] * len(pages))
NOTHING = Crash("nothing", lambda count: 0, lambda pages: [False] * len(pages))
ENTRIES = Crash("entries", every, lambda pages: [False] * len(pages))
LAST_ENTRY_LOST = Crash("last entry lost", lambda count: max(0, count - 1), lambda pages: [True] * len(pages))
HALF_OF_ENTRIES = Crash("half of the entries", lambda count: count // 2, lambda pages: [True] * len(pages))
EVEN = Crash("even pages", every, lambda pages: [n % 2 == 0 for n in range(len(pages))])
ODD = Crash("odd pages", every, lambda pages: [n % 2 == 1 for n in range(len(pages))])
LOG = Crash("the log", every, lambda pages: ["/commitlog/" in path for path, _ in pages])
ALL_BUT_LOG = Crash("all but the log", every, lambda pages: ["/commitlog/" not in path for path, _ in pages])
FIRST_HALF = Crash("first half", every, lambda pages: [n < len(pages) // 2 for n in range(len(pages))])
SECOND_HALF = Crash("second half", every, lambda pages: [n >= len(pages) // 2 for n in range(len(pages))])


def only(number: int) -> Crash:
    """One dirty page reached the disk."""
    return Crash(f"only page {number}", every, lambda pages: [n == number % len(pages) for n in range(len(pages))])


def all_but(number: int) -> Crash:
    """One dirty page did not reach the disk."""
    return Crash(f"all but page {number}", every, lambda pages: [n != number % len(pages) for n in range(len(pages))])


def chosen(changes: int, bits: int) -> Crash:
    """Dirty page n reached the disk if bit n is set."""
    return Crash(
        f"chosen {changes} {bits:b}",
        lambda count: changes % (count + 1),
        lambda pages: [bool(bits >> n % 64 & 1) for n in range(len(pages))],
    )


def files_of(image: DirectoryImage) -> dict[int, FileImage]:
    """All files of an image, also those that have lost their name, by their identity."""
    found: dict[int, FileImage] = {}
    nodes = list(image.entries.values())
    for change in image.changes:
        nodes += [node for node in change.entries.values() if node is not None]
    for node in nodes:
        if isinstance(node, FileImage):
            found[id(node)] = node
        else:
            found |= files_of(node)
    return found


def dirty_pages(image: DirectoryImage) -> list[tuple[FileImage, int]]:
    """All pages that a sync would write, in the order of the paths."""
    files = sorted(files_of(image).values(), key=lambda file: file.path)
    return [(file, number) for file in files for number in file.dirty()]


def after(image: DirectoryImage, crash: Crash) -> dict[str, bytes | None]:
    """What a crash leaves: the bytes of each file by its path below the root, None for a directory."""
    pages = dirty_pages(image)
    survivors: dict[int, set[int]] = {}
    for (file, number), survives in zip(
        pages, crash.pages([(file.path, number) for file, number in pages]) if pages else [], strict=True
    ):
        if survives:
            survivors.setdefault(id(file), set()).add(number)
    left: dict[str, bytes | None] = {}
    _leave(image, "", crash, survivors, left)
    return left


def _leave(
    image: DirectoryImage, at: str, crash: Crash, survivors: dict[int, set[int]], left: dict[str, bytes | None]
) -> None:
    entries: dict[str, FileImage | DirectoryImage | None] = dict(image.entries)
    changes = image.changes[: crash.changes(len(image.changes))]
    sized = {id(change.sized) for change in changes if change.sized is not None}
    for change in changes:
        entries.update(change.entries)
    for name, node in entries.items():
        if isinstance(node, DirectoryImage):
            left[at + name] = None
            _leave(node, f"{at}{name}/", crash, survivors, left)
        elif node is not None:
            left[at + name] = node.after(survivors.get(id(node), set()), sized=id(node) in sized)


def put(left: Mapping[str, bytes | None], root: Path) -> None:
    """Make the files that a crash left in an empty directory."""
    for path, data in left.items():
        if data is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(data)
