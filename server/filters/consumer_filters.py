"""The SQL filters of consumer groups: subscribed by heartbeats, compiled once, and saved in consumerFilter.json.

As in Apache, a group has one filter per topic, that of the newest subscription. When the group's last consumer leaves,
or no longer subscribes to the topic, the filter is dead; a new subscription revives it, otherwise it is removed after
24 hours. After a start all are dead, since no client is connected. An expression that does not compile is not accepted
and removes the older filter: pulls are refused then, so that no consumer gets messages it did not subscribe to. One
heartbeat may have only so much compiled; the rest is compiled by the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

import trio

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.filters.bloom import bloom_bits
from rocketwire.server.filters.sql import SQL92, SqlFilter, compile_sql, is_kept
from rocketwire.server.filters.tag import is_tag_type
from rocketwire.store.event import Event
from rocketwire.store.tables.consumer_filters import ConsumerFilter, ConsumerFilterTable
from rocketwire.wire.bodies.client import SubscriptionData

log = logging.getLogger(__name__)

_CLEAN_SECONDS: Final = 10.0
_KEPT_DEAD: Final = 24 * 3_600_000  # ms
_MOST_COMPILED: Final = 16_384  # characters
MOST_KEPT: Final = 4 * 1024 * 1024
"""The most characters of all filters, dead ones too; each counts `_EACH` more."""
_EACH: Final = 256
_OLDER: Final = "an older filter is passed over"
_WAITS: Final = "the filter waits for another heartbeat"
_EXPECTED: Final = frozenset({_OLDER, _WAITS})
_LAST_SEEN: Final = 30_000  # ms before a start, when consumers are assumed to have disconnected


class GroupFilter(NamedTuple):
    """A group's filter of a topic, and the version of the subscription it came with."""

    version: int
    compiled: SqlFilter


class Allowance:
    """How many characters of new expressions one heartbeat may have compiled; the first one always may."""

    def __init__(self) -> None:
        self._taken = 0

    def takes(self, expression: str) -> bool:
        """Whether an expression may still be compiled."""
        if is_kept(expression):
            return True
        before, self._taken = self._taken, self._taken + len(expression)
        return not before or self._taken <= _MOST_COMPILED


class ConsumerFilters:
    """The filters of one broker; the table is their file.

    Attributes:
        changed: Called after each change.
    """

    def __init__(self, table: ConsumerFilterTable, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self.changed = Event[[]]()
        self._compiled: dict[tuple[str, str], tuple[str, SqlFilter]] = {}
        self._groups = {each.consumer_group for each in table}
        self._kept = sum(map(_size, table))
        for each in table:
            if each.dead_time == 0:
                self._put(each, dead_time=max(each.born_time, clock() - _LAST_SEEN))

    def get(self, topic: str, group: str) -> GroupFilter | None:
        """A group's filter of a topic, dead or alive; None if there is no valid one."""
        kept = self._table.get(topic, group)
        if kept is None:
            return None
        expression, compiled = self._compiled.get((topic, group), ("", None))
        if compiled is None or expression != kept.expression:
            made = self._compile(kept)  # after a start
            compiled = made if isinstance(made, SqlFilter) else None
        return None if compiled is None else GroupFilter(kept.client_version, compiled)

    def register(
        self, group: str, subscriptions: Iterable[SubscriptionData], allowance: Allowance | None = None
    ) -> Iterator[None]:
        """Register the subscriptions of a consumer in steps, and mark the group's filters of other topics as dead.

        Expressions beyond the heartbeat's allowance are skipped. One line of the log says so, however many they are.

        Raises:
            LimitExceeded: the limit leaves no room for a new filter; those before it are registered.
        """
        allowance = allowance or Allowance()
        topics = set()
        skipped: dict[str, list[str]] = {}
        for each in subscriptions:
            topics.add(each.topic)
            if each.sub_string and not is_tag_type(each.expression_type):
                reason = self._register(group, each, allowance)
                if reason is not None:
                    skipped.setdefault(reason, []).append(each.topic)
                yield
        for reason, of in skipped.items():
            log.log(
                logging.WARNING if reason in _EXPECTED else logging.ERROR,
                "group %(group)s, topic %(topic)s: %(reason)s%(more)s",
                {
                    "group": group,
                    "topic": of[-1],
                    "reason": reason,
                    "more": f", and of {len(of) - 1} other topics" if len(of) > 1 else "",
                },
            )
        if group in self._groups:
            for kept in self._table.of_group(group):
                if kept.topic not in topics:
                    self._die(kept)

    def _register(self, group: str, subscription: SubscriptionData, allowance: Allowance) -> str | None:
        """Register one subscription with an expression; return why it is skipped, if it is."""
        old = self._table.get(subscription.topic, group)
        version = subscription.sub_version
        if old is not None and version <= old.client_version:
            if version == old.client_version and old.dead:
                self._put(old, dead_time=0)
            same = (old.expression, old.expression_type) == (subscription.sub_string, subscription.expression_type)
            return None if same else _OLDER
        new = ConsumerFilter(
            topic=subscription.topic,
            consumer_group=group,
            expression=subscription.sub_string or "",
            expression_type=subscription.expression_type,
            born_time=self._clock(),
            client_version=version,
            bloom_filter_data=bloom_bits(group, subscription.topic),
        )
        if old is not None and _compared(old) == _compared(new):
            self._put(replace(old, client_version=version), dead_time=0)
        elif not allowance.takes(new.expression):
            return _WAITS
        elif self._kept + _size(new) - (_size(old) if old else 0) > MOST_KEPT:
            raise LimitExceeded("filters", MOST_KEPT)
        else:
            compiled = self._compile(new)
            if isinstance(compiled, SqlFilter):
                self._groups.add(group)
                self._kept += _size(new) - (_size(old) if old else 0)
                self._table.put(new)
                self.changed()
            elif old is not None:
                self._remove(old)
            return compiled if isinstance(compiled, str) else None
        return None

    def unregister(self, group: str) -> None:
        """Mark all filters of a group as dead: it has no more consumers."""
        if group in self._groups:
            for kept in self._table.of_group(group):
                self._die(kept)

    def clean(self) -> None:
        """Remove the filters that have been dead for 24 hours."""
        limit = self._clock() - _KEPT_DEAD
        for kept in self._table:
            if 0 < kept.dead_time <= limit:
                log.info(
                    "group %(group)s, topic %(topic)s: the filter goes, dead for a day",
                    {"group": kept.consumer_group, "topic": kept.topic},
                )
                self._remove(kept)
        self._groups = {each.consumer_group for each in self._table}

    async def run(self) -> None:
        """Clean at intervals; never returns."""
        while True:
            await trio.sleep(_CLEAN_SECONDS)
            self.clean()

    def _die(self, kept: ConsumerFilter) -> None:
        if not kept.dead:
            self._put(kept, dead_time=max(kept.born_time, self._clock()))

    def _put(self, kept: ConsumerFilter, *, dead_time: int) -> None:
        self._table.put(replace(kept, dead_time=dead_time, dead=dead_time >= kept.born_time))
        self.changed()

    def _remove(self, kept: ConsumerFilter) -> None:
        self._table.remove(kept.topic, kept.consumer_group)
        self._kept -= _size(kept)
        self._compiled.pop((kept.topic, kept.consumer_group), None)
        self.changed()

    def _compile(self, kept: ConsumerFilter) -> SqlFilter | str | None:
        """The filter of an expression; if it is invalid, the text says so; None: its type is unknown."""
        if kept.expression_type != SQL92:
            return None
        try:
            compiled = compile_sql(kept.expression)
        except FilterExpressionInvalid as error:
            return f"filter not taken: {error}"
        self._compiled[kept.topic, kept.consumer_group] = kept.expression, compiled
        return compiled


def _size(kept: ConsumerFilter) -> int:
    return len(kept.topic) + len(kept.consumer_group) + len(kept.expression) + _EACH


def _compared(kept: ConsumerFilter) -> tuple[object, ...]:
    """The parts of a subscription that must be equal for the filter to stay."""
    return kept.expression, kept.expression_type, kept.bloom_filter_data
