"""Consistency of the subscriptions in a consumer group.

A broker keeps one subscription of a group and topic, the newest, while each member filters by its own. So members with
different subscriptions lose messages: queues are divided among members that subscribe to the topic and others, and a
member skips what only another one wants. Subscriptions are compared by meaning: tags as a set, SQL as text. The same
tags in another order, or another spelling of "everything", mean the same; they are reported too, since different
versions of a program are often the cause.

The server checks heartbeats, `rocketwire group check` what the clients themselves report.
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
"""One member's subscriptions, by topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionVariant:
    """Members with the same subscription to a topic, as they wrote it; None if they have none."""

    subscription: SubscriptionData | None
    client_ids: tuple[str, ...]

    @property
    def text(self) -> str:
        """The subscription for people."""
        return "nothing" if self.subscription is None else subscription_text(self.subscription)

    def __str__(self) -> str:
        named, more = self.client_ids[:_NAMED], len(self.client_ids) - _NAMED
        return f"{self.text} at " + ", ".join(named) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionDifference:
    """A topic with different subscriptions.

    `matters` is False if all mean the same.
    """

    topic: str
    variants: tuple[SubscriptionVariant, ...]
    matters: bool

    def __str__(self) -> str:
        return f"{self.topic}: " + "; ".join(map(str, self.variants)) + ("" if self.matters else " (means the same)")


def differences(group: str, members: Sequence[tuple[str, Subscriptions]]) -> tuple[SubscriptionDifference, ...]:
    """The topics on which members, by client id, disagree; topics and sides in a fixed order.

    The group's retry topic is ignored: the client library subscribes it, not the application.
    """
    return tuple(each for each in each_difference(group, members) if each is not None)


def each_difference(
    group: str, members: Sequence[tuple[str, Subscriptions]]
) -> Iterator[SubscriptionDifference | None]:
    """The same in steps, for many members or topics: None after a step without a difference."""
    topics: set[str] = set()
    for _, wanted in members:
        topics.update(wanted)
        yield None
    for topic in sorted(topics - {names.retry_topic(group)}):
        yield _difference(topic, members)


def subscription_text(subscription: SubscriptionData) -> str:
    """A subscription as its application wrote it, with its type unless that is the usual one."""
    text = repr(subscription.sub_string or EVERYTHING)
    return text if subscription.expression_type == TAG else f"{text} ({subscription.expression_type})"


def _difference(topic: str, members: Iterable[tuple[str, Subscriptions]]) -> SubscriptionDifference | None:
    by_text: dict[str | None, list[str]] = {}
    examples: dict[str | None, SubscriptionData | None] = {}
    for client_id, wanted in members:
        subscription = wanted.get(topic)
        text = None if subscription is None else subscription_text(subscription)
        by_text.setdefault(text, []).append(client_id)
        examples[text] = subscription
    if len(by_text) == 1:
        return None
    sides = tuple(
        SubscriptionVariant(subscription=examples[text], client_ids=tuple(sorted(by_text[text])))
        for text in sorted(by_text, key=lambda text: (text is None, text or ""))
    )
    return SubscriptionDifference(
        topic=topic, variants=sides, matters=len({_meaning(side.subscription) for side in sides}) > 1
    )


def _meaning(subscription: SubscriptionData | None) -> tuple[str, frozenset[str]] | None:
    if subscription is None:
        return None
    text = (subscription.sub_string or EVERYTHING).strip()
    if subscription.expression_type != TAG:
        return subscription.expression_type, frozenset({text})
    tags = frozenset(tag.strip() for tag in text.split("||")) - {""}
    return TAG, frozenset({EVERYTHING}) if tags <= {EVERYTHING} else tags
