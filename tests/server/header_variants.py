"""Requests whose header fields are missing, empty or malformed, one at a time, and their outcomes at a server.

For every request code there is a request that is right (`header_bases`). Of each field that its header declares,
variants are made; each is sent in JSON and in ROCKETMQ, and its outcome is one short text:

- ``0``: carried out, as the right request is;
- ``0 offset=0 topic=None``: carried out, but the answer or the stored message differs in these;
- ``1``: refused with that response code; of Apache's servers, the name of the exception comes after it;
- ``none``, ``closed``: no answer, or the end of the connection.

`examined` is a generator that does no I/O: it yields frames and is sent answers, so that a server in this process and a
JVM get the same requests.
"""

from __future__ import annotations

import json
import re
import struct
import types
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import msgspec

from rocketwire.server.registry import BROKER_FAMILIES, FAMILIES
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE
from rocketwire.wire.header import decode_header
from rocketwire.wire.headers import WireHeader
from rocketwire.wire.java import Int64

JSON: Final = 0
BINARY: Final = 1
SERIALISATIONS: Final = {JSON: "json", BINARY: "binary"}
_LANGUAGE: Final = 0
_VERSION: Final = 407
_EXCEPTION: Final = re.compile(r"(?:[a-z]+\.)+([A-Z]\w+)|^([A-Z]\w+(?:Exception|Error))\b")


class Raw(NamedTuple):
    """A field's value that stands in a JSON header as it is, without quotes."""

    text: str


Ext: TypeAlias = Mapping[str, "str | Raw"]


def text_of(ext: Ext, *names: str) -> str | None:
    """The text of the first of these fields that exists."""
    value = next((ext[name] for name in names if name in ext), None)
    return value.text if isinstance(value, Raw) else value


class ServerRequest(NamedTuple):
    """A request: the kind of server, its opaque, and its bytes."""

    to_broker: bool
    opaque: int
    frame: bytes


class ServerAnswer(NamedTuple):
    """The answer; `code` is None when there was none, and `closed` when the connection ended."""

    code: int | None
    remark: str = ""
    ext: Mapping[str, str] = {}
    body: bytes = b""
    closed: bool = False


Examination: TypeAlias = Generator[ServerRequest, ServerAnswer, None]
Exchange: TypeAlias = Generator[ServerRequest, ServerAnswer, ServerAnswer]
Outcomes: TypeAlias = dict[str, dict[str, dict[str, str]]]
"""By request, field and variant."""


def framed(code: int, ext: Ext | Raw | None, body: bytes, *, opaque: int, serialisation: int, flag: int = 0) -> bytes:
    """A request as an official client writes it, except for the fields' values; `Raw` fields are for JSON only."""
    if serialisation == JSON:
        fields = "" if ext is None else f'"extFields":{_json(ext)},'
        text = (
            f'{{"code":{code},{fields}"flag":{flag},"language":"JAVA","opaque":{opaque},'
            f'"serializeTypeCurrentRPC":"JSON","version":{_VERSION}}}'
        )
        header = text.encode()
    else:
        assert not isinstance(ext, Raw)
        entries = b"".join(_entry(name, value) for name, value in (ext or {}).items())
        header = struct.pack(">hbhiii", code, _LANGUAGE, _VERSION, opaque, flag, 0)
        header += struct.pack(">i", len(entries)) + entries
    return struct.pack(">iI", 4 + len(header) + len(body), serialisation << 24 | len(header)) + header + body


def _json(ext: Ext | Raw) -> str:
    if isinstance(ext, Raw):
        return ext.text
    items = (
        f"{json.dumps(name)}:{value.text if isinstance(value, Raw) else json.dumps(value, ensure_ascii=False)}"
        for name, value in ext.items()
    )
    return "{" + ",".join(items) + "}"


def _entry(name: str, value: str | Raw) -> bytes:
    assert isinstance(value, str)
    key, data = name.encode(), value.encode()
    return struct.pack(">h", len(key)) + key + struct.pack(">i", len(data)) + data


def parse_frame(data: bytes) -> tuple[int, int, ServerAnswer]:
    """The opaque, the flag and the rest of a whole frame without its length."""
    (word,) = struct.unpack_from(">I", data)
    end = 4 + (word & 0xFFFFFF)
    header = decode_header(data[4:end], word >> 24)
    return header.opaque, header.flag, ServerAnswer(header.code, header.remark or "", header.ext or {}, data[end:])


def answer_of_client(opaque: int, flag: int, request: ServerAnswer) -> bytes | None:
    """A client's answer to a request of the server; None: the request is one-way."""
    assert not flag & FLAG_RESPONSE
    if flag & FLAG_ONEWAY:
        return None
    body = b'{"messageQueueTable":{}}' if request.code == 221 else b"{}"
    return framed(0, None, body, opaque=opaque, serialisation=JSON, flag=FLAG_RESPONSE)


@dataclass(slots=True)
class Scene:
    """The state of the server that the requests use, filled by `header_bases`; `sign` adds a signature."""

    facts: dict[str, str] = field(default_factory=dict)
    sign: Callable[[Ext, bytes], Ext] = lambda ext, _body: ext
    opaque: int = 0
    made: int = 0

    def fresh(self, name: str) -> str:
        """A name that was not used on this server."""
        self.made += 1
        return f"{name}{self.made}"

    def request(
        self, code: int, ext: Ext | Raw | None, body: bytes = b"", *, to_broker: bool = True, serialisation: int = JSON
    ) -> Exchange:
        """Send a request."""
        self.opaque += 1
        if isinstance(ext, Mapping):
            ext = self.sign(ext, body)
        frame = framed(code, ext, body, opaque=self.opaque, serialisation=serialisation)
        return (yield ServerRequest(to_broker, self.opaque, frame))


Effect: TypeAlias = "Callable[[Scene, Ext, ServerAnswer], Generator[ServerRequest, ServerAnswer, dict[str, str]]]"


def answer_fields(
    _scene: Scene, _ext: Ext, reply: ServerAnswer
) -> Generator[ServerRequest, ServerAnswer, dict[str, str]]:
    """The fields of a successful answer."""
    yield from ()  # no request is needed
    return {name: value for name, value in reply.ext.items() if name not in VOLATILE}


_ROUTES: Final = {int(route.code): route for routes in FAMILIES.values() for route in routes if not route.grpc_only}
_OF_BROKERS: Final = {int(route.code) for routes in BROKER_FAMILIES.values() for route in routes}


@dataclass(frozen=True, slots=True)
class Base:
    """A right request of one code, from which variants are made.

    `ext` makes its fields: those that must be new in each request are. `only` are the fields to vary, by their long
    names; all of the header's without it. `effect` gives the outcome of a request that was carried out, `about`
    distinguishes the request from others of its code.
    """

    code: int
    ext: Callable[[Scene], dict[str, str]]
    body: bytes = b""
    only: tuple[str, ...] = ()
    effect: Effect = answer_fields
    about: str = ""

    @property
    def header(self) -> type[WireHeader]:
        """The class of its header."""
        header: type[WireHeader] | None = _ROUTES[self.code].header
        assert header is not None
        return header

    @property
    def short(self) -> bool:
        """Whether its fields have one-letter names."""
        return _ROUTES[self.code].short

    @property
    def to_broker(self) -> bool:
        """Whether brokers serve it, and not name servers."""
        return self.code in _OF_BROKERS


def by_label(*bases: Base) -> dict[str, Base]:
    """Requests by their codes and subjects."""
    return {f"{int(base.code)} {base.about}".rstrip(): base for base in bases}


VOLATILE: Final = frozenset(
    {"msgId", "queueOffset", "transactionId", "indexLastUpdateTimestamp", "indexLastUpdatePhyoffset", "timestamp"}
)
"""Fields of answers that differ from request to request or from server to server."""

_LONGEST: Final = "9" * 45


def _numbers(text: str, hint: Any) -> dict[str, str | Raw]:
    bits = 63 if hint == Int64 else 31
    magnitude = text.removeprefix("-")
    return {
        "empty": "",
        "blank": " ",
        "letter": "x",
        "fraction": "1.5",
        "exponent": "1e0",
        "whole fraction": f"{magnitude}.0",
        "word": "null",
        "hex": "0x1",
        "plus": f"+{magnitude}",
        "zeros": f"00{magnitude}",
        "space before": f" {text}",
        "space behind": f"{text} ",
        "other digits": "".join(chr(0x660 + int(digit)) for digit in magnitude),
        "minus": "-1",
        "sign only": "-",
        "two signs": "+-1",
        "separated": f"{magnitude}_0",
        "over": str(1 << bits),
        "under": str(-(1 << bits) - 1),
        "long": _LONGEST,
        "null": Raw("null"),
        "bare": Raw(text),
        "bare fraction": Raw("1.5"),
    }


_TRUTHS: Final[Mapping[str, str | Raw]] = {
    "empty": "",
    "blank": " ",
    "maybe": "maybe",
    "upper": "TRUE",
    "one": "1",
    "zero": "0",
    "yes": "yes",
    "space before": " true",
    "null": Raw("null"),
    "bare": Raw("true"),
}
_TEXTS: Final[Mapping[str, str | Raw]] = {
    "empty": "",
    "blank": " ",
    "null": Raw("null"),
    "bare": Raw("7"),
}


MISSING: Final = None
"""The value of an omitted field."""


class Variant(NamedTuple):
    """A change of a right request: of one field, or (`*`) of all of them together."""

    field: str
    name: str
    key: str
    value: str | Raw | None

    def of(self, right: Mapping[str, str]) -> Ext | Raw | None:
        """The request's fields with the change made."""
        if self.field != WHOLE:
            others = {key: value for key, value in right.items() if key != self.key}
            return others if self.value is MISSING else {**right, self.key: self.value}
        if self.name == "unknown field":
            return {**right, "nobody": "x"}
        return {"none": None, "null": Raw("null"), "no field": {}}[self.name]


WHOLE: Final = "*"

# Bits of a sysFlag say that hosts are IPv6's. Apache's brokers trust a client that sets them, and damage their log.
_HARMLESS: Final = {("sysFlag", "minus"): str(-(1 << 31))}


def variants(base: Base, right: Mapping[str, str]) -> Iterator[Variant]:
    """All variants of a right request."""
    hints = get_type_hints(base.header, include_extras=True)
    for each in msgspec.structs.fields(base.header):
        long = each.encode_name
        if base.only and long not in base.only:
            continue
        key = base.header.SHORT_NAMES.get(each.name, long) if base.short else long
        yield Variant(long, "missing", key, MISSING)
        for name, value in _values(hints[each.name], right.get(key)).items():
            yield Variant(long, name, key, _HARMLESS.get((long, name), value))
    if not base.only:
        for name in ("none", "no field", "unknown field"):
            yield Variant(WHOLE, name, "", None)
        yield Variant(WHOLE, "null", "", Raw("null"))


def _values(hint: Any, right: str | None) -> Mapping[str, str | Raw]:
    if get_origin(hint) is types.UnionType:
        (hint,) = (each for each in get_args(hint) if each is not types.NoneType)
    if hint is str:
        return _TEXTS
    return _TRUTHS if hint is bool else _numbers(right or "1", hint)


def examined(
    scene: Scene, bases: Mapping[str, Base], outcomes: Outcomes, *, again: Callable[[Scene], Examination]
) -> Examination:
    """Send a server all variants of the requests and store the outcomes under their labels.

    `again` is what a new connection begins with, after one that ended or fell silent.
    """
    for label, base in bases.items():
        found: dict[str, dict[str, dict[str, str]]] = {}
        for serialisation, short in SERIALISATIONS.items():
            right = yield from _effect_of(scene, base, base.ext(scene), serialisation)
            assert isinstance(right, dict), (label, short, right)
            for variant in variants(base, base.ext(scene)):
                if serialisation == BINARY and isinstance(variant.value, Raw):
                    continue
                effect = yield from _effect_of(scene, base, variant.of(base.ext(scene)), serialisation)
                if effect in ("none", "closed"):
                    yield from again(scene)
                outcome = effect if isinstance(effect, str) else _against(right, effect)
                found.setdefault(variant.field, {}).setdefault(variant.name, {})[short] = outcome
        outcomes[label] = {name: _merged(each) for name, each in found.items()}


def _merged(found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Outcomes by variant; where the serialisations differ, or one cannot hold it, under a name each."""
    result: dict[str, str] = {}
    for name, by_serialisation in found.items():
        if len(by_serialisation) == len(SERIALISATIONS) and len(set(by_serialisation.values())) == 1:
            result[name] = by_serialisation[SERIALISATIONS[JSON]]
        else:
            result |= {f"{name} ({short})": outcome for short, outcome in by_serialisation.items()}
    return result


def _effect_of(
    scene: Scene, base: Base, ext: Ext | Raw | None, serialisation: int
) -> Generator[ServerRequest, ServerAnswer, dict[str, str] | str]:
    reply = yield from scene.request(base.code, ext, base.body, to_broker=base.to_broker, serialisation=serialisation)
    if reply.closed:
        return "closed"
    if reply.code is None:
        return "none"
    if reply.code:
        exception = _EXCEPTION.search(reply.remark)
        return f"{reply.code} {exception[1] or exception[2]}" if exception else str(reply.code)
    return (yield from base.effect(scene, ext if isinstance(ext, dict) else {}, reply))


def _against(right: Mapping[str, str], found: Mapping[str, str]) -> str:
    names = [name for name in {**right, **found} if right.get(name) != found.get(name)]
    return " ".join(["0", *(f"{name}={found.get(name)}" for name in names)])


# --- how outcomes are kept ---


def packed(outcomes: Outcomes) -> str:
    """Outcomes as text: a line for each field, its variants by their outcome, and malformed numbers as one."""
    lines = []
    for label, fields in outcomes.items():
        rows = []
        for name, by_variant in fields.items():
            by_outcome: dict[str, list[str]] = {}
            for variant, outcome in by_variant.items():
                by_outcome.setdefault(outcome, []).append(variant)
            short = {outcome: _grouped(some) for outcome, some in by_outcome.items()}
            rows.append(f"  {json.dumps(name)}: {json.dumps(short)}")
        lines.append(f" {json.dumps(label)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def unpacked(text: str) -> Outcomes:
    """Read the text of `packed`."""
    found: dict[str, dict[str, dict[str, list[str]]]] = json.loads(text)
    return {
        label: {
            name: {
                variant: outcome
                for outcome, some in by_outcome.items()
                for each in some
                for variant in (NO_NUMBERS if each == _GROUP else (each,))
            }
            for name, by_outcome in fields.items()
        }
        for label, fields in found.items()
    }


NO_NUMBERS: Final = (
    "blank",
    "letter",
    "fraction",
    "exponent",
    "whole fraction",
    "word",
    "hex",
    "space before",
    "space behind",
    "sign only",
    "two signs",
    "separated",
    "over",
    "under",
    "long",
    "bare fraction (json)",
)
"""The variants of a number that Java does not parse, without the empty one."""
_GROUP: Final = "no number"


def _grouped(some: Sequence[str]) -> list[str]:
    if not set(NO_NUMBERS) <= set(some):
        return list(some)
    return [*(each for each in some if each not in NO_NUMBERS), _GROUP]
