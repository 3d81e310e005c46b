"""Bodies that another server is to read exactly as they were read here.

A proxy decides by the topics and groups that it reads in a body, and a broker acts on those that it reads there itself.
Apache's reader of JSON takes `GroupName` or `group_name` for `groupName`, the last of several members with one name,
and `{"$ref": ...}` for an object elsewhere in the text. Clients write none of this.
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
_MEMBERS: Final = (
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


_EXACT: Final = {_folded(name): name for name in (*_MEMBERS, "clientId")}
_EXACT_IN_HEARTBEATS: Final = _EXACT | {_folded("clientID"): "clientID"}
"""Heartbeats write the client's id otherwise than all others."""


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
    exact = _EXACT_IN_HEARTBEATS if code == RequestCode.HEART_BEAT else _EXACT
    try:
        json.loads(str(body, "utf-8"), object_pairs_hook=partial(_check, exact))
    except (ValueError, RecursionError) as error:
        raise BodyInvalid("the body is no plain JSON") from error


def _check(exact: Mapping[str, str], members: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in members:
        folded = _folded(name)
        if name.startswith(("$", "@")) or folded in seen or exact.get(folded, name) != name:
            raise BodyInvalid(f"the member {name!r} of the body may be read as another")
        seen.add(folded)
