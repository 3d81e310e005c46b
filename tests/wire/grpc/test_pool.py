"""The pool of descriptors, and what our .proto files declare."""

import pytest
from google.protobuf import descriptor_pool, timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from rocketwire.wire.grpc import (
    definition_pb2,
    health_pb2,
    reflection_v1_pb2,
    reflection_v1alpha_pb2,
    service_pb2,
)
from rocketwire.wire.grpc.pool import POOL
from tests.wire import golden
from tools.proto_facts import facts

_OFFICIAL = golden.grpc_declarations()
_FILES = (definition_pb2, service_pb2, health_pb2, reflection_v1_pb2, reflection_v1alpha_pb2)


def _facts(package: str) -> list[str]:
    files = [FileDescriptorProto.FromString(file.DESCRIPTOR.serialized_pb) for file in _FILES]
    return sorted(line for file in files if file.package == package for line in facts(file))


@pytest.mark.parametrize("package", sorted(_OFFICIAL))
def test_declarations_are_those_of_the_official_packages(package: str) -> None:
    assert _facts(package) == _OFFICIAL[package]


def test_reflection_v1_is_v1alpha_by_another_name() -> None:
    alpha = [line.replace(".v1alpha.", ".v1.") for line in _OFFICIAL["grpc.reflection.v1alpha"]]
    assert _facts("grpc.reflection.v1") == alpha


def test_the_official_sdk_can_be_imported_beside() -> None:
    # Its files declare the same names, in the pool that all packages share.
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("apache.rocketmq.v2.Message")
    pool = descriptor_pool.DescriptorPool()
    file = FileDescriptorProto.FromString(health_pb2.DESCRIPTOR.serialized_pb)
    file.name = "health.proto"
    pool.Add(file)
    assert (
        pool.FindMessageTypeByName("grpc.health.v1.HealthCheckRequest") is not health_pb2.HealthCheckRequest.DESCRIPTOR
    )
    assert POOL.FindFileContainingSymbol("grpc.health.v1.Health") is health_pb2.DESCRIPTOR


def test_values_pass_to_other_packages_as_bytes() -> None:
    command = service_pb2.VerifyMessageCommand(nonce="1")
    command.message.system_properties.born_timestamp.FromMilliseconds(1_500)
    command.message.user_properties["a"] = "b"
    born = command.message.system_properties.born_timestamp
    assert timestamp_pb2.Timestamp.FromString(born.SerializeToString()).ToMilliseconds() == 1_500
    assert service_pb2.VerifyMessageCommand.FromString(command.SerializeToString()) == command


def test_enums_have_names_and_their_values_are_constants() -> None:
    assert definition_pb2.Code.Name(definition_pb2.ILLEGAL_TOPIC) == "ILLEGAL_TOPIC"
    assert definition_pb2.Code.Value("OK") == definition_pb2.OK == 20_000
    assert health_pb2.HealthCheckResponse.SERVING == 1
