"""The table of messages that were consumed: a record for each, committed together with what the message did.

The primary key is a digest of group and key: databases differ in how they compare text (case, trailing spaces) and in
how long a key may be. Group and key are stored besides, for people who read the table. Only `LIMIT` is beyond standard
SQL; SQLite, PostgreSQL, MySQL and MariaDB have it.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import re
import uuid
from dataclasses import dataclass
from typing import Final

from rocketwire.remoting.clock import Clock
from rocketwire.remoting.once.database import Database, first
from rocketwire.remoting.once.errors import NotTransactional, SettingInvalid

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,49}")
_SHOWN: Final = 255


@dataclass(frozen=True, slots=True)
class ConsumedRecord:
    """That a group has consumed the message with a key, at a time in milliseconds since the epoch."""

    group: str
    key: str
    done_at: int

    def values(self) -> dict[str, str | int]:
        """The columns."""
        return {
            **self.place(),
            "shown_group": _shown(self.group),
            "shown_key": _shown(self.key),
            "done_at": self.done_at,
        }

    def place(self) -> dict[str, str | int]:
        """The primary key."""
        name = f"{len(self.group)}:{self.group}{self.key}".encode("utf-8", "surrogatepass")
        return {"record_key": hashlib.sha256(name).hexdigest()}


class ConsumedRecords:
    """The table, called `table`, of a database.

    Raises:
        SettingInvalid: the name is not of letters, digits and underscores, or longer than 50 characters.
    """

    def __init__(self, database: Database, table: str) -> None:
        if _NAME.fullmatch(table) is None:
            raise SettingInvalid(f"table {table}: expected letters, digits and underscores, at most 50")
        self._database = database
        self._table = table
        self.add: Final = (
            f"INSERT INTO {table} (record_key, consumer_group, message_key, done_at) "
            "VALUES (:record_key, :shown_group, :shown_key, :done_at)"
        )
        self.find: Final = f"SELECT record_key FROM {table} WHERE record_key = :record_key"
        self._remove: Final = f"DELETE FROM {table} WHERE record_key = :record_key"
        old = "consumer_group = :shown_group AND done_at < :before"
        self._last_of_step: Final = f"SELECT done_at FROM {table} WHERE {old} ORDER BY done_at LIMIT 1 OFFSET :step"
        self._remove_old: Final = f"DELETE FROM {table} WHERE {old}"

    def prepare(self, group: str, now: int) -> None:
        """Make the table if there is none, and make sure that a rollback removes a row.

        Raises:
            NotTransactional: it does not.
        """
        if not self._exists():
            self._make()
        probe = ConsumedRecord(group, f"probe {uuid.uuid4()}", now)
        work = self._database.begin()
        try:
            work.run(self.add, probe.values())
        finally:
            work.abandon()
        if self.has(probe):
            work = self._database.begin()
            try:
                work.run(self._remove, probe.place())
                work.commit()
            except BaseException as error:
                work.abandon(error)
                raise
            self._database.close()  # a connection that cannot roll back may hold locks
            raise NotTransactional(self._table)

    def has(self, record: ConsumedRecord) -> bool:
        """Whether a committed record has the same group and key."""
        work = self._database.begin()
        try:
            return bool(work.run(self.find, record.place()))
        finally:
            work.abandon()

    def remove_before(self, group: str, before: int, step: int) -> None:
        """Remove up to `step` of a group's oldest records from before a time, and those of the last one's millisecond.

        In a separate transaction.
        """
        values: dict[str, str | int] = {"shown_group": _shown(group), "before": before}
        work = self._database.begin()
        try:
            following = work.run(self._last_of_step, {**values, "step": step - 1})
            if following:
                values["before"] = int(first(following[0])) + 1
            work.run(self._remove_old, values)
            work.commit()
        except BaseException as error:
            work.abandon(error)
            raise

    def _exists(self) -> bool:
        """Whether the table can be read."""
        try:
            self.has(ConsumedRecord("", "", 0))
        except Exception:  # noqa: BLE001 - each driver has its own; what else is wrong shows when the table is made
            return False
        return True

    def _make(self) -> None:
        """Make the table; another consumer may be faster."""
        work = self._database.begin()
        try:
            work.run(
                f"CREATE TABLE {self._table} (record_key CHAR(64) NOT NULL PRIMARY KEY, "
                f"consumer_group VARCHAR({_SHOWN}) NOT NULL, message_key VARCHAR({_SHOWN}) NOT NULL, "
                "done_at BIGINT NOT NULL)"
            )
            work.run(f"CREATE INDEX {self._table}_age ON {self._table} (consumer_group, done_at)")
            work.commit()
        except BaseException as error:
            work.abandon(error)
            if not isinstance(error, Exception) or not self._exists():
                raise


def _shown(text: str) -> str:
    """A name in a form that every character set and column takes."""
    plain = text if text.isascii() and text.isprintable() else ascii(text)[1:-1]
    return plain[:_SHOWN]


EVERY: Final = 100
STEP: Final = 1000
_log: Final = logging.getLogger(__name__)


class Cleaner:
    """Removes a group's records that are older than `keep_ms`."""

    def __init__(self, records: ConsumedRecords, group: str, keep_ms: int, clock: Clock) -> None:
        self._records = records
        self._group = group
        self._keep_ms = keep_ms
        self._clock = clock
        self._turns = itertools.cycle(range(EVERY))

    def after_message(self) -> None:
        """Take a step if it is time, at a program's first message too; a failed one is logged, and made up for."""
        if next(self._turns) == 0:
            try:
                self._records.remove_before(self._group, self._clock() - self._keep_ms, STEP)
            except Exception as error:  # noqa: BLE001 - each driver has its own; the message is committed already
                _log.warning("old records of group %s were not removed: %s", self._group, error)
