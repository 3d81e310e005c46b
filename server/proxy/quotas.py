"""Quotas of the proxy: sends and pulls of each topic and group, counted in converted messages (docs/throttling.md)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from rocketwire.server.core.guard_errors import QuotaExceeded
from rocketwire.server.core.metrics import RECEIVE, SEND
from rocketwire.server.core.request import CallSignature, Peer, account_named_by
from rocketwire.server.proxy.sends import PULLS, SENDS, SendFields, is_half
from rocketwire.server.throttle.throttle import QuotaSet, Throttle
from rocketwire.store.append.drafts import Draft
from rocketwire.wire import names
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.properties import DELAY
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header
from rocketwire.wire.properties import property_reader

_INT: Final = struct.Struct(">i")
_DELAYED: Final = property_reader(DELAY.encode())


class ProxyQuotas:
    """A guard that counts sends and pulls, and refuses those over their quota with code 215.

    Args:
        throttle: The quotas.
        accounts: Whether accounts are checked; if not, none has a quota.
    """

    def __init__(self, throttle: Throttle, *, accounts: bool) -> None:
        self._throttle = throttle
        self._accounts = accounts

    @property
    def active(self) -> bool:
        """Whether there are quotas."""
        return self._throttle.sends or self._throttle.receives

    def admit(self, peer: Peer, header: Header, body: memoryview, proof: CallSignature | None = None) -> None:
        """Decide about one request; a send is charged.

        Raises:
            QuotaExceeded: it is over a quota.
        """
        del peer
        throttle, ext = self._throttle, header.ext or {}
        fields = SENDS.get(header.code)
        if fields is not None:
            account = account_named_by(header, proof) if self._accounts else ""
            quota_set = throttle.send(ext.get(fields.topic, ""), ext.get(fields.group, ""), account)
            if quota_set is None:
                return
            if not throttle.passes(SEND, quota_set):
                raise QuotaExceeded(throttle.send_remark)
            throttle.sent(quota_set, list(_drafts_of_send(header.code, fields, ext, body)))
        elif header.code in PULLS:
            quota_set = self._receive_gate(header, proof)
            if quota_set is not None and not throttle.passes(RECEIVE, quota_set):
                raise QuotaExceeded(throttle.receive_remark)

    def _receive_gate(self, header: Header, proof: CallSignature | None) -> QuotaSet | None:
        ext = header.ext or {}
        account = account_named_by(header, proof) if self._accounts else ""
        return self._throttle.receive(ext.get("topic", ""), ext.get("consumerGroup", ""), account)

    def charging(self, header: Header, proof: CallSignature | None = None) -> Callable[[Buffer], None] | None:
        """What charges the body of the answer to a pull; None: nothing is charged for it."""
        if header.code not in PULLS or not self._throttle.receives:
            return None
        quota_set = self._receive_gate(header, proof)
        return None if quota_set is None else partial(self._charge, quota_set)

    def _charge(self, quota_set: QuotaSet, body: Buffer) -> None:
        self._throttle.received(quota_set, (memoryview(body),))


def _drafts_of_send(code: int, fields: SendFields, ext: Mapping[str, str], body: memoryview) -> Iterator[Draft]:
    """The messages of a send, each in the topic that it will wait in."""
    properties = ext.get(fields.properties, "").encode()
    topic = ext.get(fields.topic, "")
    if is_half(fields, ext):
        topic = names.TRANS_HALF_TOPIC
    elif _DELAYED(properties) is not None:
        topic = names.SCHEDULE_TOPIC
    if code != RequestCode.SEND_BATCH_MESSAGE:
        yield _draft(topic, body, properties)
        return
    at = 0
    while at + _INT.size <= len(body):
        size = _INT.unpack_from(body, at)[0]
        if not _INT.size < size <= len(body) - at:
            return  # the broker refuses it
        yield _draft(topic, body[at : at + size])
        at += size


def _draft(topic: str, body: memoryview, properties: bytes = b"") -> Draft:
    """A message as quotas weigh it."""
    return Draft(
        topic=topic,
        queue_id=0,
        body=body,
        properties=properties,
        flag=0,
        sys_flag=0,
        born_timestamp=0,
        born_host=b"",
    )
