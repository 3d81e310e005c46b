"""Deliveries that the server renews for push consumers (`auto_renew`), at brokers that do not do so themselves.

A delivery is made invisible again shortly before its time is up, as long as its client is connected. Its client keeps
the handle that it got first; the valid one is known here. So when this process dies, or the client connects to another
one, the first handle is valid for its first minute, and then the message is redelivered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import trio

from rocketwire.remoting.core.session import Response
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.grpc.clients import GrpcClient
from rocketwire.server.grpc.consuming.handles import (
    RENEWED_MARK,
    DeliveryHandle,
    HeldDeliveries,
    change_header,
    read_handle,
)
from rocketwire.server.pop.renewals import STEP_MS, Renewals
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.receipt import parse_receipt_handle
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pop import ChangeInvisibleTimeRequestHeader, ChangeInvisibleTimeResponseHeader

_PERIOD_SECONDS: Final = 5.0
_MOST_SPENT: Final = 16_384
"""Handles that were changed, and are known as such."""
_RENEWAL_MS: Final = 15_000
"""A delivery that is over in so long is renewed."""

Change = Callable[[str, ChangeInvisibleTimeRequestHeader, Callable[[Response | UpstreamConnectionError], None]], None]
"""Sends a request to a broker."""


class _Renewed:
    """A delivery."""

    __slots__ = ("changing", "client", "first_ms", "group", "handle", "topic")

    def __init__(self, client: GrpcClient, topic: str, group: str, handle: DeliveryHandle, now: int) -> None:
        self.client = client
        self.topic = topic
        self.group = group
        self.handle = handle
        self.first_ms = now
        self.changing = False


class RenewedHandles(HeldDeliveries):
    """The deliveries."""

    def __init__(self, change: Change, renewals: Renewals, clock: Clock) -> None:
        super().__init__()
        self._change = change
        self._renewals = renewals
        self._clock = clock
        self._renewed: dict[str, _Renewed] = {}
        self._spent: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def read(self, text: str, now: int) -> DeliveryHandle:
        """Read a handle that a client names; of a renewed delivery the one in force."""
        found = self._renewed.get(text)
        if found is None:
            return read_handle(text.removesuffix(RENEWED_MARK), now)
        if now >= found.handle.receipt.visible_at:
            raise CallInvalid(Code.INVALID_RECEIPT_HANDLE, "receipt handle is expired")
        return found.handle

    def begin_change(self, topic: str, group: str, text: str, now: int) -> DeliveryHandle:
        """Likewise, to change it: an upstream of Apache's takes any number of changes, and makes a copy at each.

        A handle does not contain its topic and group: a client that names an owner's handle with others spends nothing
        of it.
        """
        change = topic, group, text
        if change in self._spent:
            raise CallInvalid(Code.INVALID_RECEIPT_HANDLE, "the invisible time was changed with this handle before")
        handle = self.read(text, now)
        self._spent[change] = None
        if len(self._spent) > _MOST_SPENT:
            self._spent.popitem(last=False)
        return handle

    def undo_change(self, topic: str, group: str, text: str) -> None:
        """Note that a change which began was refused: the handle is still good."""
        self._spent.pop((topic, group, text), None)

    def add(self, client: GrpcClient, topic: str, group: str, texts: Iterable[str]) -> None:
        """Renew deliveries to a client from now on."""
        texts = list(texts)
        super().add(client, topic, group, texts)
        held, now = self.of(client), self._clock()
        for text in texts:
            if text in held:
                handle = DeliveryHandle(parse_receipt_handle(text.removesuffix(RENEWED_MARK)), renewed=True)
                self._renewed[text] = _Renewed(client, topic, group, handle, now)

    def remove(self, client: GrpcClient, text: str) -> None:
        """Renew a delivery to a client no more; another client that names its handle ends nothing."""
        super().remove(client, text)
        found = self._renewed.get(text)
        if found is not None and found.client is client:
            del self._renewed[text]

    def take_out(self, client: GrpcClient, now: int) -> list[tuple[str, str, DeliveryHandle]]:
        """All deliveries to a client that leaves, with topic and group, as they are now."""
        texts = list(self.of(client))
        self.forget(client)
        removed = [each for text in texts if (each := self._renewed.pop(text, None)) is not None]
        return [(each.topic, each.group, each.handle) for each in removed if now < each.handle.receipt.visible_at]

    async def run(self) -> None:
        """Renew; never returns."""
        while True:
            await trio.sleep(_PERIOD_SECONDS)
            self._renew_all()

    def _renew_all(self) -> None:
        now = self._clock()
        for text, each in list(self._renewed.items()):
            receipt = each.handle.receipt
            if each.changing or receipt.visible_at - now > _RENEWAL_MS:
                continue
            if self._renewals.renewal_ms(each.client.renewer, each.first_ms, now) is None:
                if now >= receipt.visible_at:
                    self.remove(each.client, text)
                continue
            each.changing = True
            header = change_header(receipt, each.topic, each.group, STEP_MS)
            self._change(receipt.broker, header, partial(self._changed, text, each))

    def _changed(self, text: str, each: _Renewed, found: Response | UpstreamConnectionError) -> None:
        each.changing = False
        if self._renewed.get(text) is not each or isinstance(found, UpstreamConnectionError):
            return  # tried again, if there is still time
        if found.code != ResponseCode.SUCCESS:
            self.remove(each.client, text)
            return
        try:
            fields = decode_ext(ChangeInvisibleTimeResponseHeader, found.ext)
        except WireError:
            self.remove(each.client, text)
        else:
            each.handle = DeliveryHandle(each.handle.after_change(fields).receipt, renewed=True)
