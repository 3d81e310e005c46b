"""Bodies of assignments, as 5.5.0 reads and writes them."""

from __future__ import annotations

import pytest

from rocketwire.wire.bodies._codec import decode_body, encode_body
from rocketwire.wire.bodies.assignment import (
    MessageQueueAssignment,
    MessageRequestMode,
    MessageRequestModes,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from rocketwire.wire.bodies.client import MessageModel, MessageQueue


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (
            b'{"clientId":"c","consumerGroup":"g","messageModel":"CLUSTERING","strategyName":"AVG","topic":"t"}',
            QueryAssignmentRequestBody(
                topic="t",
                consumer_group="g",
                client_id="c",
                strategy_name="AVG",
                message_model=MessageModel.CLUSTERING,
            ),
        ),
        (
            b'{"messageQueueAssignments":[{"messageQueue":{"brokerName":"b","queueId":-1,"topic":"Order"},"mode":"POP"}]}',
            QueryAssignmentResponseBody(
                message_queue_assignments=(
                    MessageQueueAssignment(
                        message_queue=MessageQueue(topic="Order", broker_name="b", queue_id=-1),
                        mode=MessageRequestMode.POP,
                    ),
                )
            ),
        ),
        (b'{"messageQueueAssignments":[]}', QueryAssignmentResponseBody(message_queue_assignments=())),
        (b"{}", QueryAssignmentResponseBody()),
        (b'{"messageRequestModeMap":{}}', MessageRequestModes()),
        (
            b'{"messageRequestModeMap":{"t":{"g":{"consumerGroup":"g","mode":"POP","popShareQueueNum":2,"topic":"t"}}}}',
            MessageRequestModes(
                message_request_mode_map={
                    "t": {
                        "g": SetMessageRequestModeRequestBody(
                            topic="t", consumer_group="g", mode=MessageRequestMode.POP, pop_share_queue_num=2
                        )
                    }
                }
            ),
        ),
    ],
)
def test_bodies_are_written_byte_for_byte(text: bytes, body: object) -> None:
    assert decode_body(type(body), text) == body
    assert encode_body(body) == text


def test_a_mode_that_is_missing_or_unknown_is_pull() -> None:
    for text in (b'{"topic":"t"}', b'{"topic":"t","mode":"PUSH"}'):
        assert decode_body(SetMessageRequestModeRequestBody, text).mode is MessageRequestMode.PULL
