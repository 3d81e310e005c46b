"""Fault rules, as `--fault` and /faults take them."""

from __future__ import annotations

from collections.abc import Iterator

from rocketwire.server.faults.grammar import RuleInvalid, parse_rule, rule_text
from tests.fuzz.part import Part, always


def check(data: bytes) -> None:
    """A rule, which is written as one that is read the same, or one line of text."""
    try:
        rule = parse_rule(data.decode(errors="replace"))
    except RuleInvalid as error:
        assert str(error).isprintable(), str(error)
        return
    text = rule_text(rule)
    assert text.isprintable(), text
    assert parse_rule(text) == rule, text


def seeds() -> Iterator[bytes]:
    """Each action and condition."""
    yield b"answer:215,code=SEND_MESSAGE_V2,topic=T,rate=0.1"
    yield b'answer:SYSTEM_BUSY:"later, please \\"x\\" \\\\",code=10|310,group=G,count=5'
    yield b"delay:100-200:answer,listener=namesrv"
    yield b"drop:answer,rate=1"
    yield b"disconnect,count=2147483647"
    yield b"duplicate:request,rate=.000001"
    yield b'corrupt:length,topic="a,b"'


PART = Part(
    opened=always(check),
    seeds=seeds,
    words=[
        *("answer:", "delay:", "drop", "disconnect", "duplicate", "corrupt", ":request", ":answer", ":header", ":body"),
        *(",code=", ",group=", ",topic=", ",rate=", ",count=", ",listener=", "broker", "namesrv", "SEND_MESSAGE", "|"),
        *('"', '\\"', "\\\\", "0.5", "215", "-", " ", ",", "="),
    ],
    longest=300,
)
