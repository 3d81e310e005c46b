"""What .proto files declare, as lines: names, numbers, types and labels.

`python -m tools.proto_facts FOLDER > tests/golden/grpc-declarations.json` writes those of the official packages, which
a test compares with ours. FOLDER is where `pip install --target FOLDER --no-deps rocketmq-python-client==5.1.2
grpcio-reflection==1.85.1 grpcio-health-checking==1.85.1` put them.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)

OFFICIAL = (
    "rocketmq/grpc_protocol/definition_pb2.py",
    "rocketmq/grpc_protocol/service_pb2.py",
    "grpc_health/v1/health_pb2.py",
    "grpc_reflection/v1alpha/reflection_pb2.py",
)


def facts(file: FileDescriptorProto) -> list[str]:
    """A line for each field, value and call of a file, sorted."""
    lines: list[str] = []
    for enum in file.enum_type:
        lines += _enum(enum, file.package)
    for message in file.message_type:
        lines += _message(message, file.package)
    for service in file.service:
        lines += _service(service, file.package)
    return sorted(lines)


def _message(message: DescriptorProto, within: str) -> Iterator[str]:
    name = f"{within}.{message.name}"
    yield f"message {name}"
    for field in message.field:
        kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
        label = FieldDescriptorProto.Label.Name(field.label).removeprefix("LABEL_").lower()
        choice = f" oneof {message.oneof_decl[field.oneof_index].name}" if field.HasField("oneof_index") else ""
        of = f" {field.type_name}" if field.type_name else ""
        yield f"field {name}.{field.name} = {field.number}: {label} {kind}{of}{choice}"
    for enum in message.enum_type:
        yield from _enum(enum, name)
    for nested in message.nested_type:
        yield from _message(nested, name)


def _enum(enum: EnumDescriptorProto, within: str) -> Iterator[str]:
    yield from (f"value {within}.{enum.name}.{value.name} = {value.number}" for value in enum.value)


def _service(service: ServiceDescriptorProto, within: str) -> Iterator[str]:
    for call in service.method:
        request, answer = "stream " * call.client_streaming, "stream " * call.server_streaming
        name = f"{within}.{service.name}.{call.name}"
        yield f"call {name}({request}{call.input_type}) -> {answer}{call.output_type}"


def official(folder: Path) -> dict[str, list[str]]:
    """The facts of each official file, read from the text of its module: importing it would need the whole SDK."""
    result: dict[str, list[str]] = {}
    for module in OFFICIAL:
        text = (folder / module).read_text(encoding="utf-8")
        (literal,) = re.findall(r"AddSerializedFile\(b'(.*)'\)\n", text)
        data = literal.encode("latin-1").decode("unicode_escape").encode("latin-1")
        file = FileDescriptorProto.FromString(data)
        result.setdefault(file.package, []).extend(facts(file))
    return {package: sorted(lines) for package, lines in result.items()}


if __name__ == "__main__":
    print(json.dumps(official(Path(sys.argv[1])), indent=1))
