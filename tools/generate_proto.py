"""Generating the Python modules of the .proto files: `python -m tools.generate_proto`.

`protoc` (of the package grpcio-tools, pinned in the dependency group `test`) reads the files and writes the types
(`_pb2.pyi`). The modules themselves are ours, a serialized descriptor each: those of `protoc` demand a protobuf as new
as itself, and use the pool of descriptors that all packages of a process share (`wire/grpc/pool.py`).
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet

FOLDER = Path("wire/grpc")
MODULES = {
    "apache/rocketmq/v2/definition.proto": "definition_pb2",
    "apache/rocketmq/v2/service.proto": "service_pb2",
    "grpc/health/v1/health.proto": "health_pb2",
    "grpc/reflection/v1/reflection.proto": "reflection_v1_pb2",
    "grpc/reflection/v1alpha/reflection.proto": "reflection_v1alpha_pb2",
}
_BYTES_A_LINE = 24


class ProtocFailed(Exception):
    """`protoc` refused the files; its message follows."""


def generate(root: Path) -> dict[Path, str]:
    """The text of each generated file, by its path below `root`, where the .proto files are.

    Raises:
        ProtocFailed: a file is not valid.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        _protoc(root / FOLDER / "proto", out)
        files = FileDescriptorSet.FromString((out / "files").read_bytes()).file
        texts: dict[Path, str] = {}
        for file in files:
            types = (out / file.name).with_name(Path(file.name).stem + "_pb2.pyi").read_text(encoding="utf-8")
            module = FOLDER / MODULES[file.name]
            texts[module.with_suffix(".py")] = _module(file)
            texts[module.with_suffix(".pyi")] = _types(types)
        return texts


def _protoc(sources: Path, out: Path) -> None:
    command = [
        *(sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={sources}"),
        *(f"--descriptor_set_out={out / 'files'}", f"--pyi_out={out}"),
        *MODULES,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProtocFailed(done.stderr)


def _module(file: FileDescriptorProto) -> str:
    imports = sorted(MODULES[name] for name in file.dependency if name in MODULES)
    return "".join(
        (
            f'"""The messages of proto/{file.name}. Made by tools/generate_proto.py: do not edit."""\n\n',
            *(f"from rocketwire.wire.grpc import {module} as _{module}\n" for module in imports),
            "from rocketwire.wire.grpc.pool import declare as _declare\n\n",
            "_FILE = (\n",
            *(f"    {line!r}\n" for line in _lines(_serialized(file))),
            ")\n",
            "DESCRIPTOR = _declare(_FILE, globals())\n",
        )
    )


def _types(text: str) -> str:
    for name, module in MODULES.items():
        package, _, stem = name.removesuffix(".proto").replace("/", ".").rpartition(".")
        text = text.replace(f"from {package} import {stem}_pb2 as", f"from rocketwire.wire.grpc import {module} as")
    return text.replace(", _Mapping]", ", _Mapping[str, object]]")


def _serialized(file: FileDescriptorProto) -> bytes:
    """The descriptor without the names in JSON, which follow from the others."""
    for message in file.message_type:
        _drop_json_names(message)
    return file.SerializeToString(deterministic=True)


def _drop_json_names(message: DescriptorProto) -> None:
    for field in message.field:
        field.ClearField("json_name")
    for nested in message.nested_type:
        _drop_json_names(nested)


def _lines(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _BYTES_A_LINE] for at in range(0, len(data), _BYTES_A_LINE))


def main() -> int:
    """Write all of them again."""
    for path, text in generate(Path()).items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
