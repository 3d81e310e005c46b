"""Consumer groups of a cluster: the configuration that the first of its brokers has of each."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

import trio

from rocketwire.remoting.core.session import ClientRequest
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.long_tasks import STEP_SECONDS
from rocketwire.server.remote_calls.topics import UNUSED_SECONDS, RemoteTopics
from rocketwire.server.upstream.connecting import UpstreamUnreachable
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig, SubscriptionGroupWrapper
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.group import GetSubscriptionGroupConfigRequestHeader

log = logging.getLogger(__name__)

_FRESH_SECONDS: Final = 20.0
_MOST: Final = 100_000


class _Known(NamedTuple):
    config: SubscriptionGroupConfig | None
    at: float


class RemoteGroups:
    """The consumer groups of a cluster.

    Args:
        topics: Its topics and brokers.
        lines: The connections.
        keys: Name the groups that are in order, whatever brokers say.
    """

    def __init__(
        self, topics: RemoteTopics, lines: ConnectionPool, keys: LiveGroup[UpstreamKeys] | None = None
    ) -> None:
        self._topics = topics
        self._lines = lines
        self._keys = keys or LiveGroup(UpstreamKeys())
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._asks: dict[str, trio.Event] = {}
        self._waiting: dict[str, list[Callable[[], None]]] = {}

    def get(self, group: str) -> SubscriptionGroupConfig | None:
        """What is known of a group; None: nothing."""
        known = self._known.get(group)
        config = None if known is None else known.config
        names = self._keys.current.ordered_groups
        if known is None or not names or group not in names.replace(",", " ").split():
            return config
        return replace(config or SubscriptionGroupConfig(group_name=group), consume_message_orderly=True)

    def needs_request(self, group: str) -> bool:
        """Whether a group is to be loaded first; what is not fresh is asked for in the background."""
        known = self._known.get(group)
        if known is None:
            return True
        age = trio.current_time() - known.at
        if _FRESH_SECONDS <= age < UNUSED_SECONDS + _FRESH_SECONDS and group not in self._asks:
            self._lines.start(self.load, group)
        return age >= UNUSED_SECONDS + _FRESH_SECONDS

    def when_loaded(self, group: str, done: Callable[[], None]) -> bool:
        """Ask for a group, and call `done` then; False: no connections are made any more.

        Thousands of calls may wait: these are no tasks, of which all would run in one pass of the event loop.
        """
        waiting = self._waiting.setdefault(group, [])
        if not waiting and not self._lines.start(self._load_for_all, group):
            del self._waiting[group]
            return False
        waiting.append(done)
        return True

    async def _load_for_all(self, group: str) -> None:
        try:
            await self.load(group)
        finally:
            waiting = self._waiting.pop(group)
        until = trio.current_time() + STEP_SECONDS
        for done in waiting:
            try:
                done()
            except Exception:  # a bug in what is done for one must not keep the others waiting
                log.exception("group %(group)s", {"group": group})
            if trio.current_time() >= until:
                await trio.lowlevel.checkpoint()
                until = trio.current_time() + STEP_SECONDS

    async def load(self, group: str) -> None:
        """Ask for a group, unless that was just done; what was known of it stays if no broker answers."""
        asks = self._asks.get(group)
        if asks is not None:
            await asks.wait()
            return
        asks = self._asks[group] = trio.Event()
        try:
            await self._ask(group)
        finally:
            del self._asks[group]
            asks.set()

    async def _ask(self, group: str) -> None:
        reached = False
        for name, address in self._topics.masters():
            try:
                found = await self._asked(address, group)
            except (UpstreamUnreachable, WireError) as error:
                log.debug("no group of %(broker)s: %(reason)s", {"broker": name, "reason": error})
                continue
            reached = True
            if found is not None:
                self._put(group, found)
                return
        if reached:
            self._put(group, None)

    def _put(self, group: str, config: SubscriptionGroupConfig | None) -> None:
        self._known[group] = _Known(config, trio.current_time())
        self._known.move_to_end(group)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)

    async def _asked(self, address: Address, group: str) -> SubscriptionGroupConfig | None:
        """The group at one broker; those of 4.9 tell of all groups only."""
        header = GetSubscriptionGroupConfigRequestHeader(group=group)
        answer = await self._lines.ask(address, ClientRequest(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, header))
        if answer.code == ResponseCode.SUCCESS:
            return decode_body(SubscriptionGroupConfig, answer.body)
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            answer = await self._lines.ask(address, ClientRequest(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG))
            if answer.code == ResponseCode.SUCCESS:
                return decode_body(SubscriptionGroupWrapper, answer.body).subscription_group_table.get(group)
        return None
