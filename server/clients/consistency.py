"""Do the members of a consumer group want the same?

Theory: a broker keeps one subscription of a group and topic, the newest, while each member filters by its own. So
members that want different things lose messages: queues are shared out among members that want the topic and those that
do not, and a member passes over what only another one wanted. What counts is what a subscription means: of tags their
set, of SQL its text. The same tags in another order, or another spelling of "everything", mean the same; they are
reported too, since two versions of a program are often behind them.

The server asks this of heartbeats, `rocketwire group check` of what the clients themselves say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from rocketwire.wire import names
from rocketwire.wire.bodies.client import SubscriptionData

EVERYTHING: Final = "*"
TAG: Final = "TAG"
_NAMED: Final = 5  # members of each side that a line names

Subscriptions: TypeAlias = Mapping[str, SubscriptionData]
"""What one member wants, by topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Members that said the same of a topic: the subscription as they wrote it, None when they have none."""

    subscription: SubscriptionData | None
    client_ids: tuple[str, ...]

    @property
    def said(self) -> str:
        """The subscription for people."""
        return "nothing" if self.subscription is None else shown(self.subscription)

    def __str__(self) -> str:
        named, more = self.client_ids[:_NAMED], len(self.client_ids) - _NAMED
        return f"{self.said} at " + ", ".join(named) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A topic of which members say different things.

    `matters` is False when all mean the same.
    """

    topic: str
    sides: tuple[Side, ...]
    matters: bool

    def __str__(self) -> str:
        return f"{self.topic}: " + "; ".join(map(str, self.sides)) + ("" if self.matters else " (means the same)")


def differences(group: str, members: Sequence[tuple[str, Subscriptions]]) -> tuple[Difference, ...]:
    """Where the members, by client id, do not say the same; topics and sides in a fixed order.

    The group's retry topic is left out: the client library subscribes it, not the application.
    """
    return tuple(each for each in each_difference(group, members) if each is not None)


def each_difference(group: str, members: Sequence[tuple[str, Subscriptions]]) -> Iterator[Difference | None]:
    """The same in steps, for many members or topics: None where a step found nothing."""
    topics: set[str] = set()
    for _, wanted in members:
        topics.update(wanted)
        yield None
    for topic in sorted(topics - {names.retry_topic(group)}):
        yield _difference(topic, members)


def shown(subscription: SubscriptionData) -> str:
    """A subscription as its application wrote it, with its type unless that is the usual one."""
    text = repr(subscription.sub_string or EVERYTHING)
    return text if subscription.expression_type == TAG else f"{text} ({subscription.expression_type})"


def _difference(topic: str, members: Iterable[tuple[str, Subscriptions]]) -> Difference | None:
    by_text: dict[str | None, list[str]] = {}
    examples: dict[str | None, SubscriptionData | None] = {}
    for client_id, wanted in members:
        subscription = wanted.get(topic)
        text = None if subscription is None else shown(subscription)
        by_text.setdefault(text, []).append(client_id)
        examples[text] = subscription
    if len(by_text) == 1:
        return None
    sides = tuple(
        Side(subscription=examples[text], client_ids=tuple(sorted(by_text[text])))
        for text in sorted(by_text, key=lambda text: (text is None, text or ""))
    )
    return Difference(topic=topic, sides=sides, matters=len({_meaning(side.subscription) for side in sides}) > 1)


def _meaning(subscription: SubscriptionData | None) -> tuple[str, frozenset[str]] | None:
    if subscription is None:
        return None
    text = (subscription.sub_string or EVERYTHING).strip()
    if subscription.expression_type != TAG:
        return subscription.expression_type, frozenset({text})
    tags = frozenset(tag.strip() for tag in text.split("||")) - {""}
    return TAG, frozenset({EVERYTHING}) if tags <= {EVERYTHING} else tags
