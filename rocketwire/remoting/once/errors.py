"""What is wrong with the use of exactly-once consumption; errors of the database itself are raised as they are."""

from __future__ import annotations

from rocketwire.remoting.errors import RemotingError


class OnceError(RemotingError):
    """Base of the errors of exactly-once consumption."""


class SettingInvalid(OnceError):
    """An argument cannot be used; the text has its name, and what is allowed."""


class NotTransactional(OnceError):
    """The database kept a record that was rolled back: result and record cannot be committed together."""

    def __init__(self, table: str) -> None:
        """Take the table's name."""
        super().__init__(
            f"table {table} kept a row that was rolled back: the connection commits each statement by itself "
            "(autocommit), or the table has no transactions; give connections without autocommit"
        )


class TransactionOpen(OnceError):
    """The thread is in a transaction of another message; one inside it would be committed with it."""

    def __init__(self) -> None:
        """Take nothing."""
        super().__init__("this thread is in the transaction of another message: end that one first")


class TransactionOwned(OnceError):
    """The application called what would end the transaction, or used it after its end."""

    def __init__(self, what: str) -> None:
        """Take what was called."""
        super().__init__(
            f"{what}: the transaction is not the application's: it is committed when the handler returns, "
            "rolled back when it raises, and over then"
        )


class TransactionEnded(OnceError):
    """The transaction ended before its time, so nothing is committed now."""

    def __init__(self) -> None:
        """Take nothing."""
        super().__init__(
            "the transaction ended under the application (COMMIT, ROLLBACK, a statement that commits, an error that "
            "it caught): the message's record and its result are no longer together"
        )
