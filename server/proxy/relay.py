"""The dispatcher of one broker's port: it passes the frames of each client to the broker through a tunnel."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import trio

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.guard import RequestGuard
from rocketwire.server.net.session import Session
from rocketwire.server.proxy.edge.checks import BackCheckReceivers
from rocketwire.server.proxy.edge.grants import LongPollPermissions
from rocketwire.server.proxy.edge.held_requests import EdgeAccounts, HeldRequests, IncomingFrame
from rocketwire.server.proxy.quotas import ProxyQuotas
from rocketwire.server.proxy.relaying_dispatcher import RelayingDispatcher
from rocketwire.server.proxy.sends import without_handles
from rocketwire.server.proxy.shadow import ShadowCluster
from rocketwire.server.proxy.times import RelayHistograms
from rocketwire.server.proxy.tunnels import AdoptedConnection, OnRelayedAnswer, RelayCounts, Relocation, Tunnel
from rocketwire.server.transactions.check_permission import MayCheck, allow_every_producer
from rocketwire.server.upstream.cluster import BrokerKey, UpstreamCluster
from rocketwire.server.upstream.connecting import Connect
from rocketwire.server.upstream.proxy_loops import CODE as LOOP_PROBE
from rocketwire.server.upstream.proxy_loops import ProxyLoopGuard
from rocketwire.server.upstream.signing import UpstreamAccount
from rocketwire.wire.addresses import Address
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header, decode_header, encode_header
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.signature import ACCESS_KEY

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayParts:
    """What the relays of all brokers share.

    Attributes:
        cluster: Has the addresses of the brokers.
        guards: As for `RelayingDispatcher`.
        quotas: That of the guards which is charged for answers, too.
        metrics: As for `RelayingDispatcher`.
        passed: Counts what goes through tunnels.
        moved: Called with the former address when a broker has moved.
        connecting: Makes connections to brokers.
        rings: Notices that the way to a broker leads back here.
        known: An address with the IP address of its host, which is known after connecting; None: there is none.
        account: Signs each request while there is one; else they keep their clients' signatures.
        accounts: Fetches what requests of clients with accounts are decided by; None: there are no accounts.
        may_receive: Decides whether a producer may receive the messages of a topic.
        times: Measures; None: nothing is measured.
        shadow: Copies sends; None: they are not copied.
    """

    cluster: UpstreamCluster
    guards: tuple[RequestGuard, ...]
    quotas: ProxyQuotas
    metrics: Metrics
    passed: RelayCounts
    moved: Callable[[Address], None]
    connecting: Connect
    rings: ProxyLoopGuard
    known: Callable[[Address], Address | None]
    account: UpstreamAccount
    accounts: EdgeAccounts | None
    may_receive: MayCheck
    times: RelayHistograms | None
    shadow: ShadowCluster | None


class FrameRelay(RelayingDispatcher):
    """Serves the frames of the clients of one broker.

    Args:
        key: The broker.
        own: The proxy's address of the broker.
        nursery: Carries the tunnels.
        parts: What it shares with the relays of other brokers.
    """

    def __init__(self, key: BrokerKey, own: Address, nursery: trio.Nursery, parts: RelayParts) -> None:
        super().__init__(guards=parts.guards, metrics=parts.metrics, now=trio.current_time, times=parts.times)
        self._key = key
        self._own = own
        self._nursery = nursery
        self._parts = parts
        self._account = parts.account
        self._shadow = parts.shadow
        self._tunnels: dict[Session, Tunnel] = {}
        self._target: Address | None = None
        accounts, may_receive = parts.accounts, parts.may_receive
        self._held = None if accounts is None else HeldRequests(nursery, accounts, self)
        self._grants = None if accounts is None else LongPollPermissions(accounts.access)
        self._checks = None if may_receive is allow_every_producer else BackCheckReceivers(may_receive)
        self._find()
        parts.cluster.changed.subscribe(self._find)

    def _find(self) -> None:
        """Follow the broker. One that is not listed any more keeps its address: a name server may be new."""
        address = self._parts.cluster.brokers.get(self._key, self._target)
        if address == self._target or address is None:
            return
        former = self._target
        if former is not None:
            log.info("broker %(broker)s is now at %(address)s", {"broker": self._key.name, "address": address})
        self._target = address
        for tunnel in list(self._tunnels.values()):
            tunnel.close()
        if former is not None:
            self._parts.moved(former)

    @property
    def tunnels(self) -> int:
        """How many connections to the broker there are."""
        return len(self._tunnels)

    @property
    def plain(self) -> bool:
        """Whether not all frames have to be checked."""
        return not self._account.active and not self.guarded

    @property
    def target(self) -> Address | None:
        """The broker's address; None: it is not known."""
        return self._target

    def relocation(self, address: Address) -> Relocation | None:
        """What to replace in ids of messages of a broker that is connected to."""
        return relocation(self._parts.known(address), self._parts.known(self._own))

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Pass frames on in order, as long as the broker reads.

        Raises:
            FrameError: a header cannot be read.
        """
        tunnel = self._tunnels.get(session)
        guarded = self.guarded
        arrived = self.now()
        handled = 0
        try:
            for frame in frames:
                header = decode_header(frame.header, frame.serialize_type)
                handled += 1
                if header.code == LOOP_PROBE and not header.is_response:
                    session.run_long_request(partial(self._answer_probe, session, header, frame.serialize_type), 0)
                    break
                if not self._may_pass(session, tunnel, header, frame):
                    continue
                if tunnel is None:
                    tunnel = self._open_tunnel(session)
                    if tunnel is None:
                        self._refuse(session, header, frame.serialize_type)
                        continue
                if header.is_response:
                    tunnel.send(_with(frame, header) if guarded else frame, None)
                elif self._held is None or not self._held.takes(session, tunnel, IncomingFrame(frame, header, arrived)):
                    self._forward(tunnel, frame, header, guarded=guarded, arrived=arrived)
                if self._waits(session, tunnel):
                    break
        finally:
            if tunnel is not None:
                tunnel.flush()
        return handled

    def _may_pass(self, session: Session, tunnel: Tunnel | None, header: Header, frame: RawFrame) -> bool:
        """Whether a frame is passed on. With accounts an answer must be awaited: no signature shows whose it is."""
        if not header.is_response:
            return self._admitted(session, header, frame)
        return self._checks is None or (tunnel is not None and tunnel.awaits_answer(header.opaque))

    async def _answer_probe(self, session: Session, header: Header, serialize_type: int) -> None:
        """Answer another proxy whether the way to the broker leads back to it."""
        fields = await self._parts.rings.pass_on(self._target, header.ext)
        session.answer(header, serialize_type, Reply(ext=fields))

    def _waits(self, session: Session, tunnel: Tunnel) -> bool:
        """Whether the client's later requests are to wait: for a decision, or because the broker does not read."""
        if tunnel.full:
            tunnel.flush()
            if tunnel.full:
                session.run_long_request(tunnel.drained, 0)
        return session.has_long_request

    def _forward(self, tunnel: Tunnel, frame: RawFrame, header: Header, *, guarded: bool, arrived: float) -> None:
        """Pass a request on."""
        if self._grants is not None:
            self._grants.note(tunnel.session, header, frame.body)
        if self._checks is not None:
            self._checks.note(tunnel.session, header, frame.body)
        if self._account.active or ACCESS_KEY not in (header.ext or ()):  # else a change would break the signature
            stripped, body = without_handles(header, frame.body)
            if stripped is not header or body is not frame.body:
                header, frame = stripped, _with(frame._replace(body=memoryview(body)), stripped)
        if guarded:
            tunnel.watch(header.opaque, _charging(self._parts.quotas.charging(header)))
        if self._shadow is not None:
            tunnel.watch(header.opaque, self._shadow.copy_send(self._key.name, header, frame.body))
        if self._times is not None and not header.is_oneway:
            tunnel.time(header.opaque, header.code, arrived)
        if guarded or self._account.active:  # the broker is to read what was decided about, and nothing else
            frame = _with(frame, self._account.signed(header, frame.body))
        tunnel.send(frame, header)

    def pass_on(self, tunnel: Tunnel, incoming: IncomingFrame) -> None:
        """Pass a request to the broker."""
        self._forward(tunnel, incoming.frame, incoming.header, guarded=True, arrived=incoming.at)

    def refuse_for(self, session: Session, incoming: IncomingFrame, error: Exception) -> None:
        """Answer a request with the error for which it is not passed on."""
        self._refuse_for(session, incoming.header, incoming.frame.serialize_type, error, incoming.at)

    def answer(self, session: Session, incoming: IncomingFrame, reply: Reply) -> None:
        """Answer a request."""
        session.answer(incoming.header, incoming.frame.serialize_type, reply)
        if self._times is not None:
            self._times.answered(incoming.header.code, incoming.at)

    def _open_tunnel(self, session: Session, begun: AdoptedConnection | None = None) -> Tunnel | None:
        """A new tunnel for a client; None: it has disconnected, or the broker's address is not known."""
        if self._target is None or session.closed:
            return None
        tunnel = self._tunnels[session] = Tunnel(
            session,
            self._target,
            self.relocation,
            self._ended,
            begun,
            connecting=self._parts.connecting,
            passed=self._parts.passed,
            times=self._times,
            check_receiver=None if self._checks is None else partial(self._checks.receiver, session),
        )
        self._nursery.start_soon(tunnel.run, self._nursery)
        return tunnel

    def copied(self, header: Header, body: Buffer) -> OnRelayedAnswer | None:
        """Take a send that the kernel has chosen for the second cluster; return what gets its answer."""
        return None if self._shadow is None else self._shadow.take_chosen(self._key.name, header, body)

    def adopt(self, session: Session, begun: AdoptedConnection) -> None:
        """Take over a client with the connection to the broker that it has."""
        if self._open_tunnel(session, begun) is None:
            begun.sock.close()

    def _refuse(self, session: Session, header: Header, serialize_type: int) -> None:
        remark = f"the proxy does not know broker {self._key.name} (id {self._key.broker_id}) any more"
        session.answer(header, serialize_type, Reply(code=ResponseCode.SERVICE_NOT_AVAILABLE, remark=remark))

    def end(self) -> None:
        """Follow the broker no more: its port is closed."""
        self._parts.cluster.changed.unsubscribe(self._find)
        if self._grants is not None:
            self._grants.end()

    def _ended(self, tunnel: Tunnel) -> None:
        self._tunnels.pop(tunnel.session, None)

    def peer_closed(self, session: Session) -> None:
        """End the tunnel of a client that has disconnected."""
        tunnel = self._tunnels.pop(session, None)
        if tunnel is not None:
            tunnel.close()


def _charging(charging: Callable[[memoryview], None] | None) -> OnRelayedAnswer | None:
    """What charges an answer, unless it is a refusal."""
    if charging is None:
        return None

    def watching(header: Header | None, body: memoryview) -> None:
        if header is not None and header.code == ResponseCode.SUCCESS:
            charging(body)

    return watching


def _with(frame: RawFrame, header: Header) -> RawFrame:
    """A frame with another header."""
    return frame._replace(header=memoryview(encode_header(header, frame.serialize_type)))


def relocation(broker: Address | None, own: Address | None) -> Relocation | None:
    """What to replace in message ids; None: an address is not known, or one is of IPv6 and the other is not."""
    if broker is None or own is None:
        return None
    old, new = (encode_host(each.host, each.port).hex().upper().encode() for each in (broker, own))
    return Relocation(old, new) if len(old) == len(new) else None
