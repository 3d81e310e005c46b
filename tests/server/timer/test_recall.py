"""Cancelling by a handle: 5.5.0's checks in their order, and the marker that is stored."""

from __future__ import annotations

import base64

import pytest

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.core.errors import (
    RecallFailed,
    RecallForbidden,
    RecallRefused,
    RecallTopicUnknown,
    response_code,
)
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.timer.recall import Recall
from rocketwire.server.timer.sends import TimerSends
from rocketwire.store.timer.units import out_time
from rocketwire.wire.errors import PropertiesInvalid, RecallHandleInvalid
from rocketwire.wire.headers.send import RecallMessageRequestHeader
from rocketwire.wire.java import string_hash
from rocketwire.wire.recall_handle import encode_recall_handle
from tests.server.harness import NOW, properties_text
from tests.server.send_setup import HOST, Setup

MOST = 40 * 86_400_000


@pytest.fixture
def recall(setup: Setup) -> Recall:
    keys, broker = setup.live[TimerKeys], setup.live[BrokerKeys]
    timers = TimerSends(keys, broker, setup.topics, setup.clock)
    return Recall(keys, broker, setup.topics, timers, setup.clock)


def recall_header(
    time: int = NOW + 5000, key: str = "U", *, topic: str = "T", broker: str = "broker-a", **changes: str
) -> RecallMessageRequestHeader:
    handle = encode_recall_handle(topic, broker, time, key).decode()
    return RecallMessageRequestHeader(**{"producer_group": "G", "topic": "T", "recall_handle": handle, **changes})


def test_the_marker_has_its_properties(recall: Recall) -> None:
    draft = recall.marker(recall_header(), HOST)
    assert (draft.topic, draft.queue_id, bytes(draft.body), draft.born_host) == ("rmq_sys_wheel_timer", 0, b"0", HOST)
    assert (draft.unique_key, draft.keys, draft.tags_code) == ("U", None, string_hash("_RECALL_TAG_"))
    assert draft.properties.decode() == properties_text(
        TAGS="_RECALL_TAG_",
        UNIQ_KEY="U",
        TIMER_DEL_UNIQKEY="U",
        TIMER_DELIVER_MS=str(NOW + 5000),
        BORN_TIMESTAMP=str(NOW),
        PGROUP="G",
        TIMER_OUT_MS=str(out_time(NOW + 5000)),
        REAL_TOPIC="T",
        REAL_QID="0",
    )


def test_a_producer_without_a_group_may_cancel(recall: Recall) -> None:
    handle = recall_header().recall_handle
    draft = recall.marker(RecallMessageRequestHeader(topic="T", recall_handle=handle), HOST)
    assert b"PGROUP" not in draft.properties


@pytest.mark.parametrize("time", [NOW + 1, NOW + MOST - 1])
def test_a_message_can_be_cancelled_at_any_time_before_its_delivery(recall: Recall, time: int) -> None:
    assert recall.marker(recall_header(time), HOST).topic == "rmq_sys_wheel_timer"


@pytest.mark.parametrize(
    ("fields", "error", "code", "remark"),
    [
        (
            RecallMessageRequestHeader(topic="N", recall_handle="?"),
            RecallTopicUnknown,
            17,
            "recall failed, the topic[N] not exist",
        ),
        (recall_header(recall_handle="?"), RecallHandleInvalid, 604, "recall handle is invalid"),
        (recall_header(topic="N", broker="b"), RecallRefused, 604, "recall failed, topic not match"),
        (recall_header(NOW, broker="broker-b"), RecallRefused, 604, "recall failed, broker service not available"),
        (recall_header(NOW), RecallRefused, 604, "recall failed, timestamp invalid"),
        (recall_header(-1), RecallRefused, 604, "recall failed, timestamp invalid"),
        (recall_header(NOW + MOST), RecallRefused, 604, "recall failed, timestamp invalid"),
        (
            recall_header(recall_handle=base64.urlsafe_b64encode(b"v1 T broker-a soon U").decode()),
            RecallRefused,
            604,
            "recall failed, timestamp invalid",
        ),
    ],
)
def test_invalid_requests_are_refused_as_by_apache(
    recall: Recall, fields: RecallMessageRequestHeader, error: type[Exception], code: int, remark: str
) -> None:
    with pytest.raises(error) as caught:
        recall.marker(fields, HOST)
    assert (type(caught.value), response_code(caught.value), str(caught.value)) == (error, code, remark)


def test_recalls_may_be_forbidden(setup: Setup, recall: Recall) -> None:
    setup.live.update({"recallMessageEnable": "false"})
    with pytest.raises(RecallForbidden, match=r"^recall failed, operation is forbidden$") as caught:
        recall.marker(recall_header(topic="N"), HOST)
    assert response_code(caught.value) == 16


def test_a_marker_that_cannot_be_stored_is_refused(setup: Setup, recall: Recall) -> None:
    with pytest.raises(PropertiesInvalid):
        recall.marker(recall_header(key="U\x02DELAY\x011"), HOST)
    for fields in (recall_header(key="\0"), recall_header(producer_group="x" * 32_700)):
        with pytest.raises(RecallFailed, match=r"^recall failed, execute error$") as caught:
            recall.marker(fields, HOST)
        assert response_code(caught.value) == 1
    setup.live[TimerKeys].current = TimerKeys(timer_wheel_enable=False)
    with pytest.raises(RecallFailed):
        recall.marker(recall_header(), HOST)
