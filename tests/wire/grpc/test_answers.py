from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.grpc import definition_pb2, service_pb2
from rocketwire.wire.grpc.answers import (
    delivered_response,
    joint_status,
    last_payload,
    message_response,
    sent_payload,
    status_of,
    status_response,
)
from rocketwire.wire.grpc.codes import Code


def test_a_status_has_a_text() -> None:
    assert status_of(Code.OK) == definition_pb2.Status(code=definition_pb2.OK, message="OK")
    assert status_of(Code.ILLEGAL_TOPIC, "why").message == "why"


def test_the_status_above_entries() -> None:
    assert joint_status([Code.OK, Code.OK]) == status_of(Code.OK)
    assert joint_status([Code.OK, Code.INVALID_RECEIPT_HANDLE]).code == definition_pb2.MULTIPLE_RESULTS


def test_a_stream_of_messages() -> None:
    message = definition_pb2.Message(body=b"x")
    parts = [status_response(Code.OK), message_response(message), delivered_response(1_234)]
    read = [service_pb2.ReceiveMessageResponse.FromString(part.SerializeToString()) for part in parts]
    assert [part.WhichOneof("content") for part in read] == ["status", "message", "delivery_timestamp"]
    assert read[0].status.message == "OK"
    assert read[1].message == message
    assert read[2].delivery_timestamp.ToMilliseconds() == 1_234
    assert last_payload(1_234) == parts[2].SerializeToString()
    assert service_pb2.ReceiveMessageResponse.FromString(last_payload(2_000)) == delivered_response(2_000)


@given(st.text(max_size=200), st.integers(0, 2**63 - 1), st.text(max_size=2000))
def test_the_answer_to_a_send_is_what_protobuf_writes(message_id: str, offset: int, handle: str) -> None:
    ok = status_of(Code.OK)
    entry = service_pb2.SendResultEntry(status=ok, message_id=message_id, offset=offset, recall_handle=handle)
    response = service_pb2.SendMessageResponse(status=ok, entries=[entry])
    if message_id:
        assert sent_payload(message_id, offset, handle) == response.SerializeToString()


def test_the_answer_to_a_send() -> None:
    for offset, handle in ((0, ""), (300, "handle")):
        read = service_pb2.SendMessageResponse.FromString(sent_payload("id", offset, handle))
        (entry,) = read.entries
        assert (entry.message_id, entry.offset, entry.recall_handle, read.status) == (
            "id",
            offset,
            handle,
            entry.status,
        )
