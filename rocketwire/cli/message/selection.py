"""Which messages of a topic are wanted: by tags, an SQL expression or a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rocketwire.store.offline.read.selected import SelectedMessage

EVERYTHING: Final = "*"


@dataclass(frozen=True, kw_only=True)
class MessageSelection:
    """A filter: the client applies the tags, the broker those and the expression, the command the key.

    Attributes:
        tags: Tags with `||` between, or `*` for all.
        sql: An expression of SQL92; None for none. The broker needs enablePropertyFilter.
        key: One of the message's keys, or its id; None for any.
    """

    tags: str = EVERYTHING
    sql: str | None = None
    key: str | None = None

    @property
    def is_everything(self) -> bool:
        """Whether it takes all messages."""
        return self == MessageSelection()

    def has_key(self, one: SelectedMessage) -> bool:
        """Whether a message has the wanted key, if there is one."""
        return self.key is None or self.key in one.keys or self.key == one.message_id
