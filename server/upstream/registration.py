"""Registration of the broker at name servers of other processes.

Each name server has its own connection, which stays open: a name server forgets a broker whose connection
ends. All topics are sent at the start and every 30 s, changed ones at once, as Apache's brokers do: a client that
creates a topic gets the answer once the reachable name servers know it. A name server that is away is tried again every
second, so one that was restarted knows the broker within a second or two.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import trio

from rocketwire.remoting.core.session import ClientRequest
from rocketwire.server.core.threads import run_with_checkpoints
from rocketwire.server.name_server.registration import PERIOD_SECONDS
from rocketwire.server.name_server.routes import BrokerIdentity
from rocketwire.server.upstream.broker_connection import BrokerConnection, connect
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.requests import send_request
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.fastjson import encode_in_steps
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.route import RegisterBrokerRequestHeader, UnRegisterBrokerRequestHeader
from rocketwire.wire.message import body_crc

log = logging.getLogger(__name__)

_AGAIN_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 24.0
"""As Apache's brokers wait for an answer to a registration."""
_CLOSE_SECONDS: Final = 3.0


class RemoteRegistration:
    """Keeps one broker registered at name servers of other processes.

    Args:
        addresses: The name servers.
        identity: The broker.
        ha_address: Where it would serve slaves.
        topics: Their version, and the configurations to send of the changed ones, or of all for None.
    """

    def __init__(
        self,
        addresses: Iterable[Address],
        identity: BrokerIdentity,
        *,
        ha_address: str,
        topics: Callable[[Iterable[TopicConfig] | None], tuple[DataVersion, dict[str, TopicConfig]]],
    ) -> None:
        self._servers = [_NameServer(each) for each in addresses]
        self._identity = identity
        self._ha_address = ha_address
        self._topics = topics

    def register(self, changed: Iterable[TopicConfig] | None = None) -> None:
        """Send topics at once: the changed ones, or all for None."""
        topics = None if changed is None else {each.topic_name: each for each in changed}
        for server in self._servers:
            server.note(topics)

    def when_registered(self, done: Callable[[], None]) -> None:
        """Call a function once the topics noted before are registered, or cannot be now; perhaps at once."""
        waited_for = [server for server in self._servers if server.reached]
        missing = len(waited_for)
        if not missing:
            done()

        def registered() -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                done()

        for server in waited_for:
            server.waits(registered)

    async def run(self) -> None:
        """Keep the broker registered; when cancelled, remove it everywhere."""
        async with trio.open_nursery() as nursery:
            for server in self._servers:
                nursery.start_soon(self._keep, server)

    async def _keep(self, server: _NameServer) -> None:
        try:
            async with trio.open_nursery() as nursery:
                while True:
                    try:
                        await self._serve(server, await connect(server.address, nursery))
                    except UpstreamConnectionError as error:
                        server.failed(str(error))
                    await trio.sleep(_AGAIN_SECONDS)
        finally:
            with trio.move_on_after(_CLOSE_SECONDS, shield=True):
                await self._unregister(server)

    async def _serve(self, server: _NameServer, connection: BrokerConnection) -> None:
        """Register on a connection until it ends."""
        try:
            await self._register(server, connection, None)
            while not connection.closed.is_set():
                with trio.move_on_after(PERIOD_SECONDS) as waiting:
                    await _either(server.changed, connection.closed)
                if not connection.closed.is_set():
                    await self._register(server, connection, None if waiting.cancelled_caught else server.take())
            raise UpstreamConnectionError(f"{server.address} closed the connection")
        finally:
            connection.close()

    async def _register(
        self, server: _NameServer, connection: BrokerConnection, changed: Iterable[TopicConfig] | None
    ) -> None:
        if changed is None:
            server.take()
        version, topics = self._topics(changed)
        document = {
            "filterServerList": (),
            "topicConfigSerializeWrapper": {"dataVersion": version, "topicConfigTable": topics},
        }
        body = await run_with_checkpoints(encode_in_steps(document, pretty=False))
        header = RegisterBrokerRequestHeader(
            broker_name=self._identity.name,
            broker_addr=self._identity.address,
            cluster_name=self._identity.cluster,
            ha_server_addr=self._ha_address,
            broker_id=self._identity.broker_id,
            body_crc32=body_crc(body),
        )
        request = ClientRequest(RequestCode.REGISTER_BROKER, header, body)
        try:
            answer = await send_request(connection, request, seconds=_ANSWER_SECONDS)
        except WireError as error:
            raise UpstreamConnectionError(f"the registration at {server.address} cannot be written: {error}") from error
        if answer.code != ResponseCode.SUCCESS:
            raise UpstreamConnectionError(
                f"{server.address} refused the registration with {answer.code}: {answer.remark}"
            )
        server.succeeded()

    async def _unregister(self, server: _NameServer) -> None:
        header = UnRegisterBrokerRequestHeader(
            broker_name=self._identity.name,
            broker_addr=self._identity.address,
            cluster_name=self._identity.cluster,
            broker_id=self._identity.broker_id,
        )
        async with trio.open_nursery() as nursery:
            try:
                connection = await connect(server.address, nursery)
                await send_request(connection, ClientRequest(RequestCode.UNREGISTER_BROKER, header))
            except UpstreamConnectionError:
                log.debug("not unregistered from the name server %(name_server)s", {"name_server": server.address})
            nursery.cancel_scope.cancel()


class _NameServer:
    """The topics to send to one name server, and whether it was reached."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.changed = trio.Event()
        self._changed: dict[str, TopicConfig] | None = {}
        self._reached: bool | None = None
        self._waiting: list[Callable[[], None]] = []
        self._released_next: list[Callable[[], None]] = []

    @property
    def reached(self) -> bool:
        """Whether it has registered the broker, and is still there as far as is known."""
        return self._reached is True

    def waits(self, done: Callable[[], None]) -> None:
        """Call a function once the topics noted now are registered, or cannot be."""
        self._waiting.append(done)
        self.changed.set()

    def note(self, changed: Mapping[str, TopicConfig] | None) -> None:
        """Note topics that changed; None: any may have."""
        self._changed = None if changed is None or self._changed is None else {**self._changed, **changed}
        self.changed.set()

    def take(self) -> Iterable[TopicConfig] | None:
        """What changed since the last call."""
        changed, self._changed = self._changed, {}
        self._released_next += self._waiting
        self._waiting = []
        self.changed = trio.Event()
        return None if changed is None else changed.values()

    def succeeded(self) -> None:
        """Note that it has registered the broker."""
        if not self._reached:
            log.info("registered with the name server %(name_server)s", {"name_server": self.address})
        self._reached = True
        self._release(self._released_next)

    def failed(self, reason: str) -> None:
        """Note that it has not; the first time in a row is logged."""
        if self._reached is not False:
            log.warning("not registered with a name server: %(reason)s", {"reason": reason})
        self._reached = False
        self._release(self._released_next)
        self._release(self._waiting)

    @staticmethod
    def _release(waiting: list[Callable[[], None]]) -> None:
        released = waiting[:]
        waiting.clear()
        for done in released:
            done()


async def _either(first: trio.Event, second: trio.Event) -> None:
    """Wait for one of two events."""
    async with trio.open_nursery() as nursery:

        async def wait(event: trio.Event) -> None:
            await event.wait()
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait, first)
        nursery.start_soon(wait, second)
