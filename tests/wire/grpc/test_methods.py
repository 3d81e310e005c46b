from rocketwire.wire.grpc import health_pb2, service_pb2
from rocketwire.wire.grpc.methods import METHODS, STREAMING

_SERVICE = "/apache.rocketmq.v2.MessagingService/"


def test_a_call_has_its_messages() -> None:
    method = METHODS[_SERVICE + "SendMessage"]
    assert method.request is service_pb2.SendMessageRequest
    assert method.response is service_pb2.SendMessageResponse
    assert not method.streams_requests
    assert not method.streams_responses


def test_answers_may_be_streams() -> None:
    assert METHODS[_SERVICE + "ReceiveMessage"].streams_responses
    assert METHODS["/grpc.health.v1.Health/Watch"].response is health_pb2.HealthCheckResponse


def test_requests_that_are_streams() -> None:
    assert {
        _SERVICE + "Telemetry",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    } == STREAMING


def test_each_path_leads_to_its_call() -> None:
    assert len(METHODS) == 17 + 3 + 1 + 1
    assert all(path == method.path for path, method in METHODS.items())
