"""Which settings and subscriptions of a client are kept, and how much memory they use."""

from __future__ import annotations

from rocketwire.server.grpc.tables.declarations import MOST_BYTES, MOST_TAGS, MOST_TOPICS, NO_DECLARATION
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc.filters import TAG, Filter
from tests.server.grpc.sdk import consumer_settings, producer_settings

TAGS = Filter(TAG, "||".join(f"{number:04}" + "x" * 20 for number in range(4000)))


def test_the_newest_subscriptions_are_kept() -> None:
    declaration = NO_DECLARATION
    for number in range(20):
        declaration = declaration.with_subscription("G", f"T{number}", TAGS, number)
    size = sum(len(topic) + len(to.text) for topic, (to, _) in declaration.filters.items())
    assert size <= MOST_BYTES
    assert sum(to.text.count("||") + 1 for to, _ in declaration.filters.values()) <= MOST_TAGS
    assert list(declaration.filters) == ["T18", "T19"]
    heartbeat = declaration.heartbeat("c")
    assert heartbeat is not None
    assert len(encode_body(heartbeat)) < 4 * MOST_BYTES
    assert list(declaration.with_subscription("G", "T18", Filter(TAG, "a"), 100).filters) == ["T19", "T18"]


def test_as_many_topics_are_kept_as_settings_may_have() -> None:
    declaration = NO_DECLARATION
    for number in range(MOST_TOPICS + 2):
        declaration = declaration.with_subscription("G", f"T{number}", Filter(TAG, "*"), number)
    assert list(declaration.filters) == [f"T{number}" for number in range(2, MOST_TOPICS + 2)]


def test_the_size_of_subscriptions_follows_each_change() -> None:
    declaration = NO_DECLARATION
    for number in range(200):
        wanted = Filter(TAG, "||".join(["x" * (number % 13)] * (number % 7 * 300 + 1)))
        declaration = declaration.with_subscription("G", f"T{number % 17}", wanted, number)
        kept = declaration.filters.items()
        assert declaration.size == sum(len(topic) + len(to.text) for topic, (to, _) in kept)
        assert declaration.tags == sum(to.text.count("||") + 1 for _, (to, _) in kept)
    settings = NO_DECLARATION.with_settings(consumer_settings("G", "a||b"), 1)
    assert (settings.size, settings.tags) == (len("Ta||b"), 2)


def test_one_subscription_is_kept_however_long_it_is() -> None:
    longest = Filter(TAG, "x" * (MOST_BYTES + 1))
    declaration = NO_DECLARATION.with_subscription("G", "T", TAGS, 1).with_subscription("G", "Other", longest, 2)
    assert list(declaration.filters) == ["Other"]


def test_unused_settings_are_not_kept() -> None:
    settings = producer_settings("A", "B", "A")
    settings.user_agent.hostname = "h" * 100_000
    settings.request_timeout.FromMilliseconds(1500)
    declaration = NO_DECLARATION.with_settings(settings, 1)
    assert declaration == NO_DECLARATION._replace(producers=("A", "B"), request_ms=1500)
    assert declaration.cost < 10_000


def test_the_cost_of_a_declaration_grows_with_its_size() -> None:
    declaration = NO_DECLARATION.with_settings(consumer_settings("G", TAGS.text), 1)
    assert declaration.cost > 10 * len(TAGS.text)
    assert not declaration.active or consumer_settings().client_type == d.SIMPLE_CONSUMER
    assert NO_DECLARATION.cost == 0
