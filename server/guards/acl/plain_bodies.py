"""Bodies that another server is to read exactly as they were read here.

A proxy decides by the topics and groups that it reads in a body, and a broker acts on those that it reads there itself.
Apache's reader of JSON takes `GroupName` or `group_name` for `groupName`, the last of several members with one name,
and `{"$ref": ...}` for an object elsewhere in the text. Clients write none of this.
"""

from __future__ import annotations

import json
from typing import Any, Final

from rocketwire.wire.codes import RequestCode
from rocketwire.wire.errors import BodyInvalid

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
_MEMBERS: Final = (
    "clientID",
    "consumerDataSet",
    "groupName",
    "subscriptionDataSet",
    "topic",
    "consumerGroup",
    "acks",
    "c",
    "t",
)
"""The members that name clients, topics and groups, and those that contain them."""


def _folded(name: str) -> str:
    """The name as Apache's reader compares it with those that it knows when no name is the same."""
    return name.replace("_", "").replace("-", "").lower().removeprefix("is")


_EXACT: Final = {_folded(name): name for name in _MEMBERS}


def check_one_reading(body: memoryview) -> None:
    """Check that every reader finds the same topics and groups in a body.

    Raises:
        BodyInvalid: it is no plain JSON, or one of its names may be read as another.
    """
    if not body:
        return
    try:
        json.loads(str(body, "utf-8"), object_pairs_hook=_checked)
    except (ValueError, RecursionError) as error:
        raise BodyInvalid("the body is no plain JSON") from error


def _checked(members: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in members:
        folded = _folded(name)
        if name.startswith(("$", "@")) or folded in seen or _EXACT.get(folded, name) != name:
            raise BodyInvalid(f"the member {name!r} of the body may be read as another")
        seen.add(folded)
