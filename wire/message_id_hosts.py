"""Message ids in the headers of answers, with another host in place of the broker's.

An offset message id begins with the address of the broker that has the message, and clients connect to that address
when they request the message. A proxy puts its own address there. Both have the same length, so the header keeps its.
`kernel/relay/id_hosts.c` does the same in place.
"""

import re
from struct import Struct
from typing import Final

from rocketwire.wire.facts.codes import SerializeType

_NAME: Final = "msgId"
_IN_JSON: Final = re.compile(rb'((?<=[{,])"%b":")([^"\\]*)' % _NAME.encode())
"""Nothing else in a JSON object without blanks looks so: a quote within a text has a backslash before it."""

_REMARK_LENGTH_AT: Final = 13
_LENGTH: Final = Struct(">I")
_NAME_LENGTH: Final = Struct(">H")


def replace_hosts(header: bytes, serialize_type: int, old: bytes, new: bytes) -> bytes:
    """Give the header with `new` for `old` where a message id in its field `msgId` begins so.

    The field may hold several ids, joined by commas. A header that cannot be read stays as it is, in the ROCKETMQ form
    from the place on where its lengths do not fit.

    Args:
        header: Of a frame, without the words before it.
        serialize_type: Its form; one of another form than JSON and ROCKETMQ stays as it is.
        old: Hexadecimal digits of the broker's address, as they stand in its ids.
        new: As many digits of the other address.
    """
    if serialize_type == SerializeType.JSON:
        return _IN_JSON.sub(lambda found: found[1] + _ids(found[2], old, new), header)
    if serialize_type == SerializeType.ROCKETMQ:
        return _in_binary(header, old, new)
    return header


def _in_binary(header: bytes, old: bytes, new: bytes) -> bytes:
    parts: list[bytes] = []
    done = 0
    fields_length_at = _end_of_text(header, _REMARK_LENGTH_AT)
    name_at = fields_length_at + _LENGTH.size
    while name_at + _NAME_LENGTH.size <= len(header):
        value_length_at = name_at + _NAME_LENGTH.size + _NAME_LENGTH.unpack_from(header, name_at)[0]
        end = _end_of_text(header, value_length_at)
        if end > len(header):
            break
        if header[name_at + _NAME_LENGTH.size : value_length_at] == _NAME.encode():
            value_at = value_length_at + _LENGTH.size
            parts += header[done:value_at], _ids(header[value_at:end], old, new)
            done = end
        name_at = end
    return b"".join((*parts, header[done:]))


def _end_of_text(header: bytes, length_at: int) -> int:
    """Where a text ends whose length stands there; behind the header if that does not fit."""
    value_at = length_at + _LENGTH.size
    return value_at + (_LENGTH.unpack_from(header, length_at)[0] if value_at <= len(header) else 0)


def _ids(value: bytes, old: bytes, new: bytes) -> bytes:
    return b",".join(new + each[len(old) :] if each.startswith(old) else each for each in value.split(b","))
