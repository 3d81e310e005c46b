"""Test cases of access control: accounts, requests of every code, and a 4.9.7 broker's answers.

The answers are recorded from Apache's broker in `tests/server/acl/answers.json`: for each request the accounts
that are refused, with the remark. Apache's remarks end with a line of its Java code, which is omitted.
`python -m compat_tests.acl_cases BROKER` queries a broker with the accounts `ACCOUNTS` and prints the record.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from compat_tests.remoting import Connection, FrameRequest

FOLDER: Final = Path(__file__).parent.parent / "tests" / "server" / "acl"
ACCOUNTS: Final = FOLDER / "accounts.yml"
ANSWERS: Final = FOLDER / "answers.json"

REFUSED: Final = "org.apache.rocketmq.acl.common.AclException"
_PLACE: Final = re.compile(r", org\.apache\.rocketmq\.[\w.$]+\([\w.:]+\)$")

SECRETS: Final = {
    "admin-key-1": "secret-of-admin",
    "producer-key": "secret-of-producer",
    "consumer-key": "secret-of-consumer",
    "defaults-key": "secret-of-defaults",
    "open-key-1": "secret-of-open",
    "admin-perms-key": "secret-of-admin-perms",
    "bare-key": "secret-of-bare",
    "away-key": "secret-of-away",
    "local-key": "secret-of-local",
    "odd-perms-key": "secret-of-odd",
    "87654321": "12345678",
}
"""The accounts of `ACCOUNTS`, with their secret keys."""

TOPICS: Final = ("TopicA", "TopicB", "TopicC", "TopicD", "TopicX", "%RETRY%GroupA", "RMQ_SYS_TRACE_TOPIC")
GROUPS: Final = ("GroupA", "GroupB", "GroupC", "GroupD", "GroupX")

# Every code that a 4.9.7 broker or client knows, and one that none knows.
OTHER_CODES: Final = (
    *(13, 14, 17, 21, 22, 23, 25, 26, 27, 28, 29, 30, 31, 32, 33, 37, 39, 40, 43, 45),
    *(46, 100, 101, 102, 103, 104, 105, 106, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209),
    *(210, 211, 212, 213, 214, 215, 216, 219, 220, 221, 222, 223, 224, 300, 301, 302, 303, 304, 305, 307, 308, 309),
    *(311, 312, 313, 314, 315, 317, 318, 319, 321, 322, 323, 324, 325, 326, 327, 328, 9999),
)


OF_GROUPS: Final = ("%RETRY%GroupB", "%RETRY%GroupX", "%DLQ%GroupA", "%DLQ%GroupB", "%DLQ%GroupX")
"""Topics that belong to a group."""


BATCH: Final = 320
REPLIES: Final = (324, 325)
_CHANGES_OF_NAME_SERVERS: Final = frozenset({100, 102, 205, 216, 217, 327})
"""Codes that no broker serves, and that a proxy allows to administrators only."""
ADMINS_ONLY: Final = _CHANGES_OF_NAME_SERVERS | {21, 26, 201, 305, 306, 308, 314, 316, 317, 321, 323, 328, 329}
"""Codes that rocketwire allows to administrators only, and Apache's broker to every account."""


class Question(NamedTuple):
    """A request without its signature."""

    code: int
    fields: Mapping[str, str]
    body: str = ""


class Who(NamedTuple):
    """The signing account, and how the signature is spoilt; no key: no signature."""

    key: str | None
    secret: str = ""
    without: str = ""


WHO: Final = {
    **{key: Who(key, secret) for key, secret in SECRETS.items()},
    "nobody": Who(None),
    "stranger": Who("stranger-key", "secret-of-stranger"),
    "wrong secret": Who("open-key-1", "secret-of-openn"),
    "no signature": Who("open-key-1", "secret-of-open", without="Signature"),
    "no key": Who("open-key-1", "secret-of-open", without="AccessKey"),
    "wrong secret at home": Who("local-key", "secret-of-locall"),
}


def _heartbeat(groups: Mapping[str, tuple[str, ...]]) -> str:
    consumers = [
        {
            "groupName": group,
            "consumeType": "CONSUME_PASSIVELY",
            "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
            "unitMode": False,
            "subscriptionDataSet": [{"topic": topic, "subString": "*", "subVersion": 1} for topic in topics],
        }
        for group, topics in groups.items()
    ]
    data = {"clientID": "client", "producerDataSet": [{"groupName": "P"}], "consumerDataSet": consumers}
    return json.dumps(data, separators=(",", ":"))


def _sends() -> list[Question]:
    common = {"defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "queueId": "0", "sysFlag": "0"}
    rest = {"bornTimestamp": "1", "flag": "0", "properties": "", "reconsumeTimes": "0", "unitMode": "false"}
    found = []
    for topic in TOPICS:
        found.append(
            Question(10, {"producerGroup": "GroupB", "group": "GroupB", "topic": topic, **common, **rest}, "body")
        )
        short = {"a": "GroupA", "b": topic, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": ""}
        found.append(Question(310, {**short, "j": "0", "k": "false", "l": "0", "m": "false"}, "body"))
    found.append(Question(10, {"producerGroup": "P", "topic": "%RETRY%GroupA", **common, **rest}, "body"))
    found.append(Question(310, {"c": "TBW102"}))
    found += [Question(320, {"a": "P", "b": topic, "c": "TBW102", "d": "4", "m": "true"}) for topic in TOPICS[:4]]
    for topic in OF_GROUPS:
        for group in ("GroupA", "GroupX"):
            named = {"producerGroup": group, "group": group, "topic": topic}
            found.append(Question(10, {**named, **common, **rest}, "body"))
            found.append(Question(310, {**short, "a": group, "b": topic, "j": "0", "k": "false", "m": "false"}, "body"))
    found.append(Question(324, {"producerGroup": "P", "topic": "TopicC", **common, **rest}, "body"))
    found.append(Question(325, {**short, "b": "TopicC", "j": "0", "k": "false", "m": "false"}, "body"))
    return found


def _consuming() -> list[Question]:
    found = [Question(36, {"offset": "0", "group": group, "delayLevel": "0"}) for group in GROUPS]
    found += [Question(38, {"consumerGroup": group}) for group in GROUPS]
    found += [Question(35, {"clientID": "c", "consumerGroup": group}) for group in GROUPS]
    found += [Question(12, {"topic": topic, "key": "K"}) for topic in TOPICS]
    pairs = [(topic, group) for topic in TOPICS[:6] for group in GROUPS]
    for topic, group in pairs:
        both = {"topic": topic, "consumerGroup": group, "queueId": "0"}
        found.append(Question(11, {**both, "queueOffset": "0", "maxMsgNums": "1", "sysFlag": "0", "commitOffset": "0"}))
        found.append(Question(15, {**both, "commitOffset": "0"}))
        found.append(Question(34, {"x": "1"}, _heartbeat({group: (topic,)})))
    for topic in OF_GROUPS:
        both = {"topic": topic, "consumerGroup": "GroupA", "queueId": "0"}
        found.append(Question(11, {**both, "queueOffset": "0", "maxMsgNums": "1", "sysFlag": "0", "commitOffset": "0"}))
        found.append(Question(34, {"x": "1"}, _heartbeat({"GroupA": (topic,)})))
        found.append(Question(12, {"topic": topic, "key": "K"}))
    found.append(Question(34, {"x": "2"}, _heartbeat({})))
    found.append(Question(34, {"x": "3"}, _heartbeat({"GroupB": ("TopicC", "TopicX"), "GroupX": ("TopicA", "TopicD")})))
    found.append(Question(34, {"x": "4"}, _heartbeat(dict.fromkeys(GROUPS, TOPICS[:5]))))
    found.append(Question(35, {"clientID": "c", "producerGroup": "GroupB"}))
    found += [Question(36, {"offset": "0"}), Question(11, {"queueId": "0"}), Question(12, {"key": "K"})]
    return found


QUESTIONS: Final = (*_sends(), *_consuming(), *(Question(code, {"only": "this"}) for code in OTHER_CODES))


def signed(question: Question, who: Who) -> FrameRequest:
    """The request as `who` sends it, signed by an implementation that shares no code with rocketwire's."""
    fields = dict(question.fields)
    body = question.body.encode()
    if who.key is not None:
        fields["AccessKey"] = who.key
        content = "".join(fields[name] for name in sorted(fields)).encode() + body
        fields["Signature"] = base64.b64encode(hmac.new(who.secret.encode(), content, hashlib.sha1).digest()).decode()
        fields.pop(who.without, None)
    return FrameRequest(question.code, fields, body)


def differs(question: Question) -> bool:
    """Whether rocketwire requires another permission than Apache does: see docs/access-control.md."""
    named = (question.fields.get("topic", ""), question.fields.get("b", ""), question.body)
    of_group = question.code in {10, 310} and any(name.startswith("%RETRY%") for name in named)
    forgotten = question.code in ADMINS_ONLY or (question.code in {BATCH, *REPLIES} and any(named))
    return of_group or any("%DLQ%" in name for name in named) or forgotten


def refusal(code: int, remark: str) -> str | None:
    """The remark of a refusal by access control, without Apache's line of code; None: the request was allowed."""
    return _PLACE.sub("", remark) if code == 1 and remark.startswith(REFUSED) else None


def recorded() -> list[tuple[Question, dict[str, str]]]:
    """The requests with the refusals of each of `WHO`; without those that are not refused."""
    found = json.loads(ANSWERS.read_text("utf-8"))
    return [
        (
            Question(row["code"], row["fields"], row["body"]),
            {**found["always"], **{name: remark for remark, names in row["refused"].items() for name in names}},
        )
        for row in found["questions"]
    ]


def ask(broker: str) -> list[tuple[Question, dict[str, str]]]:
    """The same from a broker, now, on one connection."""
    with Connection(broker) as connection:
        answers = iter(connection.ask_all([signed(question, who) for question in QUESTIONS for who in WHO.values()]))
    found = []
    for question in QUESTIONS:
        remarks = {name: refusal(answer.code, answer.remark) for name, answer in zip(WHO, answers, strict=False)}
        found.append((question, {name: remark for name, remark in remarks.items() if remark is not None}))
    return found


def _record(broker: str) -> None:
    answers = ask(broker)
    always = {name: remark for name, remark in answers[0][1].items() if all(r.get(name) == remark for _, r in answers)}
    rows = []
    for question, refused in answers:
        names: dict[str, list[str]] = {}
        for name, remark in refused.items():
            if name not in always:
                names.setdefault(remark, []).append(name)
        rows.append(json.dumps({**question._asdict(), "refused": names}, separators=(",", ":")))
    lines = ",\n".join(rows)
    print(f'{{"always":{json.dumps(always)},\n"questions":[\n{lines}\n]}}')


if __name__ == "__main__":
    _record(sys.argv[1])
