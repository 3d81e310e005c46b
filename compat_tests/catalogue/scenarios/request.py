"""Request and reply: a consumer's reply reaches the requesting producer, and is stored in the cluster's reply topic."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.scenario import Need, scenario

QUESTIONS: Final = 20
REPEAT: Final = 400  # so long that the client compresses it


@scenario(
    id="request.replies",
    proves="Each request gets its reply, late and lost ones their errors; replies are stored as answered.",
    source="Apache 4.9, ReplyMessageProcessor and RequestFutureHolder; rocketmq.apache.org, Request-Reply",
    needs=(Need.ONE_BROKER,),
    programs=("RequestReply", "PullAt"),
    limit=120,
)
def replies(case: Case) -> None:
    topic, group, reply_topic = case.topic(), case.group(), f"{case.endpoint.cluster}_REPLY_TOPIC"
    got = case.client.run(
        "RequestReply", topic=topic, group=group, questions=QUESTIONS, repeat=REPEAT, replyTopic=reply_topic
    )
    requests = ["by topic", "by queue", "by selector", *(f"question {i}" for i in range(QUESTIONS))]
    answers = events(got, "reply")
    assert [event["text"] for event in answers[:3]] == [f"re: {text}" * REPEAT for text in requests[:3]]
    assert sorted(event["text"] for event in answers) == sorted(f"re: {text}" * REPEAT for text in requests)
    assert {event["topic"] for event in answers} == {reply_topic}
    assert {event["type"] for event in answers} == {"reply"}
    assert events(got, "answered") == [{"event": "answered", "all": True}]
    assert events(got, "refused") == events(got, "crashed") == events(got, "unexpected") == []

    sent = events(got, "sent")
    assert sorted(event["text"] for event in sent) == sorted(requests)
    assert {event["status"] for event in sent} == {"SEND_OK"}
    assert {event["topic"] for event in sent} == {reply_topic}

    (late,) = events(got, "timed out")
    assert late["code"] == 10006
    (lost,) = events(got, "to nobody")
    assert (lost["error"], lost["code"]) == ("MQBrokerException", 1)
    assert lost["message"].startswith("push reply message fail, channel of <nobody> not found.")

    # Replies are stored at the places in their answers, the one that no client got behind them.
    first = min(event["queueOffset"] for event in sent)
    pulled = case.client.only(
        "received", "PullAt", topic=reply_topic, group=case.group("reader"), queue=0, offset=[first], atOnce=32
    )
    assert {event["msgId"] for event in pulled} >= {event["msgId"] for event in sent}
    places = {event["msgId"]: event["queueOffset"] for event in pulled}
    assert all(places[event["msgId"]] == event["queueOffset"] for event in sent)
    assert pulled[-1]["text"] == "lost"
