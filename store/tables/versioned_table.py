"""Base of topics.json and subscriptionGroup.json: configurations by name, and a data version.

The data version counts the changes of a table; clients and name servers compare it to find out whether their copy is
old. Each change is written to the file at once, at a cost that does not depend on the number of entries
(`growing_file`); at a clean stop the file is written in the form of Apache's broker.

What 5.x adds is not lost: fields that no body here has are kept as they were read, and those that are None in a new
configuration keep the value of the one it replaces.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from rocketwire.store.disk.files import FileSystem, store_error_for
from rocketwire.store.errors import ConfigInvalid, StoreGone, StoreNotWritable
from rocketwire.store.event import Event
from rocketwire.store.tables import config
from rocketwire.store.tables.growing_file import GrowingFile, PendingBackup
from rocketwire.store.tables.unknown_fields import UnknownFields, read_body
from rocketwire.wire.bodies._shapes import to_builtins
from rocketwire.wire.bodies.fastjson import dumps, dumps_pretty, pretty_entry
from rocketwire.wire.bodies.topic import DataVersion

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

log = logging.getLogger(__name__)

C = TypeVar("C", bound="DataclassInstance")
W = TypeVar("W", bound="DataclassInstance")

_VERSION: Final = "dataVersion"
_FEW: Final = 1000
"""So many replaced entries may stay in the file, plus the number of current ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Generic[W]):
    """A loaded file of a table; `grew`: it was not written by a clean stop."""

    saved: W
    unknown: UnknownFields
    file: GrowingFile
    grew: bool


def load_table(path: str, table: str, files: FileSystem, body: type[W]) -> Loaded[W]:
    """Load a file; if it grew, the newer of it and its .bak, which a crash of the machine may have left newer.

    Raises:
        ConfigInvalid: the file and its .bak are unreadable.
    """
    file = GrowingFile(path, table, files)

    def decode(data: bytes) -> tuple[W, UnknownFields, list[str], bytes]:
        return *read_body(data, body), data

    found = config.load_from(path, files, decode)
    if found is None:
        return Loaded(saved=body(), unknown=UnknownFields({}, {}), file=file, grew=False)
    (saved, unknown, names, text), source = found
    grew = source == path and file.adopt_text(text, names)
    if grew:
        try:
            newer = config.load(path + ".bak", files, decode)
        except ConfigInvalid:
            newer = None
        if newer is not None and _counter(newer[0]) > _counter(saved):
            log.warning("%(file)s is older than %(file)s.bak, which is taken instead", {"file": path})
            file.require_whole_write()
            saved, unknown, *_ = newer
    return Loaded(saved=saved, unknown=unknown, file=file, grew=grew)


def _counter(saved: Any) -> int:  # noqa: ANN401 - a body with a data version
    version: DataVersion = saved.data_version
    return version.counter


class VersionedTable(ABC, Generic[C, W]):
    """Configurations C by name, saved as a body W. Every change raises the data version; `persist` writes changes.

    Attributes:
        get: Gives the configuration of a name; the dict's own method, since every request looks up a topic or more.
        changed: Called after each change except the addition of an entry.
        counted: Called with each name that is added (1) or removed (-1).
        replacements: The number of changes that were not additions.
    """

    def __init__(
        self,
        path: str,
        files: FileSystem,
        clock: Callable[[], int],
        loaded: Loaded[W],
        configs: Mapping[str, C],
        version: DataVersion,
    ) -> None:
        self._path = path
        self._files = files
        self._clock = clock
        self._configs = dict(configs)
        self.get: Callable[[str], C | None] = self._configs.get
        self._version = version if version.timestamp else replace(version, timestamp=clock())
        self._unknown = loaded.unknown
        self._file = loaded.file
        #: Entries in the file, including replaced ones.
        self._entries = len(self._configs)
        self._dirty = False
        self._unwritten: dict[str, None] = {}
        self._removed: set[str] = set()
        #: Whether the file has to be written in the form of Apache's broker.
        self._grew = loaded.grew
        self._saved = self._version
        self._saving = threading.Lock()
        self._has_file = files.size(path) is not None
        self._lost_folder = False
        self.changed = Event[[]]()
        self.counted = Event[[str, int]]()
        self.replacements = 0

    @staticmethod
    @abstractmethod
    def name_of(value: C) -> str:
        """The name of a configuration, its key in the table."""

    @staticmethod
    @abstractmethod
    def table_name() -> str:
        """The name of the file's map of configurations."""

    @abstractmethod
    def wrapper(self) -> W:
        """The whole table as a body."""

    @property
    def data_version(self) -> DataVersion:
        """How often the table changed, and when last (ms)."""
        return self._version

    @property
    def configs(self) -> Mapping[str, C]:
        """All configurations, read-only."""
        return MappingProxyType(self._configs)

    def names(self) -> list[str]:
        """All names, in the order of creation."""
        return list(self._configs)

    def __contains__(self, name: str) -> bool:
        return name in self._configs

    def __len__(self) -> int:
        return len(self._configs)

    def __iter__(self) -> Iterator[C]:
        return iter(list(self._configs.values()))

    def put(self, value: C) -> None:
        """Add or replace a configuration. It counts as a change even if it is the same, as with Apache."""
        name = self.name_of(value)
        former = self._configs.get(name)
        self._configs[name] = value if former is None else _with_what_it_lacks(value, former)
        self._unwritten[name] = None
        self._removed.discard(name)
        if former is not None:
            self.raise_version()
        else:
            self._count_change()
            self.counted(name, 1)

    def put_built_in(self, value: C) -> None:
        """Add a configuration that every broker has, unless there is one of its name.

        That does not count as a change: it is written with the next one.
        """
        name = self.name_of(value)
        if name not in self._configs:
            self._configs[name] = value
            self._unwritten[name] = None
            self.counted(name, 1)

    def remove(self, name: str) -> bool:
        """Remove a configuration; false when there was none."""
        if self._configs.pop(name, None) is None:
            return False
        self._unknown.forget(self.table_name(), name)
        self._unwritten.pop(name, None)
        self._removed.add(name)
        self.counted(name, -1)
        self.raise_version()
        return True

    def raise_version(self) -> None:
        """Count a change of an entry, or of what affects all of them (the broker's permission limits topics)."""
        self._count_change()
        self.replacements += 1
        self.changed()

    def _count_change(self) -> None:
        self._dirty = True
        self._version = replace(self._version, counter=self._version.counter + 1, timestamp=self._clock())

    @property
    def path(self) -> str:
        """The table's file."""
        return self._path

    @property
    def has_file(self) -> bool:
        """Whether the file should be there: it was loaded or written."""
        return self._has_file

    @property
    def lost_change(self) -> bool:
        """Whether the folder was missing when the last change was written."""
        return self._lost_folder

    def rewrite(self) -> None:
        """Write the file again because it was removed. Blocking.

        Raises:
            StoreError: it could not be written; the next `persist` does.
        """
        self._dirty = True
        self.persist()

    def persist(self) -> None:
        """Write what changed to the file, so that a killed process loses nothing of it.

        It is flushed only if the file was new or in another form; else a crash of the machine may lose what was not
        saved (`save`).

        Raises:
            StoreGone: its folder is not there.
            StoreNotWritable: it could not be written; the change is written by the next call.
        """
        if not self._dirty:
            return
        self._grew = True
        try:
            if not self._add():
                self._write_whole()
        except (OSError, StoreGone) as error:
            failure = store_error_for(error, self._path, self._files) if isinstance(error, OSError) else error
            self._lost_folder = isinstance(failure, StoreGone)
            raise failure from error
        self._dirty = self._lost_folder = False
        self._has_file = True
        self._unwritten.clear()
        self._removed.clear()

    def _add(self) -> bool:
        """Append what changed; false if the file has to be written completely."""
        if not self._file.can_grow:
            return False
        entries = [self._entry(name, self._configs[name]) for name in self._unwritten]
        version = self._version_text()
        try:
            if entries or not (self._removed and self._file.has_backup):
                self._file.add(entries, version)
        except OSError as error:
            self._log_failure(error)
            return False
        self._entries += len(entries)
        if not self._removed and self._entries <= 2 * len(self._configs) + _FEW:
            return True
        try:
            cleared = self._file.rewrite_without({dumps(name) for name in self._removed}, len(self._configs), version)
        except FileNotFoundError as error:  # the file was changed by another process
            self._log_failure(error)
            return False
        except OSError as error:
            self._log_failure(error)
            # What was added is in the file. Only replaced entries are in it besides: the next change clears them.
            return not self._removed
        self._entries = len(self._configs)
        return cleared

    def _log_failure(self, error: OSError) -> None:
        log.info("%(file)s is written as a whole: %(reason)s", {"file": self._path, "reason": error})

    def _write_whole(self) -> None:
        document = self._document()
        entries: dict[str, Any] = document.pop(self.table_name(), {})
        del document[_VERSION]
        others = [pretty_entry(name, value, 1) for name, value in document.items() if value is not None]
        self._file.write(others, (pretty_entry(*entry, 2) for entry in entries.items()), self._version_text())
        self._entries = len(entries)

    def _document(self) -> dict[str, Any]:
        return self._unknown.restore(to_builtins(self.wrapper()))

    def _entry(self, name: str, value: C) -> bytes:
        table = self.table_name()
        return pretty_entry(name, self._unknown.restore({table: {name: to_builtins(value)}})[table][name], 2)

    def _version_text(self) -> bytes:
        return pretty_entry(_VERSION, self._unknown.restore({_VERSION: to_builtins(self._version)})[_VERSION], 1)

    def saving(self) -> tuple[PendingBackup, DataVersion] | None:
        """What `save` has to flush; None when that is done. Call it where changes are made."""
        saving = None if self._dirty or self._saved == self._version else self._file.backup_to_save()
        return None if saving is None else (saving, self._version)

    def save(self, saving: tuple[PendingBackup, DataVersion]) -> None:
        """Write the table as it was into .bak and flush it. Blocking; safe in a thread.

        Raises:
            StoreGone: its folder is not there.
            StoreNotWritable: it could not be written; the next call does.
        """
        text, version = saving
        try:
            with self._saving:
                if version.counter >= self._saved.counter and self._file.save_backup(text):
                    self._saved = version
        except OSError as error:
            raise store_error_for(error, self._path, self._files) from error

    def finish(self) -> None:
        """Write the file in the form of Apache's broker and flush it, if it changed. Blocking.

        Raises:
            StoreNotWritable: it could not be written.
        """
        if not self._grew and not self._dirty:
            return
        config.save(self._path, self._files, dumps_pretty(self._document()))
        self._dirty = self._grew = False
        self._unwritten.clear()
        self._removed.clear()
        try:
            self._file.close()
        except OSError as error:
            raise StoreNotWritable(self._path, error.strerror or str(error)) from error


def _with_what_it_lacks(value: C, former: C) -> C:
    lacking: dict[str, Any] = {
        field.name: getattr(former, field.name) for field in fields(value) if getattr(value, field.name) is None
    }
    return replace(value, **lacking) if lacking else value
