import pytest

from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.grpc import definition_pb2
from rocketwire.wire.grpc.codes import Code, GrpcStatus, code_of_response, joint_code, stream_status


def test_the_codes_are_those_of_the_proto_file() -> None:
    assert {code.name: code.value for code in Code} == dict(definition_pb2.Code.items())


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (ResponseCode.SUCCESS, Code.OK),
        (ResponseCode.SYSTEM_BUSY, Code.TOO_MANY_REQUESTS),
        (ResponseCode.FLOW_CONTROL, Code.TOO_MANY_REQUESTS),
        (209, Code.TOO_MANY_REQUESTS),
        (210, Code.MESSAGE_NOT_FOUND),
        (ResponseCode.TOPIC_NOT_EXIST, Code.TOPIC_NOT_FOUND),
        (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, Code.CONSUMER_GROUP_NOT_FOUND),
        (ResponseCode.SUBSCRIPTION_PARSE_FAILED, Code.ILLEGAL_FILTER_EXPRESSION),
        (ResponseCode.FLUSH_SLAVE_TIMEOUT, Code.SLAVE_PERSISTENCE_TIMEOUT),
        (ResponseCode.SYSTEM_ERROR, Code.INTERNAL_SERVER_ERROR),
        (-5, Code.INTERNAL_SERVER_ERROR),
    ],
)
def test_response_codes(response: int, code: Code) -> None:
    assert code_of_response(response) is code


def test_entries_with_different_codes_have_many_results() -> None:
    assert joint_code({Code.OK}) is Code.OK
    assert joint_code({Code.OK, Code.ILLEGAL_TOPIC}) is Code.MULTIPLE_RESULTS
    assert joint_code(set()) is Code.INTERNAL_SERVER_ERROR


def test_a_stream_ends_with_the_client_or_the_server_to_blame() -> None:
    assert stream_status(Code.CLIENT_ID_REQUIRED) is GrpcStatus.INVALID_ARGUMENT
    assert stream_status(Code.INTERNAL_SERVER_ERROR) is GrpcStatus.INTERNAL
    assert stream_status(Code.MULTIPLE_RESULTS) is GrpcStatus.INTERNAL
