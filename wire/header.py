"""The header of a remoting frame, in RocketMQ's two forms: JSON and ROCKETMQ (binary).

A JSON header is decoded by msgspec into exactly this type. Texts that only fastjson accepts (digits in strings, numbers
as values of extFields, unquoted names ...) are rare: they are decoded a second time by the slow, lenient reader.
``BINARY_HEADER`` is the authority on the ROCKETMQ form; the code below it writes and reads the same bytes faster.
"""

from struct import Struct
from struct import error as struct_error
from typing import Final

import construct as cs
import msgspec

from rocketwire.wire.bodies import fastjson
from rocketwire.wire.errors import BodyInvalid, EntriesTooMany, HeaderInvalid, HeaderTooLarge, SerializeTypeUnknown
from rocketwire.wire.facts.codes import (
    FLAG_ONEWAY,
    FLAG_RESPONSE,
    LANGUAGE_CODES,
    LANGUAGE_OTHER,
    LANGUAGES,
    SerializeType,
)
from rocketwire.wire.java import Int32
from rocketwire.wire.json_bounds import check_entry_count

_JSON: Final = int(SerializeType.JSON)
_ROCKETMQ: Final = int(SerializeType.ROCKETMQ)
_EXT_ENTRY: Final = cs.Struct(
    "key" / cs.Prefixed(cs.Int16sb, cs.GreedyBytes),
    "value" / cs.Prefixed(cs.Int32sb, cs.GreedyBytes),
)

BINARY_HEADER: Final = cs.Struct(
    "code" / cs.Int16sb,
    "language" / cs.Int8sb,
    "version" / cs.Int16sb,
    "opaque" / cs.Int32sb,
    "flag" / cs.Int32sb,
    "remark" / cs.Prefixed(cs.Int32sb, cs.GreedyBytes),
    "ext" / cs.Prefixed(cs.Int32sb, cs.GreedyRange(_EXT_ENTRY)),
    cs.Terminated,
)
"""The ROCKETMQ form; texts are UTF-8, an empty remark is no remark, no entries are no extFields.

Apache's servers treat an entry with an empty value as missing, and so does `decode_header`."""

_FIXED: Final = Struct(">hbhiii")
_OPAQUE_AT: Final = Struct(">hbh").size  # code, language and version come before it
_OPAQUE: Final = b'"opaque":'
_OPAQUE_0: Final = b'"opaque":0'
_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_LENIENT_LIMIT: Final = (
    1 << 17
)  # bytes of a header that is no plain JSON; that takes long to read, and none is so large
MAX_HEADER_BYTES: Final = 1 << 20
"""Of a header: messages have properties of 32 KiB, pulls subscriptions of 256 KiB."""
MAX_HEADER_FIELDS: Final = 1024
"""Of extFields: none of the protocol has more than twenty. In JSON the members beside them count, too."""
_MOST_ENTRIES: Final = MAX_HEADER_FIELDS + 8  # with the members beside extFields
UNCHECKED_HEADER_BYTES: Final = 2 * MAX_HEADER_FIELDS
"""Bytes: a JSON header of so many has no more fields than that."""
_BYTES: Final = "headerBytes"
_FIELDS: Final = "headerFields"


class Header(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request's or response's header.

    ``ext`` holds the extFields by wire name; None (no such key) differs from an empty one.
    """

    code: Int32
    opaque: Int32
    flag: Int32 = 0
    language: str = "JAVA"
    version: Int32 = 0
    remark: str | None = None
    ext: dict[str, str] | None = msgspec.field(default=None, name="extFields")

    @property
    def is_response(self) -> bool:
        """Whether this answers a request."""
        return bool(self.flag & FLAG_RESPONSE)

    @property
    def is_oneway(self) -> bool:
        """Whether no answer is wanted."""
        return bool(self.flag & FLAG_ONEWAY)


class _Start(msgspec.Struct, frozen=True, gc=False):
    """What is read of a JSON header that is too large."""

    code: Int32
    opaque: Int32
    flag: Int32 = 0


_decode_strict: Final = msgspec.json.Decoder(Header).decode
_decode_start: Final = msgspec.json.Decoder(_Start).decode
_encode_text: Final = msgspec.json.Encoder().encode


def decode_header(data: bytes | memoryview, serialize_type: int) -> Header:
    """Read a header.

    Keys that are absent in JSON take RocketMQ's defaults: language JAVA, all numbers 0.

    Raises:
        HeaderTooLarge: it is longer than `MAX_HEADER_BYTES`, or has more extFields than `MAX_HEADER_FIELDS`.
        HeaderInvalid: the bytes are no header of that type.
        SerializeTypeUnknown: the type is neither JSON nor ROCKETMQ.
    """
    if serialize_type == _JSON:
        if len(data) > UNCHECKED_HEADER_BYTES:
            _check_json(data)
        try:
            return _decode_strict(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _decode_lenient(data)
    if serialize_type == _ROCKETMQ:
        return _decode_binary(bytes(data[:MAX_HEADER_BYTES]), len(data))
    raise SerializeTypeUnknown(serialize_type)


def _check_json(data: bytes | memoryview) -> None:
    if len(data) > MAX_HEADER_BYTES:
        raise _json_too_large(data, _BYTES, MAX_HEADER_BYTES)
    text = bytes(data)
    try:
        check_entry_count(text, _MOST_ENTRIES)
    except EntriesTooMany:
        raise _json_too_large(text, _FIELDS, MAX_HEADER_FIELDS) from None


def _json_too_large(data: bytes | memoryview, limit: str, most: int) -> HeaderInvalid:
    try:
        start = _decode_start(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return HeaderInvalid(f"header of {len(data)} bytes is no plain JSON, and too large for another")
    return HeaderTooLarge(limit, most, code=start.code, opaque=start.opaque, flag=start.flag)


def encode_header(header: Header, serialize_type: int) -> bytes:
    """Write a header as Apache's servers and clients do (JSON: keys in alphabetical order, no blanks).

    Raises:
        HeaderInvalid: a value does not fit its field (ROCKETMQ: code and version are 16 bits wide).
        SerializeTypeUnknown: the type is neither JSON nor ROCKETMQ.
    """
    if serialize_type == _JSON:
        return _encode_json(header)
    if serialize_type == _ROCKETMQ:
        return _encode_binary(header)
    raise SerializeTypeUnknown(serialize_type)


def encode_header_around_opaque(header: Header, serialize_type: int) -> tuple[bytes, bytes]:
    """Write a header as the bytes before the value of its opaque and the bytes after it.

    Raises:
        HeaderInvalid: a value does not fit its field (ROCKETMQ: code and version are 16 bits wide).
        SerializeTypeUnknown: the type is neither JSON nor ROCKETMQ.
    """
    if serialize_type == _JSON:
        # No text before it can hold this: quotes in texts are escaped, and extFields have no numbers for values.
        before, _, after = encode_header(msgspec.structs.replace(header, opaque=0), serialize_type).partition(_OPAQUE_0)
        return before + _OPAQUE, after
    whole = encode_header(header, serialize_type)
    return whole[:_OPAQUE_AT], whole[_OPAQUE_AT + _INT32.size :]


def _encode_json(header: Header) -> bytes:
    try:
        return b'{"code":%d,%b"flag":%d,"language":%b,"opaque":%d,%b"serializeTypeCurrentRPC":"JSON","version":%d}' % (
            header.code,
            b"" if header.ext is None else b'"extFields":%b,' % _encode_text(header.ext),
            header.flag,
            b'"JAVA"' if header.language == "JAVA" else _encode_text(header.language),
            header.opaque,
            b"" if header.remark is None else b'"remark":%b,' % _encode_text(header.remark),
            header.version,
        )
    except UnicodeEncodeError as error:
        raise HeaderInvalid(f"header cannot be written: {error}") from error


def _decode_lenient(data: bytes | memoryview) -> Header:
    try:
        found = fastjson.loads(bytes(data), lenient_limit=_LENIENT_LIMIT, most_entries=_MOST_ENTRIES)
    except BodyInvalid as error:
        raise HeaderInvalid(f"header is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise HeaderInvalid("header is not a JSON object")
    ext = found.get("extFields")
    if ext is not None and not isinstance(ext, dict):
        raise HeaderInvalid("header has extFields that are not a JSON object")
    language = found.get("language")
    remark = found.get("remark")
    return Header(
        code=_lenient_int(found, "code"),
        opaque=_lenient_int(found, "opaque"),
        flag=_lenient_int(found, "flag"),
        language="JAVA" if language is None else _lenient_text(language),
        version=_lenient_int(found, "version"),
        remark=None if remark is None else _lenient_text(remark),
        ext=None
        if ext is None
        else {_lenient_text(key): _lenient_text(value) for key, value in ext.items() if value is not None},
    )


def _lenient_text(value: fastjson.Json) -> str:
    try:
        return fastjson.to_text(value)
    except ValueError as error:
        raise HeaderInvalid(f"header has a text that is none: {str(value)[:100]!r}") from error


def _lenient_int(found: dict[fastjson.Json, fastjson.Json], key: str) -> int:
    value = found.get(key, 0)
    try:
        return fastjson.to_int32(0 if value is None else value)
    except ValueError as error:
        raise HeaderInvalid(f"header has an invalid {key}: {str(value)[:100]!r}") from error


def _encode_binary(header: Header) -> bytes:
    remark = b"" if header.remark is None else _utf8(header.remark)
    entries: list[bytes] = []
    try:
        for key, value in (header.ext or {}).items():
            raw_key, raw_value = _utf8(key), _utf8(value)
            entries += (_INT16.pack(len(raw_key)), raw_key, _INT32.pack(len(raw_value)), raw_value)
        ext = b"".join(entries)
        language = LANGUAGE_CODES.get(header.language, LANGUAGE_CODES[LANGUAGE_OTHER])
        fixed = _FIXED.pack(header.code, language, header.version, header.opaque, header.flag, len(remark))
    except struct_error as error:
        raise HeaderInvalid(f"header does not fit the ROCKETMQ type: {error}") from error
    return b"".join((fixed, remark, _INT32.pack(len(ext)), ext))


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise HeaderInvalid(f"header cannot be written: {error}") from error


def _decode_binary(data: bytes, size: int) -> Header:
    """Read a header of so many bytes, of which no more than the first `MAX_HEADER_BYTES` are given."""
    try:
        code, language, version, opaque, flag, remark_length = _FIXED.unpack_from(data)
        if size > MAX_HEADER_BYTES:
            raise HeaderTooLarge(_BYTES, MAX_HEADER_BYTES, code=code, opaque=opaque, flag=flag)
        at = _FIXED.size
        remark, at = _text(data, at, remark_length, len(data))
        (ext_length,) = _INT32.unpack_from(data, at)
        at += _INT32.size
        if ext_length != len(data) - at:
            raise HeaderInvalid(f"ROCKETMQ header has extFields of {ext_length} bytes in {len(data) - at}")
        ext: dict[str, str] = {}
        fields = 0
        while at < len(data):
            fields += 1
            if fields > MAX_HEADER_FIELDS:
                raise HeaderTooLarge(_FIELDS, MAX_HEADER_FIELDS, code=code, opaque=opaque, flag=flag)
            (length,) = _INT16.unpack_from(data, at)
            key, at = _text(data, at + _INT16.size, length, len(data))
            (length,) = _INT32.unpack_from(data, at)
            value, at = _text(data, at + _INT32.size, length, len(data))
            if value:
                ext[key] = value
            else:  # Apache's servers treat an empty value as missing
                ext.pop(key, None)
    except struct_error as error:
        raise HeaderInvalid(f"ROCKETMQ header of {len(data)} bytes is cut short") from error
    return Header(
        code=code,
        opaque=opaque,
        flag=flag,
        language=LANGUAGES.get(language, LANGUAGE_OTHER),
        version=version,
        remark=remark or None,
        ext=ext or None,
    )


def _text(data: bytes, at: int, length: int, limit: int) -> tuple[str, int]:
    end = at + length
    if not at <= end <= limit:
        raise HeaderInvalid(f"ROCKETMQ header has a text of {length} bytes where {limit - at} are left")
    # Bad UTF-8 is replaced, as Java does.
    return data[at:end].decode("utf-8", "replace"), end
