"""The descriptors of our .proto files, in a separate pool.

A process may have the official SDK, grpcio-reflection or grpcio-health-checking imported as well: in protobuf's default
pool, two files that declare the same names clash. So our classes are not those of another package, not even
``Timestamp`` and ``Duration``: values pass between the two as bytes, or field by field.
"""

from typing import Any, Final

from google.protobuf import descriptor_pool, duration_pb2, message_factory, timestamp_pb2
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

POOL: Final = descriptor_pool.DescriptorPool()
"""What reflection answers from."""

for _file in (duration_pb2, timestamp_pb2):
    POOL.AddSerializedFile(_file.DESCRIPTOR.serialized_pb)


def declare(serialized: bytes, into: dict[str, Any]) -> FileDescriptor:
    """Add a file to the pool, and put its messages and enums and their values into a module's namespace.

    The files that it imports must have been declared before.
    """
    file = POOL.AddSerializedFile(serialized)
    for name, enum in file.enum_types_by_name.items():
        into[name] = EnumTypeWrapper(enum)
        into.update((value.name, value.number) for value in enum.values)
    for name, message in file.message_types_by_name.items():
        into[name] = message_factory.GetMessageClass(message)
    return file
