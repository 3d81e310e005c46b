from rocketwire.wire.grpc import definition_pb2, service_pb2
from rocketwire.wire.grpc.answers import (
    delivered_response,
    joint_status,
    make_status,
    message_response,
    status_response,
)
from rocketwire.wire.grpc.codes import Code


def test_a_status_has_a_text() -> None:
    assert make_status(Code.OK) == definition_pb2.Status(code=definition_pb2.OK, message="OK")
    assert make_status(Code.ILLEGAL_TOPIC, "why").message == "why"


def test_the_status_above_entries() -> None:
    assert joint_status([Code.OK, Code.OK]) == make_status(Code.OK)
    assert joint_status([Code.OK, Code.INVALID_RECEIPT_HANDLE]).code == definition_pb2.MULTIPLE_RESULTS


def test_a_stream_of_messages() -> None:
    message = definition_pb2.Message(body=b"x")
    parts = [status_response(Code.OK), message_response(message), delivered_response(1_234)]
    read = [service_pb2.ReceiveMessageResponse.FromString(part.SerializeToString()) for part in parts]
    assert [part.WhichOneof("content") for part in read] == ["status", "message", "delivery_timestamp"]
    assert read[0].status.message == "OK"
    assert read[1].message == message
    assert read[2].delivery_timestamp.ToMilliseconds() == 1_234
