"""What the fuzzer begins with: requests and bodies out of the golden captures, and words that the formats know."""

from collections.abc import Iterator
from typing import Final

from rocketwire.wire.facts import properties
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2
from rocketwire.wire.frame import decode_frame
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.stored_properties import STEERING_NAMES
from tests.kernel.fuzz import calls, forwards, sends
from tests.wire import golden
from tests.wire.http2.script import OPS, scripts, step

_SENDS: Final = {
    RequestCode.SEND_MESSAGE: False,
    RequestCode.SEND_MESSAGE_V2: True,
    RequestCode.SEND_BATCH_MESSAGE: True,
}
_OTHERS: Final = {
    RequestCode.PULL_MESSAGE,
    RequestCode.LITE_PULL_MESSAGE,
    RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.HEART_BEAT,
}
_LONGEST: Final = 4000  # bytes; longer seeds make a slow fuzzer

_JSON: Final = [
    *(f'"{name}":' for name in ("code", "extFields", "flag", "language", "opaque", "version", "remark")),
    '"serializeTypeCurrentRPC":"JSON"',
    '"language":"JAVA"',
    *(f'"{letter}":"' for letter in "abcdefghijklmn"),
    *('"topic":"', '"queueId":"', '"queueOffset":"', '"commitOffset":"', '"consumerGroup":"', '"sysFlag":"'),
    *("\\u0001", "\\u0002", "\\ud83d\\ude00", "\\ud800", '\\"', "\\\\", "\\/", "\\n", "true", "false", "null"),
    *("2147483647", "-2147483648", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-0", "01"),
    *("{", "}", '","', '":"', '"code":310,', '"code":10,', '"code":320,', '"code":11,', '"code":15,', '"code":361,'),
]
_PROPERTIES: Final = [
    *(f"{name}\x01" for name in ("KEYS", "TAGS", "WAIT", "CLUSTER", "UNIQ_KEY", *sorted(STEERING_NAMES))),
    *(f"{name}\x01" for name in ("TIMER_OUT_MS", "REAL_TOPIC", "REAL_QID", "__SHARDINGKEY")),
    *("TIMER_DELAY_SEC\x013", "TIMER_DELAY_MS\x011500", "TIMER_DELIVER_MS\x011700000005000"),
    *(properties.NAME_SEP, properties.ITEM_SEP, "WAIT\x01true", "WAIT\x01false", "\0", "é", "😀"),
]
JSON_WORDS: Final = [word.encode() for word in _JSON]
PROPERTY_WORDS: Final = [word.encode() for word in _PROPERTIES]
BAD_UTF_8: Final = [b"\xed\xa0\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xff"]
_HTTP2: Final = [
    *(step(op, 1, 1) for op in OPS),
    *(step("frame", 1, kind, 5, 4, data=bytes(4)) for kind in range(10)),
    *(b"\0\3", b"\0\4\0\0", b"\x3f\xe1\x1f", b"\x20", b"\xbe", b"\x82\x86\x84"),
]
NUMBERS: Final = [b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\x16", b"\x7f\xff", b"\x80\0"]

_FIELDS: Final = [  # tags of protobuf's fields, with short lengths, and long numbers
    *(bytes([number << 3 | kind, 1]) for number in range(1, 16) for kind in (0, 2)),
    *(
        b"\x80\x01",
        b"\xff\xff\xff\xff\x0f",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x80\x80\x00",
        b"\x0a\x00",
        b"\x12\x00",
    ),
]
_HANDLES: Final = [
    b" 0",
    b" 1",
    b" R",
    b" 32767",
    b" 32768",
    b" 999999999999999999",
    b" 2147483648",
    b" -1",
    b" broker-a ",
]

WORDS: Final[dict[str, list[bytes]]] = {
    "id_hosts": [b'{"msgId":"C0000201', b',"msgId":"', b",C0000201", b"\0\5msgId\0\0\0\x08C0000201", *NUMBERS],
    "pulls": [*JSON_WORDS, *NUMBERS, *BAD_UTF_8],
    "json_lines": [
        b"\xda\xa3\x20\xa7",
        b"\xda\xa3\x20\xab",
        b"\0\0\0\x30",
        b"\0\0\0\x5b",
        *PROPERTY_WORDS,
        *NUMBERS,
        *BAD_UTF_8,
    ],
    "http2": [*_HTTP2, *NUMBERS],
    "call_acks": [*_FIELDS, *_HANDLES, *BAD_UTF_8],
    "request_scan": [*_FIELDS, *NUMBERS],
    "call_deliveries": [b"\xda\xa3\x20\xa7", *PROPERTY_WORDS, *NUMBERS, *BAD_UTF_8],
    "call_forwards": [*_FIELDS, *PROPERTY_WORDS, *BAD_UTF_8],
    "broker_answers": [*JSON_WORDS, b'"queueOffset":"', b'"msgId":"', *NUMBERS, *BAD_UTF_8],
    "sends": [*JSON_WORDS, *PROPERTY_WORDS, *NUMBERS, *BAD_UTF_8],
}
"""Words of each oracle's input; libFuzzer puts them in."""


EDGES: Final = [
    b"%d" % (edge + more)
    for edge in (0, 2**31, -(2**31), 2**63, -(2**63), 2**64, 10**18, 10**19)
    for more in (-1, 0, 1)
]
"""What stands in the place of a number now and then, around the ends of Java's integers."""

VALUES: Final[list[bytes]] = [
    *EDGES,
    *(b"", b"-", b"+1", b"-0", b"00", b"1.0", b"1e3", b" 1", b"true", b"false", b"TRUE", b"null", b"{}", b"[]", b'"'),
    *(b"\\u0041", b"\\ud83d\\ude00", b"\\ud800", b"\\udc00", b"\\u00", b"\\x", b"\\", b"\0", b"\n", b"\x7f"),
    *BAD_UTF_8,
]
"""What stands in the place of a whole value or name now and then: changes of single bytes hardly make it."""


def of(oracle: str) -> set[bytes]:
    """Inputs that the oracle takes, each once; also "properties" and "batch", which are for `tests.fuzz`."""
    return {seed for name, seed in _all() if name == oracle and len(seed) <= _LONGEST}


def _all() -> Iterator[tuple[str, bytes]]:
    for capture in golden.captures():
        for frame in golden.frames(capture):
            code = frame.row["code"]
            if frame.row["kind"] != "request" or not (code in _SENDS or code in _OTHERS):
                continue
            yield from _of_request(frame.data, _SENDS.get(code))
    for script in scripts():
        yield "http2", script
    yield from calls.seeds()
    yield from forwards.seeds()


def _of_request(data: bytes, short: bool | None) -> Iterator[tuple[str, bytes]]:
    """Seeds out of one frame; `short`: which names a send's fields have; None: it is no send."""
    frame = decode_frame(data)
    header = bytes([frame.serialize_type]) + data[8 : len(data) - len(frame.body)]
    yield "id_hosts", header
    if short is None:
        yield "pulls", header
        return
    yield "sends", header + sends.BODY + frame.body
    fields = decode_ext(SendMessageRequestHeader, frame.header.ext, short=short)
    yield "properties", (fields.properties or "").encode()
    for magic, host in ((MAGIC_V1, "10.0.0.1"), (MAGIC_V2, "::1")):
        text = (fields.properties or "").encode()[:_LONGEST]
        message = MessageRecord(
            topic=fields.topic, queue_id=1, body=bytes(frame.body), properties=text, store_host=(host, 1), magic=magic
        )
        yield "json_lines", encode_record(message) * 2
    if fields.batch:
        yield "batch", bytes(frame.body)
