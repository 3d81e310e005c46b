"""A file of Protobuf for tests, as protoc's --descriptor_set_out would write it."""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

_F: Final = FieldDescriptorProto
NAME: Final = "shop.Order"


def _files() -> list[FileDescriptorProto]:
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/struct.proto"])
    state = file.enum_type.add(name="State")
    for number, name in enumerate(["NEW", "PAID"]):
        state.value.add(name=name, number=number)
    order = file.message_type.add(name="Order")
    number = 0

    def add(name: str, kind: int, of: str = "", *, many: bool = False, optional: bool = False) -> None:
        nonlocal number
        number += 1
        field = order.field.add(
            name=name,
            number=number,
            type=kind,
            label=_F.LABEL_REPEATED if many else _F.LABEL_OPTIONAL,
        )
        if of:
            field.type_name = of
        if optional:
            field.proto3_optional = True
            field.oneof_index = len(order.oneof_decl)
            order.oneof_decl.add(name=f"_{name}")

    add("id", _F.TYPE_INT64)
    add("total", _F.TYPE_UINT64)
    add("count", _F.TYPE_UINT32)
    add("small", _F.TYPE_SINT32)
    add("weight", _F.TYPE_DOUBLE)
    add("paid", _F.TYPE_BOOL)
    add("raw", _F.TYPE_BYTES)
    add("note", _F.TYPE_STRING, optional=True)
    add("state", _F.TYPE_ENUM, ".shop.State")
    add("at", _F.TYPE_MESSAGE, ".google.protobuf.Timestamp")
    add("items", _F.TYPE_STRING, many=True)
    add("parts", _F.TYPE_MESSAGE, ".shop.Order", many=True)
    add("more", _F.TYPE_MESSAGE, ".google.protobuf.Struct")
    add("counts", _F.TYPE_MESSAGE, ".shop.Order.CountsEntry", many=True)
    add("share", _F.TYPE_FLOAT)
    entry = order.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_F.TYPE_INT32, label=_F.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=_F.TYPE_INT64, label=_F.LABEL_OPTIONAL)
    known = [FileDescriptorProto.FromString(one.DESCRIPTOR.file.serialized_pb) for one in (Timestamp, Struct)]
    return [*known, file]


#: What protoc would write.
DESCRIPTORS: Final = FileDescriptorSet(file=_files()).SerializeToString()


def order() -> type[Message]:
    """The class that protoc would generate."""
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(DESCRIPTORS).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(NAME))
