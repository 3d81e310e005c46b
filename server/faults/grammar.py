r"""The text form of fault rules: parser and writer.

    RULE      = ACTION *( "," KEY "=" VALUE )
    ACTION    = "answer:" CODE [ ":" REMARK ] / "delay:" MS [ "-" MS ] [ ":" PART ]
              / ( "drop" / "disconnect" / "duplicate" ) [ ":" PART ] / "corrupt" [ ":" SPOT ]
    PART      = "request" / "answer"
    SPOT      = "header" / "body" / "length"
    KEY       = "code" / "group" / "topic" / "rate" / "count" / "listener"

A remark, group or topic that contains a comma or a quotation mark is quoted; inside the quotes `\"` and `\\` are
escapes. The value of "code" is one or several numbers or names of request codes, separated by "|".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import IntEnum, StrEnum
from functools import partial
from typing import Any, Final, TypeVar

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
from rocketwire.wire.java import INT32_MAX

E = TypeVar("E", bound=StrEnum)

_INT16_MIN, _INT16_MAX = -(2**15), 2**15 - 1
_FIELD: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")*')
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_NUMBER: Final = re.compile(r"-?[0-9]{1,10}")
_RATE: Final = re.compile(r"(?:0|1|0?\.[0-9]{1,6}|1\.0{1,6})")
_ACTIONS: Final = (
    "answer:CODE[:REMARK], delay:MS[-MS][:request|answer], drop[:request|answer], disconnect[:request|answer], "
    "duplicate[:request|answer], corrupt[:header|body|length]"
)
_KEYS: Final = "code=, group=, topic=, rate=, count=, listener="


class RuleInvalid(Exception):
    """A text is not a valid fault rule; the message is one line that names what is allowed."""


# --- reading ---


def parse_rule(text: str) -> Rule:
    """Parse a rule.

    Raises:
        RuleInvalid: the text is not a rule.
    """
    action_text, *conditions = _fields(text)
    name, _, argument = action_text.partition(":")
    read = _READERS.get(name.strip())
    if read is None:
        raise RuleInvalid(f"{_shown(name)} is no action: expected {_ACTIONS}")
    action = read(argument.strip())
    values: dict[str, Any] = {}
    for condition in conditions:
        key, equals, value = (part.strip() for part in condition.partition("="))
        if key not in _CONDITIONS or not equals:
            hint = "; a remark with a comma needs quotation marks" if isinstance(action, AnswerWith) else ""
            raise RuleInvalid(f"{_shown(condition)} is no condition: expected {_KEYS}{hint}")
        attribute, read_value = _CONDITIONS[key]
        if attribute in values:
            raise RuleInvalid(f"{key}= is given twice")
        values[attribute] = read_value(value)
    rule = Rule(action=action, **values)
    _check_own(rule)
    return rule


def _fields(text: str) -> list[str]:
    """Split at the commas outside quotation marks."""
    found = []
    at = 0
    while True:
        match = _FIELD.match(text, at)
        end = at if match is None else match.end()
        found.append(text[at:end].strip())
        if end == len(text):
            return found
        if text[end] != ",":
            raise RuleInvalid(f"{_shown(text[end:])}: the quotation mark has no second one")
        at = end + 1


def _shown(text: str) -> str:
    return text if text and text.isprintable() else repr(text)


def _text(text: str, what: str) -> str:
    """Parse a remark or name, quoted or not."""
    match = _QUOTED.fullmatch(text)
    plain = text if match is None else re.sub(r"\\(.)", r"\1", match[1])
    if (match is None and '"' in text) or not plain or not plain.isprintable():
        raise RuleInvalid(
            f"{what} {_shown(text)}: expected printable text, in quotation marks if it has a comma or one itself"
        )
    return plain


def _number(text: str, low: int, high: int, what: str) -> int:
    number = int(text) if _NUMBER.fullmatch(text) else low - 1
    if not low <= number <= high:
        raise RuleInvalid(f"{what} {_shown(text)}: expected a whole number from {low} to {high}")
    return number


def _code(text: str, names: type[IntEnum], low: int, high: int, what: str) -> int:
    if text in names.__members__:
        return int(names[text])
    number = int(text) if _NUMBER.fullmatch(text) else low - 1
    if not low <= number <= high:
        example = next(name for name in names.__members__ if name.startswith(("SEND_MESSAGE", "SYSTEM_BUSY")))
        raise RuleInvalid(f"{what} {_shown(text)}: expected a number from {low} to {high} or a name, such as {example}")
    return number


def _one_of(choices: type[E], text: str, what: str) -> E:
    try:
        return choices(text)
    except ValueError as error:
        raise RuleInvalid(f"{what} {_shown(text)}: expected {' or '.join(choices)}") from error


def _answer(argument: str) -> Action:
    code, colon, remark = (part.strip() for part in argument.partition(":"))
    return AnswerWith(
        code=_code(code, ResponseCode, _INT16_MIN, _INT16_MAX, "answer code"),
        remark=_text(remark, "remark") if colon else None,
    )


def _delay(argument: str) -> Action:
    times, colon, part = (each.strip() for each in argument.partition(":"))
    first, dash, last = times.partition("-")
    shortest = _number(first, 0, LONGEST_DELAY_MS, "delay in ms")
    longest = _number(last, shortest, LONGEST_DELAY_MS, "longest delay in ms") if dash else shortest
    return Delay(
        shortest=shortest, longest=longest, part=_one_of(FaultPart, part, "delay of") if colon else FaultPart.REQUEST
    )


def _parted(action: type[Drop | Disconnect | Duplicate]) -> Callable[[str], Action]:
    def read(argument: str) -> Action:
        return action(part=_one_of(FaultPart, argument, f"{action.NAME} of")) if argument else action()

    return read


def _corrupt(argument: str) -> Action:
    return Corrupt(spot=_one_of(CorruptedPart, argument, "corrupt")) if argument else Corrupt()


def _codes(value: str) -> tuple[int, ...]:
    codes = (_code(each.strip(), RequestCode, 0, INT32_MAX, "request code") for each in value.split("|"))
    return tuple(sorted(set(codes)))


def _rate(value: str) -> int:
    if not _RATE.fullmatch(value):
        raise RuleInvalid(f"rate {_shown(value)}: expected a number from 0 to 1, with six decimals at most")
    whole, _, decimals = value.partition(".")
    return int(whole or "0") * ALWAYS + int(decimals.ljust(6, "0"))


def _count(value: str) -> int:
    return _number(value, 1, INT32_MAX, "count")


def _listener(value: str) -> ListenerName:
    return _one_of(ListenerName, value, "listener")


def _check_own(rule: Rule) -> None:
    """Reject answer faults of requests that the server itself sends: the client answers them."""
    own = OWN_CODES.intersection(rule.codes)
    action = rule.action
    answer = isinstance(action, AnswerWith) or getattr(action, "part", FaultPart.REQUEST) is FaultPart.ANSWER
    if own and answer:
        names = ", ".join(RequestCode(code).name for code in sorted(own))
        raise RuleInvalid(
            f"{names}: the server itself sends it to clients; expected delay, drop, disconnect, duplicate or corrupt "
            "of the request"
        )


_READERS: Final[dict[str, Callable[[str], Action]]] = {
    AnswerWith.NAME: _answer,
    Delay.NAME: _delay,
    Drop.NAME: _parted(Drop),
    Disconnect.NAME: _parted(Disconnect),
    Duplicate.NAME: _parted(Duplicate),
    Corrupt.NAME: _corrupt,
}
_CONDITIONS: Final[dict[str, tuple[str, Callable[[str], object]]]] = {
    "code": ("codes", _codes),
    "group": ("group", partial(_text, what="group")),
    "topic": ("topic", partial(_text, what="topic")),
    "rate": ("rate", _rate),
    "count": ("count", _count),
    "listener": ("listener", _listener),
}


# --- writing ---


def rule_text(rule: Rule) -> str:
    """Format a rule so that `parse_rule` returns an equal one."""
    return ",".join((_action_text(rule.action), *_condition_texts(rule)))


def _action_text(action: Action) -> str:
    match action:
        case AnswerWith():
            return f"answer:{action.code}" + ("" if action.remark is None else f":{_written(action.remark)}")
        case Delay():
            times = f"{action.shortest}" + (f"-{action.longest}" if action.longest > action.shortest else "")
            return f"delay:{times}{_part_text(action.part)}"
        case Corrupt():
            return f"corrupt:{action.spot}"
        case _:
            return f"{action.NAME}{_part_text(action.part)}"


def _part_text(part: FaultPart) -> str:
    return f":{part}"


def _condition_texts(rule: Rule) -> Iterable[str]:
    if rule.codes:
        yield "code=" + "|".join(map(_code_text, rule.codes))
    if rule.group is not None:
        yield f"group={_written(rule.group)}"
    if rule.topic is not None:
        yield f"topic={_written(rule.topic)}"
    if rule.rate != ALWAYS:
        yield "rate=" + f"{rule.rate / ALWAYS:.6f}".rstrip("0").removesuffix(".")
    if rule.count is not None:
        yield f"count={rule.count}"
    if rule.listener is not None:
        yield f"listener={rule.listener}"


def _code_text(code: int) -> str:
    return RequestCode(code).name if code in _KNOWN else str(code)


_KNOWN: Final = frozenset(map(int, RequestCode))


def _written(text: str) -> str:
    if '"' in text or "," in text or text != text.strip():
        return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
    return text
