"""Typed headers from and to extFields.

A header class is a frozen ``msgspec.Struct`` (``WireHeader``): a request's header is built for every
request, and a dataclass of 14 frozen fields costs more than everything else done to it. The wire name of a
field is its name in camel case unless ``field(name=...)`` says otherwise. ``SHORT`` of a class holds the
one-letter names of its V2 form.

msgspec converts the texts; whatever it refuses goes through a slow reading by Java's rules, which either
takes the value after all (``+5``, ``007``, a boolean that is neither true nor false) or says exactly what
is wrong.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from rocketwire.wire.errors import HeaderFieldInvalid, HeaderFieldMissing

_DIGITS: Final = re.compile(r"[+-]?[0-9]{1,40}")
_NO_FIELDS: Final[dict[str, str]] = {}


class Names(Enum):
    """Which names of the fields a frame uses."""

    LONG = auto()
    SHORT = auto()


class WireHeader(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all typed headers: frozen, keyword-only, wire names in camel case."""

    SHORT: ClassVar[dict[str, str]] = {}
    """Short (V2) name of a field by its Python name; fields that are not listed keep their wire name."""


H = TypeVar("H", bound=WireHeader)
_Getter: TypeAlias = Callable[[WireHeader], tuple[Any, ...]]


def decode_ext(cls: type[H], ext: dict[str, str] | None, *, short: bool = False) -> H:
    """Build a typed header from extFields; names the class does not know are ignored.

    Raises:
        HeaderFieldMissing: a required field is absent.
        HeaderFieldInvalid: a text is not of its field's type or range.
    """
    found = _NO_FIELDS if ext is None else ext
    try:
        if short:
            # Two conversions in C cost half of one conversion after renaming the keys here.
            return msgspec.convert(msgspec.convert(found, _short_form(cls), strict=False), cls, from_attributes=True)
        return msgspec.convert(found, cls, strict=False)
    except msgspec.ValidationError:
        if short:
            found = {each.long: found[each.short] for each in _names(cls) if each.short in found}
        return _decode_by_java_rules(cls, found)


def encode_ext(header: WireHeader, *, short: bool = False) -> dict[str, str]:
    """Give the extFields of a typed header; fields that are None are left out."""
    values, fields = _writers(type(header), Names.SHORT if short else Names.LONG)
    result: dict[str, str] = {}
    for value, (name, text) in zip(values(header), fields, strict=True):
        if value is not None:
            result[name] = text(value)
    return result


class _Names(NamedTuple):
    """What a field is called in Python, on the wire, and on the wire of the V2 form."""

    attribute: str
    long: str
    short: str


@cache
def _names(cls: type[WireHeader]) -> tuple[_Names, ...]:
    fields = zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    return tuple(_Names(attribute, name, cls.SHORT.get(attribute, name)) for attribute, name in fields)


@cache
def _short_form(cls: type[WireHeader]) -> type[msgspec.Struct]:
    """Make a struct of the same fields that reads their short names."""
    hints = get_type_hints(cls, include_extras=True)
    fields = [(field.name, hints[field.name], field.default) for field in msgspec.structs.fields(cls)]
    rename = {each.attribute: each.short for each in _names(cls)}
    return msgspec.defstruct(f"{cls.__name__}Short", fields, kw_only=True, gc=False, rename=rename)


@cache
def _writers(cls: type[WireHeader], names: Names) -> tuple[_Getter, tuple[tuple[str, Callable[[Any], str]], ...]]:
    types = _field_types(cls)
    fields = tuple(
        (each.short if names is Names.SHORT else each.long, _bool_text if types[each.attribute] is bool else str)
        for each in _names(cls)
    )
    if not fields:
        return _no_values, fields
    getter = attrgetter(*cls.__struct_fields__)
    if len(fields) == 1:
        return lambda header: (getter(header),), fields
    return getter, fields


def _no_values(_header: WireHeader) -> tuple[Any, ...]:
    return ()


def _bool_text(value: object) -> str:
    return "true" if value else "false"


@cache
def _field_types(cls: type[WireHeader]) -> dict[str, type]:
    """Give str, int or bool for every field, without ``None`` and without ranges."""
    result: dict[str, type] = {}
    hints = get_type_hints(cls)
    for attribute in cls.__struct_fields__:
        hint = hints[attribute]
        if get_origin(hint) is UnionType:
            (hint,) = (each for each in get_args(hint) if each is not NoneType)
        result[attribute] = hint
    return result


def _decode_by_java_rules(cls: type[H], found: dict[str, str]) -> H:
    values: dict[str, object] = {}
    types = _field_types(cls)
    for field in msgspec.structs.fields(cls):
        text = found.get(field.encode_name)
        if text is None:
            if field.required:
                raise HeaderFieldMissing(cls.__name__, field.encode_name)
        elif types[field.name] is str:
            values[field.encode_name] = text
        elif types[field.name] is bool:
            values[field.encode_name] = text.lower() in {"true", "1"}
        elif _DIGITS.fullmatch(text):
            values[field.encode_name] = int(text)
        else:
            raise HeaderFieldInvalid(cls.__name__, field.encode_name, text)
    try:
        return msgspec.convert(values, cls)
    except msgspec.ValidationError as error:
        name = str(error).rpartition("`$.")[2].removesuffix("`")
        raise HeaderFieldInvalid(cls.__name__, name, str(values[name])) from error
