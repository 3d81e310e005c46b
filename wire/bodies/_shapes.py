"""Body dataclasses to and from plain JSON values.

A shape is made once per class from its annotations. Field names are snake case, on the wire camel case or as given by
``field(metadata={"wire": ...})``. Unknown keys are ignored; missing ones, nulls and unknown names of an enum take the
field's default, which is why every field has one.
Integers are declared as Java's int or long; values out of range are rejected, as by fastjson.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from rocketwire.wire.bodies._reader import ObjectKey, loads
from rocketwire.wire.bodies._values import Json, to_bool, to_float, to_int32, to_int64, to_text
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.java import Int32, Int64

Convert: TypeAlias = Callable[[Any], Any]
Hint: TypeAlias = Any
"""A type annotation."""

T = TypeVar("T")

_SCALARS: Final[dict[Any, Convert]] = {
    str: to_text,
    Int32: to_int32,
    Int64: to_int64,
    float: to_float,
    bool: to_bool,
    Any: lambda value: value,
}


# Bytes of an object that is a map's key, in text form; no key of the protocol has more than three fields.
_KEY_BYTES: Final = 4096
_KEY_ENTRIES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    attribute: str
    wire: str
    read: Convert
    write: Convert | None
    """None when the value is written unchanged."""


class _WrongShape(ValueError):
    """A JSON value of another kind than its field wants."""


def from_builtins(cls: type[T], value: Json) -> T:
    """Build an instance of a body dataclass from the result of ``loads``.

    Raises:
        BodyInvalid: the value, or one inside it, is not of the type its field wants.
    """
    if not isinstance(value, dict):
        raise BodyInvalid(f"{cls.__name__} is not a JSON object")
    arguments: dict[str, Any] = {}
    for field in _shape(cls):
        found = value.get(field.wire)
        if found is None:
            continue
        try:
            converted = field.read(found)
        except ValueError as error:
            raise BodyInvalid(f"{cls.__name__}.{field.wire}: {error}") from error
        if converted is not None:
            arguments[field.attribute] = converted
    return cls(**arguments)


def to_builtins(value: object) -> dict[str, Any]:
    """Give a body dataclass as plain values: wire names in alphabetical order, without None."""
    result: dict[str, Any] = {}
    for field in _shape(type(value)):
        found = getattr(value, field.attribute)
        if found is not None:
            result[field.wire] = found if field.write is None else field.write(found)
    return result


_shapes: Final[dict[type, tuple[_Field, ...]]] = {}


def _shape(cls: type) -> tuple[_Field, ...]:
    if cls not in _shapes:
        _shapes[cls] = _make_shape(cls)
    return _shapes[cls]


def _make_shape(cls: type) -> tuple[_Field, ...]:
    hints = get_type_hints(cls, include_extras=True)
    result: list[_Field] = []
    for field in fields(cls):
        if field.default is MISSING and field.default_factory is MISSING:
            raise TypeError(f"{cls.__name__}.{field.name} needs a default")
        read, write = _converters(hints[field.name])
        wire = field.metadata.get("wire") or camel_case(field.name)
        result.append(_Field(attribute=field.name, wire=wire, read=read, write=write))
    return tuple(sorted(result, key=lambda each: each.wire))


def camel_case(name: str) -> str:
    """Give the camel case form of a snake case name."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _converters(hint: Hint) -> tuple[Convert, Convert | None]:
    if hint in _SCALARS:
        return _SCALARS[hint], None
    origin: Hint = get_origin(hint)
    arguments = get_args(hint)
    if origin is UnionType or origin is Union:  # Union for Annotated types
        (only,) = (each for each in arguments if each is not NoneType)
        return _converters(only)
    if origin is tuple or origin is frozenset:
        return _sequence(origin, arguments[0])
    if origin is dict:
        return _mapping(*arguments)
    if is_dataclass(hint):
        return _object(hint), to_builtins
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _enum(hint), str
    raise TypeError(f"no JSON form for {hint}")


def _object(cls: Hint) -> Convert:
    def read(value: Json) -> Json:
        return from_builtins(cls, value)

    return read


def _sequence(kind: type, item: Hint) -> tuple[Convert, Convert]:
    read_item, write_item = _converters(item)

    def read(value: Json) -> Json:
        if not isinstance(value, list):
            raise _WrongShape("not a JSON array")
        return kind(read_item(each) for each in value if each is not None)

    def write(value: Json) -> list[Any]:
        found = value if write_item is None else map(write_item, value)
        return sorted(found) if kind is frozenset else list(found)

    return read, write


def _mapping(key: Hint, item: Hint) -> tuple[Convert, Convert]:
    read_key, write_key = (_object_key(key), _write_object_key) if is_dataclass(key) else _converters(key)
    read_item, write_item = _converters(item)

    def read(value: Json) -> Json:
        if not isinstance(value, dict):
            raise _WrongShape("not a JSON object")
        return {read_key(name): read_item(each) for name, each in value.items() if each is not None}

    def write(value: Json) -> dict[Any, Any]:
        return {
            name if write_key is None else write_key(name): each if write_item is None else write_item(each)
            for name, each in value.items()
        }

    return read, write


def _object_key(cls: Hint) -> Convert:
    def read(value: Json) -> Json:
        if isinstance(value, ObjectKey):
            return from_builtins(cls, dict(value))
        text = to_text(value)
        return from_builtins(cls, loads(text, lenient_limit=_KEY_BYTES, most_entries=_KEY_ENTRIES))

    return read


def _write_object_key(value: object) -> ObjectKey:
    return ObjectKey(to_builtins(value).items())


def _enum(cls: type[StrEnum]) -> Convert:
    by_text = {str(each): each for each in cls} | {str(number): each for number, each in enumerate(cls)}

    def read(value: Json) -> Json:
        return by_text.get(to_text(value))

    return read
