"""Request-reply: a consumer's reply reaches the requesting producer, and is stored in the cluster's reply topic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocketwire.compat.clients.client import Client, events

REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"
QUESTIONS = 20
REPEAT = 400  # so long that the client compresses it


@pytest.fixture(params=["4.9.7", "5.5.0"])
def version(request: pytest.FixtureRequest) -> str:
    """The clients that can ask: they came with 4.6."""
    number: str = request.param
    return number


def test_requests_and_replies(client: Client, topic: str, group: str, unique: Callable[[str], str]) -> None:
    got = client.run(
        "RequestReply", topic=topic, group=group, questions=QUESTIONS, repeat=REPEAT, replyTopic=REPLY_TOPIC
    )
    asked = ["by topic", "by queue", "by selector", *(f"question {i}" for i in range(QUESTIONS))]
    replies = events(got, "reply")
    assert [event["text"] for event in replies[:3]] == [f"re: {text}" * REPEAT for text in asked[:3]]
    assert sorted(event["text"] for event in replies) == sorted(f"re: {text}" * REPEAT for text in asked)
    assert {event["topic"] for event in replies} == {REPLY_TOPIC}
    assert {event["type"] for event in replies} == {"reply"}
    assert events(got, "answered") == [{"event": "answered", "all": True}]
    assert events(got, "refused") == events(got, "crashed") == events(got, "unexpected") == []

    sent = events(got, "sent")
    assert sorted(event["text"] for event in sent) == sorted(asked)
    assert {event["status"] for event in sent} == {"SEND_OK"}
    assert {event["topic"] for event in sent} == {REPLY_TOPIC}

    (late,) = events(got, "timed out")
    assert late["code"] == 10006
    (lost,) = events(got, "to nobody")
    assert (lost["error"], lost["code"]) == ("MQBrokerException", 1)
    assert lost["message"].startswith("push reply message fail, channel of <nobody> not found.")

    # Replies are stored where their answers say, the one that no client got behind them.
    first = min(event["queueOffset"] for event in sent)
    pulled = client.only(
        "received", "PullAt", topic=REPLY_TOPIC, group=unique("reader"), queue=0, offset=[first], atOnce=32
    )
    assert {event["msgId"] for event in pulled} >= {event["msgId"] for event in sent}
    places = {event["msgId"]: event["queueOffset"] for event in pulled}
    assert all(places[event["msgId"]] == event["queueOffset"] for event in sent)
    assert pulled[-1]["text"] == "lost"
