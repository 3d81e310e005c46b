"""The state of an export: the folder `_rocketwire` in the export's folder.

`done.json` has for each broker the physical offsets that are exported, and the selection of messages. A commit is
written to `commit.json` first: the moves of files, and the new content of `done.json`. Opening the ledger finishes an
interrupted commit, so that files and `done.json` always agree. `lock` keeps two runs apart.

If the files belong to a table, a commit also adds them to it, between the moves and `done.json`. It has a number, by
which the table knows whether it has it already.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, Self

from rocketwire.spark.errors import ExportImpossible
from rocketwire.store.disk.replacing import replace_file, sync_folder

_NAME: Final = "_rocketwire"
_DONE: Final = "done.json"
_COMMIT: Final = "commit.json"
_RUN: Final = "run-"
_VERSION: Final = 1
Range = tuple[int, int]
"""The first physical offset, and the one behind the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """Files that come into a table together.

    Attributes:
        export: The id of the export.
        number: Of the commit in it, counted from 1.
        files: Their places below the export's folder; they exist, complete and flushed.
    """

    export: str
    number: int
    files: tuple[str, ...]


class ExportTable(Protocol):
    """A table, open."""

    def add(self, commit: TableCommit) -> None:
        """Add the files, unless the table has this commit already.

        Raises:
            ExportImpossible: the table does not take them.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSpan:
    """A span of a broker's log that is completely written.

    Attributes:
        broker: Whose log it is.
        span: What of it is done.
        files: What was written: names below `ExportLedger.run`, and below the export's folder.
        mark: Physical offset and store time (ms) of its last message; None without one.
    """

    broker: str
    span: Range
    files: tuple[tuple[str, str], ...] = ()
    mark: tuple[int, int] | None = None


class ExportLedger:
    """The ledger of one export, locked until `close`.

    Attributes:
        run: A folder for files that are not committed yet; it is new for each run, and is removed at the end, or by the
            next run if a commit was interrupted.
        marks: Of each broker the last message that is done: its physical offset and store time (ms).
    """

    def __init__(self, to: Path, selection: Mapping[str, Any], table: ExportTable | None = None) -> None:
        """Open or create the ledger, and finish the commit that an earlier run began.

        Args:
            to: The folder of the export; created if missing.
            selection: Which messages are exported and how: the same in each run, or files would not fit together.
            table: Gets the files of each commit.

        Raises:
            ExportImpossible: another run has it open, or the ledger is of another selection, or of a later version.
            OSError: a file or folder cannot be read, made, or written.
        """
        self._to = to
        self._table = table
        self._folder = to / _NAME
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._take_lock()
            self._finish()
            self._load(selection)
            for left in self._folder.glob(f"{_RUN}*"):
                shutil.rmtree(left)
            self.run = Path(tempfile.mkdtemp(prefix=_RUN, dir=self._folder))
            # Workers may run as another user.
            self.run.chmod(0o777)
        except BaseException:
            os.close(self._lock)
            raise

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExportImpossible(f"another export writes to {self._to}", "Wait for its end") from None

    def _load(self, selection: Mapping[str, Any]) -> None:
        wanted = json.loads(json.dumps(selection))
        found = self._read(_DONE)
        if found is None:
            self._done: dict[str, Any] = {
                "version": _VERSION,
                "selection": wanted,
                "id": uuid.uuid4().hex,
                "commits": 0,
                "brokers": {},
                "marks": {},
            }
            self._write(_DONE, self._done)
            return
        if found.get("version") != _VERSION:
            what = f"{self._folder / _DONE} is of another version of rocketwire"
            raise ExportImpossible(what, "Export to another folder")
        # Ledgers of earlier versions have no id.
        found.setdefault("id", uuid.uuid4().hex)
        names = {**wanted, **found["selection"]}
        other = [name for name in names if found["selection"].get(name) != wanted.get(name)]
        if other and not found["brokers"]:
            # Earlier runs wrote nothing, as when Spark did not start: no files yet that the selection must match.
            found["selection"] = wanted
            self._write(_DONE, found)
        elif other:
            name = other[0]
            what = f"{self._to} was exported with {name} {found['selection'].get(name)!r}, not {wanted.get(name)!r}"
            raise ExportImpossible(what, "Export with the same, or to another folder")
        self._done = found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove uncommitted files, and release the lock."""
        # A commit that Ctrl-C or an error interrupted needs its files: the next opening finishes it.
        if not (self._folder / _COMMIT).exists():
            shutil.rmtree(self.run, ignore_errors=True)
        os.close(self._lock)

    @property
    def marks(self) -> Mapping[str, tuple[int, int]]:
        """See the class."""
        return {broker: (offset, time) for broker, (offset, time) in self._done["marks"].items()}

    def done(self, broker: str) -> list[Range]:
        """Ranges of the broker's log that are exported, merged."""
        return [(start, end) for start, end in self._done["brokers"].get(broker, [])]

    def commit(self, finished: Sequence[ExportedSpan]) -> None:
        """Move files to their places and record spans as done, both or (after a kill, once opened again) none.

        Raises:
            OSError: a file or folder cannot be made, moved or written.
        """
        brokers, marks = {**self._done["brokers"]}, {**self._done["marks"]}
        moves: list[list[str]] = []
        for one in finished:
            brokers[one.broker] = merged([*map(tuple, brokers.get(one.broker, [])), one.span])
            if one.mark is not None:
                marks[one.broker] = max(one.mark, tuple(marks.get(one.broker, one.mark)))
            moves += [[f"{_NAME}/{self.run.name}/{name}", place] for name, place in one.files]
        commits = self._done.get("commits", 0) + 1
        self._done = {**self._done, "commits": commits, "brokers": brokers, "marks": marks}
        self._write(_COMMIT, {"moves": moves, "done": self._done})
        self._finish()

    def _finish(self) -> None:
        """Carry out `commit.json`, possibly for the second time."""
        commit = self._read(_COMMIT)
        if commit is None:
            return
        folders: set[Path] = set()
        for source, place in commit["moves"]:
            target = self._to / place
            if not target.parent.is_dir():
                target.parent.mkdir(parents=True)
                folders |= {target.parent.parent, self._to}
            folders.add(target.parent)
            # Not there: it was moved before the run was killed.
            with contextlib.suppress(FileNotFoundError):
                (self._to / source).replace(target)
        for folder in folders:
            sync_folder(folder)
        if self._table is not None and commit["moves"]:
            done = commit["done"]
            files = tuple(place for _, place in commit["moves"])
            self._table.add(TableCommit(export=done["id"], number=done["commits"], files=files))
        self._write(_DONE, commit["done"])
        (self._folder / _COMMIT).unlink()

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads((self._folder / name).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            what = f"{self._folder / name} cannot be read: {error}"
            raise ExportImpossible(what, "Export to another folder") from error
        return found

    def _write(self, name: str, value: Mapping[str, Any]) -> None:
        """Replace a file atomically, and flush it."""
        replace_file(self._folder / name, json.dumps(value).encode())


def merged(ranges: Iterable[Range]) -> list[Range]:
    """The same offsets in as few ranges as can be, in order."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def missing(start: int, end: int, done: Iterable[Range]) -> list[Range]:
    """The parts of `start` to `end` that are in none of the merged ranges."""
    found: list[Range] = []
    for first, last in done:
        if last <= start or first >= end:
            continue
        if first > start:
            found.append((start, first))
        start = last
    return [*found, (start, end)] if start < end else found
