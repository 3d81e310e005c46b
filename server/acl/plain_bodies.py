"""Bodies that another server is to read exactly as they were read here.

A proxy decides by the topics and groups that it reads in a body, and a broker acts on those that it reads there itself.
Apache's readers of JSON find a member by a hash of its name. They take `GroupName` or `group_name` for `groupName`, in
5.5.0 also `t` with a NUL behind for `t`, and any name made up to have the same hash; they take the last
of several members with one name, a number for its digits, and `{"$ref": ...}` for an object elsewhere in the text. So
only the members that clients write are passed on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.facts.codes import RequestCode

DECIDED_BY_BODY: Final = frozenset(
    {
        RequestCode.HEART_BEAT,
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.UNLOCK_BATCH_MQ,
        RequestCode.QUERY_ASSIGNMENT,
        RequestCode.BATCH_ACK_MESSAGE,
    }
)
"""Codes of requests whose topics and groups are in the body."""
_NAMES: Final = ("groupName", "topic", "consumerGroup", "c", "t")
"""The members that name topics and groups."""
_LISTS: Final = ("consumerDataSet", "subscriptionDataSet", "acks")
"""The members that contain those."""
_OTHERS: Final = (
    *("producerDataSet", "heartbeatFingerprint", "withoutSub"),
    *("consumeType", "messageModel", "consumeFromWhere", "unitMode"),
    *("classFilterMode", "subString", "tagsSet", "codeSet", "subVersion", "expressionType", "filterClassSource"),
    *("mqSet", "brokerName", "queueId", "onlyThisBroker", "strategyName"),
    *("r", "so", "q", "rq", "pt", "it", "b"),
)
"""What else clients write, as the classes of Java up to 5.5.0 have it."""
_TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys((*_NAMES, "clientId"), str),
    **dict.fromkeys(_LISTS, list),
    **dict.fromkeys(_OTHERS, object),
}
"""The members that there may be, and what they may be: readers differ in how they take a number for a name."""
_TYPES_IN_HEARTBEATS: Final = {name: kind for name, kind in _TYPES.items() if name != "clientId"} | {"clientID": str}
"""Heartbeats write the client's id otherwise than all others."""
_SHOWN: Final = 64


def check_one_reading(code: int, body: memoryview) -> None:
    """Check that every reader finds the same clients, topics and groups in a body.

    Args:
        code: The code of its request.
        body: The body.

    Raises:
        BodyInvalid: it is no plain JSON, or one of its names may be read as another.
    """
    if not body:
        return
    types = _TYPES_IN_HEARTBEATS if code == RequestCode.HEART_BEAT else _TYPES
    try:
        json.loads(str(body, "utf-8"), object_pairs_hook=partial(_check, types))
    except (ValueError, RecursionError) as error:
        raise BodyInvalid("the body is no plain JSON") from error


def _check(types: Mapping[str, type], members: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, value in members:
        kind = types.get(name)
        if kind is None or name in seen or not isinstance(value, kind):
            raise BodyInvalid(f"the member {name[:_SHOWN]!r} of the body may be read as another")
        seen.add(name)
