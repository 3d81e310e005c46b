"""Exactly-once consumption: the application's result and the message's key are committed in one transaction.

once = ExactlyOnce(lambda: sqlite3.connect("shop.db"), group="orders")
once.handler(lambda message, db: db.execute("INSERT ..."))   # for a push consumer
with once.transaction(message) as db:                          # or by hand
    if db is not None:
        db.execute("INSERT ...")

Begin with `once`; `records` is the table of consumed messages, `database` the interface of a database.
May import: `wire`.
"""

from rocketwire.remoting.once.errors import (
    NotTransactional,
    OnceError,
    SettingInvalid,
    TransactionEnded,
    TransactionOpen,
    TransactionOwned,
)
from rocketwire.remoting.once.keys import DeliveredMessage, unique_key
from rocketwire.remoting.once.once import ExactlyOnce

__all__ = [
    "DeliveredMessage",
    "ExactlyOnce",
    "NotTransactional",
    "OnceError",
    "SettingInvalid",
    "TransactionEnded",
    "TransactionOpen",
    "TransactionOwned",
    "unique_key",
]
