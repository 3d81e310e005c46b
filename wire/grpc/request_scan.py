"""Counts the fields and entries of a request on its bytes. `kernel/grpc/bounds/request_scan.c` is the same in C.

The scan follows the messages that a request's descriptor has, skips all other bytes at once, and stops at the first
excess, so that it costs no more than the bounds allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import FieldDescriptor

from rocketwire.wire.grpc.bounds import ENTRIES, REQUESTS
from rocketwire.wire.grpc.methods import METHODS

WITHIN: Final = 0
MALFORMED: Final = -1
FIELDS: Final = -2
"""What a scan finds, or the place of the field that has too many entries: see `place_of`."""

MOST_NUMBER: Final = 31
"""The highest number of a field whose message or entries are counted."""
_MOST_DEPTH: Final = 16
"""Messages within each other; the deepest request has six."""
_MOST_GROUPS: Final = 100
"""Groups within each other; protobuf reads no more either. No request has any: they are unknown fields."""

_NUMBER, _EIGHT_BYTES, _BYTES, _GROUP, _GROUP_END, _FOUR_BYTES = 0, 1, 2, 3, 4, 5
_GROUP_FORMS: Final = frozenset({_GROUP, _GROUP_END})
_FIXED: Final = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
_NO_MESSAGE: Final = -1
_LABEL_REPEATED: Final = 3
_LONGEST: Final = 1 << 30
_PACKED: Final = frozenset(
    getattr(FieldDescriptor, f"TYPE_{name}")
    for name in ("BOOL", "ENUM", "INT32", "INT64", "SINT32", "SINT64", "UINT32", "UINT64")
)


class FieldRule(NamedTuple):
    """A field that is counted.

    Attributes:
        number: Its number.
        most: The most entries in one message; 0: it is not repeated.
        message: The place of its message in `Rules.messages`; -1: it has none.
        packed: Whether one field may have several entries: numbers, one after the other.
    """

    number: int
    most: int
    message: int
    packed: bool


class CallRule(NamedTuple):
    """A method.

    Attributes:
        message: The place of its request in `Rules.messages`.
        fields: The most fields.
        short: A request of at most so many bytes cannot have too much of anything; it is not scanned.
    """

    message: int
    fields: int
    short: int


class Rules(NamedTuple):
    """What is counted.

    Attributes:
        messages: Of each message, its fields.
        calls: The methods, by path.
        names: The full names of repeated fields, by place.
    """

    messages: tuple[tuple[FieldRule, ...], ...]
    calls: Mapping[str, CallRule]
    names: Mapping[int, str]


def place_of(message: int, number: int) -> int:
    """The place of a field: of the number of its message and its own."""
    return (message << 8 | number) + 1


def make_rules() -> Rules:
    """The rules of all methods, from their descriptors and `bounds`.

    Raises:
        KeyError: a method or a repeated field has no bound.
    """
    numbers: dict[str, int] = {}
    messages: list[tuple[FieldRule, ...]] = []
    names: dict[int, str] = {}

    def number_of(descriptor: Any) -> int:  # noqa: ANN401 - the stubs have two classes of descriptors
        found = numbers.get(descriptor.full_name)
        if found is None:
            found = numbers[descriptor.full_name] = len(messages)
            messages.append(())
            messages[found] = tuple(rule for field in descriptor.fields if (rule := rule_of(field)) is not None)
            names.update(
                (place_of(found, field.number), field.full_name) for field in descriptor.fields if _is_repeated(field)
            )
        return found

    def rule_of(field: FieldDescriptor) -> FieldRule | None:
        most = ENTRIES[field.full_name] if _is_repeated(field) else 0
        message = _NO_MESSAGE if field.message_type is None else number_of(field.message_type)
        if not most and message == _NO_MESSAGE:
            return None
        if field.number > MOST_NUMBER:
            raise ValueError(field.full_name)
        return FieldRule(field.number, most, message, bool(most) and field.type in _PACKED)

    calls = {}
    for path, method in METHODS.items():
        message, fields = number_of(method.request.DESCRIPTOR), REQUESTS[path].fields
        calls[path] = CallRule(message, fields, min(_short(messages, message), 2 * fields))
    return Rules(tuple(messages), calls, names)


class RequestScan:
    """Scans the requests of all methods."""

    def __init__(self, messages: tuple[tuple[FieldRule, ...], ...], calls: Mapping[str, CallRule]) -> None:
        self._messages = [{rule.number: rule for rule in message} for message in messages]
        self._calls = calls

    def check(self, path: str, payload: bytes) -> int:
        """What is wrong with a request: `WITHIN`, `MALFORMED`, `FIELDS`, or the place of a field.

        That of an unknown method is `WITHIN`, and so is a short one, whatever it has.
        """
        call = self._calls.get(path)
        if call is None or len(payload) <= call.short:
            return WITHIN
        return _Walk(self._messages, payload, call.fields).message(call.message, 0, len(payload), 1)

    def check_calls(self, events: list[tuple[object, ...]]) -> list[tuple[int, int]] | None:
        """The events, by index, whose requests have something wrong, and what; None: there are none."""
        found = [
            (index, wrong)
            for index, event in enumerate(events)
            if event[0] == 0 and (wrong := self.check(event[2], event[4]))  # type: ignore[arg-type] # CALL's parts
        ]
        return found or None


class _Walk:
    """One scan of one request."""

    def __init__(self, messages: list[dict[int, FieldRule]], data: bytes, fields: int) -> None:
        self._messages = messages
        self._data = data
        self._left = fields

    def message(self, number: int, at: int, end: int, depth: int) -> int:
        """What is wrong with the message of this number that lies between two places."""
        if depth > _MOST_DEPTH:
            return MALFORMED
        rules = self._messages[number]
        counts: Counter[int] = Counter()
        groups: list[int] = []
        while at < end:
            tag, at = self._tag(at, end, groups)
            if at < 0:
                return at
            form, rule = tag & 7, rules.get(tag >> 3)
            if form in _GROUP_FORMS:
                continue
            begin, at = self._value(form, at, end)
            if at < 0:
                return MALFORMED
            if rule is None or groups:
                continue
            counts[rule.number] += self._entries(begin, at) if rule.packed and form == _BYTES else 1
            if 0 < rule.most < counts[rule.number]:
                return place_of(number, rule.number)
            nested = rule.message != _NO_MESSAGE and form == _BYTES
            wrong = self.message(rule.message, begin, at, depth + 1) if nested else WITHIN
            if wrong:
                return wrong
        return MALFORMED if groups else WITHIN

    def _tag(self, at: int, end: int, groups: list[int]) -> tuple[int, int]:
        """A tag, and where it ends, or what is wrong; `groups` has the numbers of those that are open."""
        tag, at = self._varint(at, end)
        if at < 0 or not 8 <= tag < 1 << 32:
            return 0, MALFORMED
        form, number = tag & 7, tag >> 3
        if form == _GROUP_END:
            return tag, at if groups and groups.pop() == number else MALFORMED
        if not self._left:
            return 0, FIELDS
        self._left -= 1
        if form == _GROUP:
            groups.append(number)
        return tag, at if len(groups) <= _MOST_GROUPS else MALFORMED

    def _value(self, form: int, at: int, end: int) -> tuple[int, int]:
        """Where a value begins and ends; the end is -1 if there is none."""
        if form == _NUMBER:
            return at, self._varint(at, end)[1]
        if form == _BYTES:
            length, begin = self._varint(at, end)
            return begin, -1 if begin < 0 or length > end - begin else begin + length
        size = _FIXED.get(form, end - at + 1)  # there is no other form
        return at, -1 if size > end - at else at + size

    def _entries(self, begin: int, end: int) -> int:
        """Packed numbers: their last bytes are below 0x80."""
        return sum(byte < 0x80 for byte in self._data[begin:end])

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        """A number of seven bits a byte, and where it ends: -1 if it is none."""
        found = 0
        for shift in range(0, 64, 7):
            if at >= end or (shift == 63 and self._data[at] > 1):
                return 0, -1
            byte = self._data[at]
            at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found, at
        return 0, -1


def _short(messages: Sequence[Sequence[FieldRule]], message: int) -> int:
    """How many bytes no excess of entries fits into: each takes two, a packed one less."""
    found = _LONGEST
    for rule in messages[message]:
        if rule.most:
            found = min(found, rule.most if rule.packed else 2 * rule.most)
        if rule.message != _NO_MESSAGE:
            found = min(found, _short(messages, rule.message))
    return found


def _is_repeated(field: FieldDescriptor) -> bool:
    """Whether it is a list or a map; older versions of protobuf have a label only."""
    found = getattr(field, "is_repeated", None)
    return bool(getattr(field, "label", None) == _LABEL_REPEATED if found is None else found)
