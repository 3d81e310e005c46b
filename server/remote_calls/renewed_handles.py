"""Deliveries that the server renews for push consumers (`auto_renew`), at brokers that do not do so themselves.

A delivery is made invisible again shortly before its time is up, as long as its client is connected. Its client keeps
the handle that it got first; the valid one is known here. So when this process dies, or the client connects to another
one, the first handle is valid for its first minute, and then the message is redelivered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

import trio

from rocketwire.remoting.core.session import Response
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.long_tasks import STEP_SECONDS
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
_MOST_IN_FLIGHT: Final = 64
"""So many renewals wait for the answers of one broker at a time."""
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


class _Renewing:
    """The renewals of one broker's deliveries that wait for its answers."""

    __slots__ = ("answered", "in_flight")

    def __init__(self) -> None:
        self.in_flight = 0
        self.answered = trio.Event()


class RenewedHandles(HeldDeliveries):
    """The deliveries."""

    def __init__(self, change: Change, renewals: Renewals, clock: Clock) -> None:
        super().__init__()
        self._change = change
        self._renewals = renewals
        self._clock = clock
        self._renewed: dict[str, _Renewed] = {}
        self._renewing: dict[str, _Renewing] = {}
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

    def _taken_out(
        self, client: GrpcClient, held: Mapping[str, tuple[str, str]], now: int
    ) -> Iterator[tuple[str, str, DeliveryHandle]]:
        for text in held:
            found = self._renewed.get(text)
            if found is not None and found.client is client:
                del self._renewed[text]
                if now < found.handle.receipt.visible_at:
                    yield found.topic, found.group, found.handle

    async def run(self) -> None:
        """Renew; never returns."""
        async with trio.open_nursery() as nursery:
            while True:
                await trio.sleep(_PERIOD_SECONDS)
                for broker, due in (await self._due()).items():
                    if broker not in self._renewing:
                        renewing = self._renewing[broker] = _Renewing()
                        nursery.start_soon(self._renew, broker, due, renewing)

    async def _due(self) -> dict[str, list[tuple[str, _Renewed]]]:
        """The deliveries that are to be renewed now, by broker, each with its text; others are forgotten."""
        now, until = self._clock(), trio.current_time() + STEP_SECONDS
        found: dict[str, list[tuple[str, _Renewed]]] = {}
        for text, each in list(self._renewed.items()):
            if self._is_due(text, each, now):
                found.setdefault(each.handle.receipt.broker, []).append((text, each))
            if trio.current_time() >= until:
                await trio.lowlevel.checkpoint()
                until = trio.current_time() + STEP_SECONDS
        return found

    def _is_due(self, text: str, each: _Renewed, now: int) -> bool:
        visible_at = each.handle.receipt.visible_at
        if self._renewed.get(text) is not each or each.changing or visible_at - now > _RENEWAL_MS:
            return False
        if self._renewals.renewal_ms(each.client.renewer, each.first_ms, now) is not None:
            return True
        if now >= visible_at:
            self.remove(each.client, text)
        return False

    async def _renew(self, broker: str, due: list[tuple[str, _Renewed]], renewing: _Renewing) -> None:
        """Renew deliveries of one broker, so many at a time: other requests share the connection."""
        until = trio.current_time() + STEP_SECONDS
        for text, each in due:
            while renewing.in_flight >= _MOST_IN_FLIGHT:
                renewing.answered = trio.Event()
                await renewing.answered.wait()
                until = trio.current_time() + STEP_SECONDS
            if self._is_due(text, each, self._clock()):
                each.changing = True
                renewing.in_flight += 1
                header = change_header(each.handle.receipt, each.topic, each.group, STEP_MS)
                self._change(broker, header, partial(self._answered, text, each, renewing))
            if trio.current_time() >= until:
                await trio.lowlevel.checkpoint()
                until = trio.current_time() + STEP_SECONDS
        del self._renewing[broker]

    def _answered(
        self, text: str, each: _Renewed, renewing: _Renewing, found: Response | UpstreamConnectionError
    ) -> None:
        renewing.in_flight -= 1
        renewing.answered.set()
        self._on_changed(text, each, found)

    def _on_changed(self, text: str, each: _Renewed, found: Response | UpstreamConnectionError) -> None:
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
