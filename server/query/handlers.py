"""Requests that query messages: by key or unique key (12), and by physical offset (33)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import MessageNotFound
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.limits.keys import LARGEST_BODY
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.query.keys import QueryKeys
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.query import (
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    ViewMessageRequestHeader,
)

if TYPE_CHECKING:  # for annotations: it needs a YAML parser, imported only where access control is on
    from rocketwire.server.acl.control import AccessControl


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryServices:
    """The services of queries; `access` is None without access control."""

    access: AccessControl | None
    keys: LiveGroup[QueryKeys]
    store: StoreProtocol


family: Final = RequestRoutes[QueryServices]("query")


@family.route(
    RequestCode.QUERY_MESSAGE,
    header=QueryMessageRequestHeader,
    response=QueryMessageResponseHeader,
    summary="messages by key or unique key",
)
def _query(services: QueryServices, request: Request[QueryMessageRequestHeader]) -> Reply:
    fields = request.fields
    limit = services.keys.current.default_query_max_num if fields.unique_key_query else fields.max_num
    found = services.store.query(fields.topic, fields.key, limit, fields.begin_timestamp, fields.end_timestamp)
    records = found.records
    if services.access is not None:  # the index may find other topics with the same hash
        records = [record for record in records if _is_of(record, fields.topic)]
    header = QueryMessageResponseHeader(
        index_last_update_timestamp=found.index_last_update_timestamp,
        index_last_update_phyoffset=found.index_last_update_offset,
    )
    if not records:
        return Reply(
            code=ResponseCode.QUERY_NOT_FOUND,
            remark="can not find message, maybe time range not correct",
            fields=header,
        )
    return Reply(fields=header, body=_fitting(records))


def _is_of(record: memoryview, topic: str) -> bool:
    try:
        return stored_message(record).topic == topic
    except RecordInvalid:
        return False


def _fitting(records: Sequence[memoryview]) -> Sequence[memoryview]:
    """The first records, as many as fit in one answer."""
    count = sum(size <= LARGEST_BODY for size in accumulate(map(len, records)))
    return records[: max(1, count)]


@family.route(
    RequestCode.VIEW_MESSAGE_BY_ID, header=ViewMessageRequestHeader, summary="the message at a physical offset"
)
def _view(services: QueryServices, request: Request[ViewMessageRequestHeader]) -> Reply:
    record = services.store.record_at(request.fields.offset)
    if record is None:
        raise MessageNotFound(f"can not find message by the offset, {request.fields.offset}")
    return Reply(body=(record,))
