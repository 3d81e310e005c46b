"""What exactly-once consumption needs of a database: transactions that run statements and are ended once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

Values = Mapping[str, str | int]
"""The values of a statement's parameters, by name."""
NO_VALUES: Values = {}


class Work(Protocol):
    """A transaction; a `commit` that returns ends it, or `abandon`, which must follow everything that raises."""

    @property
    def handle(self) -> Any:  # noqa: ANN401 - the application's own type
        """What the application works with: a connection or a session."""

    def run(self, statement: str, values: Values = NO_VALUES) -> Sequence[object]:
        """The rows of a statement; its parameters are written as `:name`. Raises what the database raises."""

    @property
    def ended(self) -> bool:
        """Whether the driver reports that the transaction is over; not all drivers know."""

    def commit(self) -> None:
        """Commit; what it raises may mean that this was done, or not."""

    def abandon(self, error: BaseException | None = None) -> bool:
        """Roll back, because of `error` or on purpose; whether the connection can still be used. Raises nothing."""


class Database(Protocol):
    """A source of transactions."""

    tested: bool
    """Whether what the calling thread's transactions run on was found to have the table, and transactions."""

    def begin(self) -> Work:
        """Begin a transaction.

        Raises:
            TransactionOpen: this thread has not ended its last one.
        """

    def close(self) -> None:
        """Close the connections that are this object's own."""


def first(row: object) -> Any:  # noqa: ANN401 - of any column type
    """The first value of a row; the application may have chosen rows that are mappings."""
    return next(iter(row.values() if isinstance(row, Mapping) else cast("Sequence[Any]", row)))


def breaks_uniqueness(error: BaseException) -> bool:
    """Whether an error of a driver, or of SQLAlchemy, may mean that a key exists already."""
    return any(each.__name__ == "IntegrityError" for each in type(error).__mro__)
