"""Which messages of a topic are wanted: by tags, an SQL expression or a key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rocketwire.wire.facts.codes import PullSysFlag
from rocketwire.wire.headers.pull import PullMessageRequestHeader

if TYPE_CHECKING:
    from rocketwire.store.offline.read.selected import SelectedMessage

EVERYTHING: Final = "*"
_OR: Final = "||"


@dataclass(frozen=True, kw_only=True)
class MessageSelection:
    """A filter: the broker applies the tags and the expression, the command the key.

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

    @cached_property
    def _tags(self) -> frozenset[str]:
        """Empty for all."""
        wanted = frozenset(each.strip() for each in self.tags.split(_OR)) - {""}
        return frozenset() if EVERYTHING in wanted else wanted

    def takes(self, one: SelectedMessage) -> bool:
        """Whether a message that a broker gave is wanted: brokers compare the hash codes of tags only."""
        if self.sql is None and self._tags and one.tags not in self._tags:
            return False
        return self.key is None or self.key in one.keys or self.key == one.message_id

    def header(
        self, topic: str, queue_id: int, offset: int, *, group: str, most: int, suspend_ms: int = 0
    ) -> PullMessageRequestHeader:
        """The pull of up to `most` messages from an offset on; the broker waits up to `suspend_ms` for a message."""
        return PullMessageRequestHeader(
            consumer_group=group,
            topic=topic,
            queue_id=queue_id,
            queue_offset=offset,
            max_msg_nums=most,
            sys_flag=PullSysFlag.SUBSCRIPTION | (PullSysFlag.SUSPEND if suspend_ms else 0),
            commit_offset=0,
            suspend_timeout_millis=suspend_ms,
            sub_version=0,
            subscription=self.tags if self.sql is None else self.sql,
            expression_type="TAG" if self.sql is None else "SQL92",
        )
