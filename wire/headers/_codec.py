"""Typed headers from and to extFields.

A header class is a frozen ``msgspec.Struct`` (``WireHeader``): a request's header is built for every
request, and a dataclass of 14 frozen fields costs more than everything else done to it. The wire name of a
field is its name in camel case unless ``field(name=...)`` gives another one. ``SHORT`` of a class holds the
one-letter names of its V2 form.

msgspec converts the texts. It accepts some that Java does not (`1e0`, `null`, `1` for true), so numbers that are not
all digits behind a minus, such booleans, and all that msgspec rejects are parsed again, slowly, by Java's rules. That
accepts the value after all (`+5`, `007`, a boolean that is neither true nor false), or finds it invalid.

Invalid numbers are treated as by Apache's servers. These decode most headers by reflection: the field then counts as
missing, so it keeps its default, if it has one. Headers of the busiest requests they decode by hand (`READ_BY_HAND`,
and all V2 forms): those are rejected.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from rocketwire.wire.errors import HeaderFieldInvalid, HeaderFieldMissing
from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, Int32, Int64

_DIGITS: Final = re.compile(r"[+-]?\d{1,40}")  # of any script, as Java reads them
_ONE: Final = "1"
_RANGES: Final[dict[object, range]] = {
    Int32: range(INT32_MIN, INT32_MAX + 1),
    Int64: range(INT64_MIN, INT64_MAX + 1),
}
_NO_FIELDS: Final[dict[str, str]] = {}


class HeaderNames(Enum):
    """Which names of the fields a frame uses."""

    LONG = auto()
    SHORT = auto()


class WireHeader(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all typed headers: frozen, keyword-only, wire names in camel case."""

    SHORT_NAMES: ClassVar[dict[str, str]] = {}
    """Short (V2) name of a field by its Python name; fields that are not listed keep their wire name."""

    REJECTS_INVALID_NUMBERS: ClassVar[bool] = False
    """Whether Apache's servers reject an invalid number even in an optional field."""


H = TypeVar("H", bound=WireHeader)
_Getter: TypeAlias = Callable[[WireHeader], tuple[Any, ...]]


def decode_ext(cls: type[H], ext: dict[str, str] | None, *, short: bool = False) -> H:
    """Build a typed header from extFields; names the class does not know are ignored.

    Raises:
        HeaderFieldMissing: a required field is absent.
        HeaderFieldInvalid: a text is not of its field's type or range, and the field is required or read by hand.
    """
    found = _NO_FIELDS if ext is None else ext
    if not _plain(cls, found, short=short):
        return _decode_by_java_rules(cls, found, short=short)
    try:
        if short:
            # Two conversions in C cost half of one conversion after renaming the keys here.
            return msgspec.convert(msgspec.convert(found, _short_form(cls), strict=False), cls, from_attributes=True)
        return msgspec.convert(found, cls, strict=False)
    except msgspec.ValidationError:
        return _decode_by_java_rules(cls, found, short=short)


def encode_ext(header: WireHeader, *, short: bool = False) -> dict[str, str]:
    """Give the extFields of a typed header; fields that are None are omitted."""
    values, fields = _writers(type(header), HeaderNames.SHORT if short else HeaderNames.LONG)
    result: dict[str, str] = {}
    for value, (name, text) in zip(values(header), fields, strict=True):
        if value is not None:
            result[name] = text(value)
    return result


class _Names(NamedTuple):
    """The names of a field in Python, on the wire, and on the wire in the V2 form."""

    attribute: str
    long: str
    short: str


@cache
def _names(cls: type[WireHeader]) -> tuple[_Names, ...]:
    fields = zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    return tuple(_Names(attribute, name, cls.SHORT_NAMES.get(attribute, name)) for attribute, name in fields)


@cache
def _short_form(cls: type[WireHeader]) -> type[msgspec.Struct]:
    """Make a struct of the same fields that reads their short names."""
    hints = get_type_hints(cls, include_extras=True)
    fields = [(field.name, hints[field.name], field.default) for field in msgspec.structs.fields(cls)]
    rename = {each.attribute: each.short for each in _names(cls)}
    return msgspec.defstruct(f"{cls.__name__}Short", fields, kw_only=True, gc=False, rename=rename)


@cache
def _writers(cls: type[WireHeader], names: HeaderNames) -> tuple[_Getter, tuple[tuple[str, Callable[[Any], str]], ...]]:
    types = _field_types(cls)
    fields = tuple(
        (each.short if names is HeaderNames.SHORT else each.long, _bool_text if types[each.attribute] is bool else str)
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


def _plain(cls: type[WireHeader], found: dict[str, str], *, short: bool) -> bool:
    """Whether msgspec reads these texts as Java does, if it reads them."""
    numbers, truths = _texts(cls, short=short)
    for name in numbers:
        text = found.get(name)
        if text is not None and not (text.isdigit() or (text[:1] == "-" and text[1:].isdigit())):
            return False
    return all(found.get(name) != _ONE for name in truths)


@cache
def _texts(cls: type[WireHeader], *, short: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The wire names of the fields that are numbers, and of those that are booleans."""
    types = _field_types(cls)
    names = [(each.short if short else each.long, types[each.attribute]) for each in _names(cls)]
    return tuple(name for name, kind in names if isinstance(kind, range)), tuple(
        name for name, kind in names if kind is bool
    )


@cache
def _field_types(cls: type[WireHeader]) -> dict[str, type[str | bool] | range]:
    """Give str, bool or the range of numbers for every field, without ``None``."""
    result: dict[str, type[str | bool] | range] = {}
    hints = get_type_hints(cls, include_extras=True)
    for attribute in cls.__struct_fields__:
        hint = hints[attribute]
        if get_origin(hint) in {Union, UnionType}:
            (hint,) = (each for each in get_args(hint) if each is not NoneType)
        result[attribute] = hint if hint in {str, bool} else _RANGES[hint]
    return result


def _decode_by_java_rules(cls: type[H], found: dict[str, str], *, short: bool) -> H:
    values: dict[str, str | bool | int] = {}
    types = _field_types(cls)
    strict = short or cls.REJECTS_INVALID_NUMBERS
    needed = _required(cls)
    for attribute, long, name in _names(cls):
        text = found.get(name if short else long)
        if text is None:
            if attribute in needed:
                raise HeaderFieldMissing(cls.__name__, long)
            continue
        kind = types[attribute]
        if kind is str:
            values[attribute] = text
        elif kind is bool:
            values[attribute] = text.lower() == "true"
        elif isinstance(kind, range) and _DIGITS.fullmatch(text) and int(text) in kind:
            values[attribute] = int(text)
        elif attribute in needed or strict:
            raise HeaderFieldInvalid(cls.__name__, long, text)
    return cls(**values)


@cache
def _required(cls: type[WireHeader]) -> frozenset[str]:
    return frozenset(field.name for field in msgspec.structs.fields(cls) if field.required)
