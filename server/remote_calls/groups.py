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
from rocketwire.server.upstream.connecting import UpstreamConnectionError
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


class _CachedGroup(NamedTuple):
    config: SubscriptionGroupConfig | None
    at: float


class RemoteGroups:
    """The consumer groups of a cluster.

    Args:
        topics: Its topics and brokers.
        pool: The connections.
        keys: Name the groups that are in order, whatever brokers answer.
    """

    def __init__(self, topics: RemoteTopics, pool: ConnectionPool, keys: LiveGroup[UpstreamKeys] | None = None) -> None:
        self._topics = topics
        self._pool = pool
        self._keys = keys or LiveGroup(UpstreamKeys())
        self._cached: OrderedDict[str, _CachedGroup] = OrderedDict()
        self._loading: dict[str, trio.Event] = {}
        self._waiting: dict[str, list[Callable[[], None]]] = {}

    def get(self, group: str) -> SubscriptionGroupConfig | None:
        """What is known of a group; None: nothing."""
        cached = self._cached.get(group)
        config = None if cached is None else cached.config
        names = self._keys.current.ordered_groups
        if cached is None or not names or group not in names.replace(",", " ").split():
            return config
        return replace(config or SubscriptionGroupConfig(group_name=group), consume_message_orderly=True)

    def needs_request(self, group: str) -> bool:
        """Whether a group has to be loaded first; what is not fresh is loaded in the background."""
        cached = self._cached.get(group)
        if cached is None:
            return True
        age = trio.current_time() - cached.at
        if _FRESH_SECONDS <= age < UNUSED_SECONDS + _FRESH_SECONDS and group not in self._loading:
            self._pool.start(self.load, group)
        return age >= UNUSED_SECONDS + _FRESH_SECONDS

    def when_loaded(self, group: str, done: Callable[[], None]) -> bool:
        """Load a group, and call `done` then; False: no connections are made any more.

        Thousands of calls may wait: these are no tasks, of which all would run in one pass of the event loop.
        """
        waiting = self._waiting.setdefault(group, [])
        if not waiting and not self._pool.start(self._load_for_all, group):
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
        """Load a group, unless that was just done; if no broker answers the former configuration stays."""
        loading = self._loading.get(group)
        if loading is not None:
            await loading.wait()
            return
        loading = self._loading[group] = trio.Event()
        try:
            await self._load_now(group)
        finally:
            del self._loading[group]
            loading.set()

    async def _load_now(self, group: str) -> None:
        reached = False
        for name, address in self._topics.masters():
            try:
                found = await self._fetch(address, group)
            except (UpstreamConnectionError, WireError) as error:
                log.debug("no group of %(broker)s: %(reason)s", {"broker": name, "reason": error})
                continue
            reached = True
            if found is not None:
                self._put(group, found)
                return
        if reached:
            self._put(group, None)

    def _put(self, group: str, config: SubscriptionGroupConfig | None) -> None:
        self._cached[group] = _CachedGroup(config, trio.current_time())
        self._cached.move_to_end(group)
        if len(self._cached) > _MOST:
            self._cached.popitem(last=False)

    async def _fetch(self, address: Address, group: str) -> SubscriptionGroupConfig | None:
        """The group at one broker; those of 4.9 return all groups only."""
        header = GetSubscriptionGroupConfigRequestHeader(group=group)
        answer = await self._pool.send_request(address, ClientRequest(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, header))
        if answer.code == ResponseCode.SUCCESS:
            return decode_body(SubscriptionGroupConfig, answer.body)
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            answer = await self._pool.send_request(address, ClientRequest(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG))
            if answer.code == ResponseCode.SUCCESS:
                return decode_body(SubscriptionGroupWrapper, answer.body).subscription_group_table.get(group)
        return None
