"""Where our servers treat a malformed header otherwise than Apache's of 4.9.7, and why."""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.server.header_variants import NO_NUMBERS


class Difference(NamedTuple):
    """Variants of some fields of some requests whose outcome differs intentionally."""

    requests: tuple[str, ...]
    fields: tuple[str, ...]
    variants: tuple[str, ...]
    reason: str


_ABSENT: Final = ("missing", "empty (binary)", "null")
_NO_NUMBER: Final = ("missing", "empty", "null", *NO_NUMBERS)
_BLANK: Final = ("empty (json)", "blank")

DIFFERENCES: Final = (
    Difference(("11", "36"), ("consumerGroup", "group"), _BLANK, "Apache makes a group whose name no client accepts"),
    Difference(("11",), ("maxMsgNums",), ("minus",), "at least one message must be requested"),
    Difference(
        ("11",),
        ("maxMsgBytes",),
        ("empty (json)", *NO_NUMBERS),
        "4.9.7 does not know it; 5.5.0 refuses what is no number, as it does in the other numbers of a pull",
    ),
    Difference(("12",), ("maxNum",), ("minus",), "no messages are found, which is no error"),
    Difference(("12",), ("_UNIQUE_KEY_QUERY",), ("upper",), "a boolean as all others are; Apache wants `true` exactly"),
    Difference(
        ("12",), ("_UNIQUE_KEY_QUERY",), ("bare (json)",), "the messages found hold MSG_REGION and TRACE_ON, as 5.5.0's"
    ),
    Difference(
        ("14", "15"),
        ("consumerGroup",),
        _ABSENT,
        "Apache keeps the offset for a group `null`, where no client finds it",
    ),
    Difference(("15",), ("topic",), _ABSENT, "the same with a topic `null`"),
    Difference(("308",), ("topic",), ("bare (json)",), "it was deleted, with all groups' offsets; 4.9.7 keeps these"),
    Difference(("314",), ("*",), ("none", "no field", "null"), "a request without groups copies nothing"),
    Difference(("321",), ("queueId",), ("minus",), "Apache makes a queue -1"),
    Difference(
        ("222",), ("timestamp",), _NO_NUMBER, "Apache resets the group to the year 1970: to all it has consumed"
    ),
    Difference(("223",), ("topic",), _ABSENT, "the clients cannot be queried without it"),
    Difference(
        ("10", "310"), ("batch",), ("upper", "bare"), "the body is no batch: MESSAGE_ILLEGAL says so, 1 does not"
    ),
    Difference(("324",), ("sysFlag",), _NO_NUMBER, "a reply says whether it is compressed, as any message does"),
    Difference(("325",), ("sysFlag",), _ABSENT, "the same"),
    Difference(
        ("17",),
        ("order",),
        ("missing", "empty", "blank", "maybe", "one", "zero", "yes", "space before", "null"),
        "a topic keeps the requested `order`; 4.9.7 drops it",
    ),
    Difference(("17",), ("attributes",), ("blank", "bare"), "4.9.7 does not know it; 5.5.0 refuses what is no change"),
    Difference(
        ("103", "104", "322"),
        ("brokerName", "brokerAddr", "clusterName"),
        _ABSENT,
        "a broker without one cannot be in a route; Apache keeps it under the name null",
    ),
    Difference(("322",), ("*",), ("none", "no field", "null"), "the same"),
    Difference(("103",), ("haServerAddr",), _ABSENT, "every broker says it, as its slaves need it"),
    Difference(
        ("50", "51", "53"),
        (
            *("accessKey", "secretKey", "whiteRemoteAddress", "admin", "defaultTopicPerm", "defaultGroupPerm"),
            *("topicPerms", "groupPerms", "globalWhiteAddrs", "aclFileFullPath"),
        ),
        ("empty (binary)", "null"),
        "they bear the signature of the other fields; Apache checks one in which the word null stands for this",
    ),
    Difference(("53",), ("globalWhiteAddrs",), ("bare",), "7 is no address"),
    Difference(("100",), ("value",), _ABSENT, "Apache stores a key without a value, which then cannot be read"),
)
