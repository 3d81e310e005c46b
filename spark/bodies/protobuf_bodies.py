"""Protobuf bodies, bare or with the id of a registry's schema, read by protobuf in Python's workers.

No registry is needed: Protobuf reads what other versions of a message wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import DataFrame

from rocketwire.spark.bodies.decoding import with_values
from rocketwire.spark.bodies.framing import unframed, without_path
from rocketwire.spark.bodies.protobuf_values import spark_type, value_of
from rocketwire.spark.errors import BodyMalformed, OptionInvalid

_KEPT: Final = 64


def from_protobuf_body(
    frame: DataFrame,
    message: str | type[Message],
    descriptors: str | Path | bytes | None = None,
    *,
    framed: bool = False,
    mode: str = "PERMISSIVE",
    column: str = "body",
    to: str = "value",
) -> DataFrame:
    """The frame with a column of its bodies' values in Protobuf.

    Args:
        frame: Any with a column of bodies.
        message: The message's full name, or its class as protoc generates it.
        descriptors: With a name, the file (or its content) that `protoc --include_imports --descriptor_set_out` writes.
        framed: Whether the id of a schema comes first, as a schema registry's serializers write it.
        mode: `PERMISSIVE` makes malformed bodies null, `FAILFAST` ends the query.
        column: The column of bodies, binary.
        to: The new column's name.

    Raises:
        OptionInvalid: there is no such message, or an unknown mode.
        OSError: the file cannot be read.
    """
    decoder = ProtobufDecoder.of(message, descriptors, framed=framed)
    return with_values(frame, column, to, spark_type(decoder.descriptor()), decoder, mode)


@dataclass(frozen=True, slots=True)
class ProtobufDecoder:
    """Decodes bodies.

    Attributes:
        name: The message's.
        files: A FileDescriptorSet with it, encoded: workers need no generated classes.
        framed: Whether the id of a schema comes first.
    """

    name: str
    files: bytes
    framed: bool

    @classmethod
    def of(
        cls, message: str | type[Message], descriptors: str | Path | bytes | None, *, framed: bool
    ) -> ProtobufDecoder:
        """One by the arguments of `from_protobuf_body`."""
        if not isinstance(message, str):
            made = cls(message.DESCRIPTOR.full_name, _files_of(message.DESCRIPTOR), framed)
        elif descriptors is None:
            raise OptionInvalid(f"there are no descriptors with {message}", "Give protoc's descriptor_set_out")
        else:
            made = cls(
                message, descriptors if isinstance(descriptors, bytes) else Path(descriptors).read_bytes(), framed
            )
        try:
            made.descriptor()
        except (DecodeError, KeyError, TypeError) as error:
            what = f"the descriptors have no message {made.name}: {error}"
            raise OptionInvalid(what, "Give its full name, and make descriptors with --include_imports") from error
        return made

    def descriptor(self) -> Any:  # noqa: ANN401 - each implementation of protobuf has another class
        """The message's."""
        return _class(self.name, self.files).DESCRIPTOR

    def __call__(self, body: bytes) -> object:
        """The value of a body.

        Raises:
            BodyMalformed: it is none of the message.
        """
        if self.framed:
            body = without_path(unframed(body)[1])
        try:
            return value_of(_class(self.name, self.files).FromString(body))
        except (DecodeError, ValueError, OverflowError) as error:
            raise BodyMalformed(
                f"a body is no {self.name}: {error}", "Check the message, and whether it is framed"
            ) from error


@lru_cache(maxsize=_KEPT)
def _class(name: str, files: bytes) -> type[Message]:
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(files).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(name))


def _files_of(descriptor: Any) -> bytes:  # noqa: ANN401 - as above
    """The file of a message and those it imports, each behind its own imports."""
    found: dict[str, FileDescriptorProto] = {}

    def collect(file: Any) -> None:  # noqa: ANN401 - as above
        for one in file.dependencies:
            collect(one)
        if file.name not in found:
            found[file.name] = FileDescriptorProto.FromString(file.serialized_pb)

    collect(descriptor.file)
    return FileDescriptorSet(file=found.values()).SerializeToString()
