"""Health and reflection."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from rocketwire.wire.grpc import health_pb2, reflection_v1_pb2, reflection_v1alpha_pb2
from rocketwire.wire.grpc.codes import GrpcStatus
from tests.server.grpc.sdk import Sdk

HEALTH = "/grpc.health.v1.Health/"
SERVICE = "apache.rocketmq.v2.MessagingService"
Checked = health_pb2.HealthCheckResponse


@pytest.mark.parametrize(
    ("service", "status"),
    [("", Checked.SERVING), (SERVICE, Checked.SERVING), ("other", Checked.SERVICE_UNKNOWN)],
)
async def test_the_health_of_each_service_is_answered(sdk: Sdk, service: str, status: Any) -> None:
    sdk.client_id = ""
    request = health_pb2.HealthCheckRequest(service=service)
    assert (await sdk.call(f"{HEALTH}Check", request)).status == status


async def test_health_can_be_watched(sdk: Sdk) -> None:
    stream = await sdk.begin(f"{HEALTH}Watch", health_pb2.HealthCheckRequest())
    await sdk.rest()
    (response,) = sdk.incoming[stream].messages(Checked)
    assert response.status == Checked.SERVING
    assert not sdk.incoming[stream].over
    await sdk.cancel(stream)
    assert (await sdk.call(f"{HEALTH}Check", health_pb2.HealthCheckRequest())).status == Checked.SERVING


@pytest.mark.parametrize(("version", "classes"), [("v1", reflection_v1_pb2), ("v1alpha", reflection_v1alpha_pb2)])
async def test_reflection_lists_services_and_their_files(sdk: Sdk, version: str, classes: Any) -> None:
    stream = sdk.open(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")

    async def request(**unknown: str) -> Any:
        sdk.put(stream, classes.ServerReflectionRequest(host="h", **unknown), end=False)
        await sdk.send_out()
        await sdk.rest()
        (answer,) = sdk.incoming[stream].messages(classes.ServerReflectionResponse)
        assert answer.valid_host == "h"
        return answer

    listed = await request(list_services="*")
    names = [each.name for each in listed.list_services_response.service]
    assert names == sorted(names)
    assert {SERVICE, "grpc.health.v1.Health"} <= set(names)
    found = await request(file_containing_symbol=SERVICE)
    files = [FileDescriptorProto.FromString(each) for each in found.file_descriptor_response.file_descriptor_proto]
    assert files[0].service[0].name == "MessagingService"
    assert {name for file in files for name in file.dependency} <= {file.name for file in files}
    again = await request(file_by_filename=files[0].name)
    assert again.file_descriptor_response == found.file_descriptor_response
    for unknown in ({"file_by_filename": "none.proto"}, {"file_containing_symbol": "none"}):
        assert (await request(**unknown)).error_response.error_code == GrpcStatus.NOT_FOUND
    numbers = await request(all_extension_numbers_of_type="apache.rocketmq.v2.Message")
    assert numbers.all_extension_numbers_response.base_type_name == "apache.rocketmq.v2.Message"
    assert (await request()).error_response.error_code == GrpcStatus.UNIMPLEMENTED
