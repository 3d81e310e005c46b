"""Fault rules as text: reading, writing and refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.faults.grammar import RuleInvalid, parse_rule, rule_text
from rocketwire.server.faults.rule import (
    ALWAYS,
    LONGEST_DELAY_MS,
    OWN_CODES,
    Action,
    AnswerWith,
    Corrupt,
    CorruptedPart,
    Delay,
    Disconnect,
    Drop,
    Duplicate,
    FaultPart,
    ListenerName,
    Rule,
)
from rocketwire.wire.facts.codes import RequestCode, ResponseCode

PRINTABLE = st.text(min_size=1).filter(str.isprintable).map(str.strip).filter(bool)
PARTS = st.sampled_from(FaultPart)


@st.composite
def delays(draw: st.DrawFn) -> Delay:
    shortest = draw(st.integers(0, LONGEST_DELAY_MS))
    return Delay(shortest=shortest, longest=draw(st.integers(shortest, LONGEST_DELAY_MS)), part=draw(PARTS))


ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(AnswerWith, code=st.integers(-(2**15), 2**15 - 1), remark=st.none() | PRINTABLE),
    delays(),
    st.builds(Drop, part=PARTS),
    st.builds(Disconnect, part=PARTS),
    st.builds(Duplicate, part=PARTS),
    st.builds(Corrupt, spot=st.sampled_from(CorruptedPart)),
)
CODES = st.sets(
    (st.sampled_from(RequestCode).map(int) | st.integers(0, 2**31 - 1)).filter(lambda code: code not in OWN_CODES)
)
RULES = st.builds(
    Rule,
    action=ACTIONS,
    codes=CODES.map(lambda codes: tuple(sorted(codes))),
    group=st.none() | PRINTABLE,
    topic=st.none() | PRINTABLE,
    listener=st.none() | st.sampled_from(ListenerName),
    rate=st.integers(0, ALWAYS),
    count=st.none() | st.integers(1, 2**31 - 1),
)


@given(RULES)
def test_a_written_rule_is_read_as_the_same_rule(rule: Rule) -> None:
    text = rule_text(rule)
    assert text.isprintable()
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "answer:215,code=SEND_MESSAGE_V2,topic=T,rate=0.1",
            Rule(action=AnswerWith(code=215), codes=(310,), topic="T", rate=100_000),
        ),
        ("answer:SYSTEM_BUSY:a:b", Rule(action=AnswerWith(code=ResponseCode.SYSTEM_BUSY, remark="a:b"))),
        (r'answer:2:"a, \"b\" \\"', Rule(action=AnswerWith(code=2, remark='a, "b" \\'))),
        ("delay:50", Rule(action=Delay(shortest=50, longest=50))),
        ("delay:50-70:answer", Rule(action=Delay(shortest=50, longest=70, part=FaultPart.ANSWER))),
        ("drop", Rule(action=Drop())),
        ("disconnect:answer", Rule(action=Disconnect(part=FaultPart.ANSWER))),
        ("duplicate:request", Rule(action=Duplicate())),
        ("corrupt", Rule(action=Corrupt())),
        ("corrupt:length", Rule(action=Corrupt(spot=CorruptedPart.LENGTH))),
        (" drop , code = 11 | SEND_MESSAGE|10 ", Rule(action=Drop(), codes=(10, 11))),
        ("drop,group=%RETRY%G,count=3", Rule(action=Drop(), group="%RETRY%G", count=3)),
        ("drop,listener=namesrv,rate=.000001", Rule(action=Drop(), listener=ListenerName.NAME_SERVER, rate=1)),
        ("drop,rate=1", Rule(action=Drop())),
        ("drop,rate=1.000", Rule(action=Drop())),
        ("drop,rate=0.0", Rule(action=Drop(), rate=0)),
        ("drop,code=40", Rule(action=Drop(), codes=(40,))),
    ],
)
def test_valid_rules_are_read(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is no action: expected answer:CODE[:REMARK], delay:MS[-MS][:request|answer], drop[:"),
        ("frop", "frop is no action: expected answer:CODE"),
        ("answer", "answer code '': expected a number from -32768 to 32767 or a name, such as SYSTEM_BUSY"),
        ("answer:40000", "answer code 40000: expected a number from -32768 to 32767 or a name, such as SYSTEM_BUSY"),
        ("answer:2:", "remark '': expected printable text, in quotation marks if it has a comma or one itself"),
        ('answer:2:a"b"', 'remark a"b": expected printable text'),
        (
            "answer:2:busy, very",
            "very is no condition: expected code=, group=, topic=, rate=, count=, listener=; a remark",
        ),
        ("drop,very", "very is no condition: expected code=, group=, topic=, rate=, count=, listener="),
        ("delay", "delay in ms '': expected a whole number from 0 to 600000"),
        ("delay:9-5", "longest delay in ms 5: expected a whole number from 9 to 600000"),
        ("delay:5:body", "delay of body: expected request or answer"),
        ("drop:all", "drop of all: expected request or answer"),
        ("corrupt:all", "corrupt all: expected header or body or length"),
        (
            "drop,code=SEND",
            "request code SEND: expected a number from 0 to 2147483647 or a name, such as SEND_MESSAGE",
        ),
        ("drop,topic=", "topic '': expected printable text"),
        ("drop,topic=a\nb", r"topic 'a\nb': expected printable text"),
        ('drop,group="x', '"x: the quotation mark has no second one'),
        ("drop,rate=1.5", "rate 1.5: expected a number from 0 to 1, with six decimals at most"),
        ("drop,rate=1.000001", "rate 1.000001: expected a number from 0 to 1, with six decimals at most"),
        ("drop,count=0", "count 0: expected a whole number from 1 to 2147483647"),
        ("drop,listener=store", "listener store: expected broker or namesrv"),
        ("drop,count=1,count=2", "count= is given twice"),
        (
            "drop:answer,code=CHECK_TRANSACTION_STATE|310",
            "CHECK_TRANSACTION_STATE: the server itself sends it to clients; expected delay, drop, disconnect, ",
        ),
        ("answer:2,code=40", "NOTIFY_CONSUMER_IDS_CHANGED: the server itself sends it to clients; expected delay"),
    ],
)
def test_malformed_rules_are_refused(text: str, problem: str) -> None:
    with pytest.raises(RuleInvalid) as caught:
        parse_rule(text)
    assert str(caught.value).startswith(problem)
