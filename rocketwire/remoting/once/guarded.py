"""A connection that lets the application do everything but end the transaction.

It cannot stand in a `with`: many drivers commit, or close the connection, at the end of that.
"""

from __future__ import annotations

from typing import Any, Final

from rocketwire.remoting.once.errors import TransactionOwned

_ENDING: Final = frozenset({"commit", "rollback", "close", "executescript"})
_SETTINGS: Final = frozenset({"autocommit", "isolation_level"})


class GuardedConnection:
    """A DB-API connection during one transaction; all but what would end it is passed on."""

    __slots__ = ("_connection", "_over")

    def __init__(self, connection: object) -> None:
        object.__setattr__(self, "_connection", connection)
        object.__setattr__(self, "_over", False)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the driver's connection has
        """The connection's own attribute.

        Raises:
            TransactionOwned: it would end the transaction, or that is over.
        """
        if self._over or name in _ENDING:
            raise TransactionOwned(name)
        return getattr(self._connection, name)

    def __setattr__(self, name: str, value: object) -> None:
        """Set the connection's own attribute; the errors are those of reading."""
        if self._over or name in _SETTINGS:
            raise TransactionOwned(f"setting {name}")
        setattr(self._connection, name, value)


def end(guarded: GuardedConnection) -> None:
    """Refuse every use of a connection from now on."""
    object.__setattr__(guarded, "_over", True)
