"""Files and directories as a disk and its page cache hold them: what each call changes, and what a sync makes durable.

The bytes in the cache are those of the real file; kept here is what the disk has.
"""

from __future__ import annotations

from pathlib import Path

from tests.store.disk_images import PAGE, Change, DirectoryImage, FileImage, page


class CachedFile:
    def __init__(self, path: str, disk: bytes | None) -> None:
        self.path = path
        self.disk = disk
        self.removed: bytes | None = None
        #: Pages as they were when a sync of them failed: the kernel takes them for clean since.
        self.clean: dict[int, bytes] = {}

    def cached(self) -> bytes:
        return Path(self.path).read_bytes() if self.removed is None else self.removed

    def sync(self) -> None:
        cached = self.cached()
        if self.clean:
            old = (self.disk or b"").ljust(len(cached), b"\0")
            count = (len(cached) + PAGE - 1) // PAGE
            self.disk = b"".join(page(old if n in self.still_clean(cached) else cached, n) for n in range(count))
        else:
            self.disk = cached

    def fail(self) -> None:
        cached = self.cached()
        old = (self.disk or b"").ljust(len(cached), b"\0")
        for number in range((len(cached) + PAGE - 1) // PAGE):
            if page(cached, number) != page(old, number):
                self.clean[number] = page(cached, number)

    def still_clean(self, cached: bytes) -> frozenset[int]:
        return frozenset(number for number, data in self.clean.items() if page(cached, number) == data)

    def image(self) -> FileImage:
        cached = self.cached()
        return FileImage(self.path, self.disk, cached, self.still_clean(cached))


class CachedDirectory:
    def __init__(self) -> None:
        self.synced: dict[str, Node] = {}
        self.now: dict[str, Node] = {}
        self.changes: list[tuple[dict[str, Node | None], CachedFile | None]] = []

    def change(self, entries: dict[str, Node | None], sized: CachedFile | None = None) -> None:
        self.changes.append((entries, sized))
        for name, node in entries.items():
            if node is None:
                self.now.pop(name, None)
            else:
                self.now[name] = node

    def sync(self) -> None:
        self.synced = dict(self.now)
        for _, sized in self.changes:
            if sized is not None and sized.disk is None:
                sized.disk = bytes(len(sized.cached()))
        self.changes.clear()

    def image(self, made: dict[int, FileImage]) -> DirectoryImage:
        def of(node: Node) -> FileImage | DirectoryImage:
            if isinstance(node, CachedDirectory):
                return node.image(made)
            if id(node) not in made:
                made[id(node)] = node.image()
            return made[id(node)]

        return DirectoryImage(
            {name: of(node) for name, node in self.synced.items()},
            tuple(
                Change(
                    {name: None if node is None else of(node) for name, node in entries.items()},
                    None if sized is None else made.setdefault(id(sized), sized.image()),
                )
                for entries, sized in self.changes
            ),
        )


Node = CachedFile | CachedDirectory


def found_below(directory: Path) -> CachedDirectory:
    node = CachedDirectory()
    if directory.is_dir():
        for path in directory.iterdir():
            node.now[path.name] = found_below(path) if path.is_dir() else CachedFile(str(path), path.read_bytes())
    node.synced = dict(node.now)
    return node
