"""Filter expressions of subscriptions, as the remoting protocol has them."""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketwire.wire.grpc import definition_pb2
from rocketwire.wire.grpc.codes import CallInvalid, Code

TAG: Final = "TAG"
SQL92: Final = "SQL92"
EVERYTHING: Final = "*"
_OR: Final = "||"


class Filter(NamedTuple):
    """A filter: `TAG` or `SQL92`, and its text."""

    kind: str
    text: str


def read_filter(expression: definition_pb2.FilterExpression) -> Filter:
    """Read a filter expression; a missing one accepts everything. SQL is not parsed here.

    Raises:
        CallInvalid: it names no tag, or is an empty SQL expression (`ILLEGAL_FILTER_EXPRESSION`).
    """
    text = expression.expression
    if expression.type == definition_pb2.SQL:
        if not text.strip():
            raise CallInvalid(Code.ILLEGAL_FILTER_EXPRESSION, "SQL92 expression is empty")
        return Filter(SQL92, text)
    if not text:
        return Filter(TAG, EVERYTHING)
    if not text.replace(_OR, "").strip():
        raise CallInvalid(Code.ILLEGAL_FILTER_EXPRESSION, f"tag expression names no tag: {text[:100]!r}")
    return Filter(TAG, text)
