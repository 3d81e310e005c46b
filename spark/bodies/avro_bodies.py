"""Avro bodies, bare or with the id of a registry's schema, read by fastavro in Python's workers."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from rocketwire.spark.bodies.avro_types import spark_type
from rocketwire.spark.bodies.decoding import with_values
from rocketwire.spark.bodies.framing import unframed
from rocketwire.spark.bodies.registry import RegisteredSchema, SchemaRegistry
from rocketwire.spark.errors import BodyMalformed, OptionInvalid, PackageMissing

_KEPT: Final = 4096
_AVRO: Final = "AVRO"


def from_avro_body(
    frame: DataFrame,
    schema: str | Mapping[str, Any] | None = None,
    *,
    registry: SchemaRegistry | str | None = None,
    subject: str | None = None,
    mode: str = "PERMISSIVE",
    column: str = "body",
    to: str = "value",
) -> DataFrame:
    """The frame with a column of its bodies' values in Avro.

    Args:
        frame: Any with a column of bodies.
        schema: What the values shall look like. Without a registry the bodies were written with it, too.
        registry: A schema registry, or its URL: each body begins with the id of the schema it was written with.
        subject: With a registry and without `schema`, the latest version of this subject now is it.
        mode: `PERMISSIVE` makes malformed bodies null, `FAILFAST` ends the query.
        column: The column of bodies, binary.
        to: The new column's name.

    Raises:
        OptionInvalid: there is no schema, or it is wrong; an unknown mode.
        PackageMissing: fastavro is not installed.
        RegistryFailed: the registry does not answer, or has no such subject.
    """
    if isinstance(registry, str):
        registry = SchemaRegistry(registry)
    if schema is not None:
        wanted = RegisteredSchema(
            text=schema if isinstance(schema, str) else json.dumps(schema), kind=_AVRO, references=()
        )
    elif registry is not None and subject is not None:
        wanted = registry.latest(subject)
    else:
        raise OptionInvalid("there is no schema of Avro", "Give schema, or registry and subject")
    try:
        kind = type_of(wanted)
    except BodyMalformed as error:
        raise OptionInvalid(error.what, "Give another schema or subject") from error
    return with_values(frame, column, to, kind, AvroDecoder(wanted, registry), mode)


def type_of(schema: RegisteredSchema) -> DataType:
    """Spark's type of a schema's values.

    Raises:
        BodyMalformed: it is no schema of Avro.
    """
    return spark_type(*_parsed(schema))


@dataclass(frozen=True, slots=True)
class AvroDecoder:
    """Decodes bodies.

    Attributes:
        schema: What the values shall look like.
        registry: Has the schemas that the bodies were written with; None for bare bodies.
    """

    schema: RegisteredSchema
    registry: SchemaRegistry | None

    def __call__(self, body: bytes) -> object:
        """The value of a body.

        Raises:
            BodyMalformed: it is none of the schema, or of a schema that does not fit.
            RegistryFailed: the registry does not answer.
        """
        import fastavro

        written = self.schema
        if self.registry is not None:
            number, body = unframed(body)
            written = self.registry.by_id(number)
        source = io.BytesIO(body)
        # The version is the written one: fastavro is faster without a schema to fit it to.
        reader = None if written == self.schema else _parsed(self.schema)[0]
        try:
            value = fastavro.schemaless_reader(source, _parsed(written)[0], reader)
        except BodyMalformed:
            raise
        except Exception as error:  # it raises whatever the bytes lead to
            raise BodyMalformed(f"a body is no value of its Avro schema: {error!r}", "Check the schema") from error
        if source.read(1):
            raise BodyMalformed(
                "a body goes on behind its Avro value", "Check the schema, and whether there is a registry"
            )
        return value


@lru_cache(maxsize=_KEPT)
def _parsed(schema: RegisteredSchema) -> tuple[Any, dict[str, Any]]:
    """A schema as fastavro wants it, and all with names in it."""
    try:
        import fastavro
    except ImportError as error:
        raise PackageMissing("fastavro is not installed", "pip install 'rocketwire[avro]'") from error
    if schema.kind != _AVRO:
        raise BodyMalformed(f"a schema is one of {schema.kind}, not of Avro", "Check the subject")
    named: dict[str, Any] = {}
    try:
        for text in schema.references:
            fastavro.parse_schema(json.loads(text), named)
        return fastavro.parse_schema(json.loads(schema.text), named), named
    except (ValueError, KeyError, TypeError, fastavro.schema.SchemaParseException) as error:
        raise BodyMalformed(f"a schema is none of Avro: {error!r}", "Check it") from error
