"""The proxy's answers as a name server: those of the servers behind it, with its addresses in place of the brokers'.

Bodies are changed where an address stands and nowhere else, so members that only newer name servers know stay. The last
answers are kept for the time when no name server answers.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import trio

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.core.errors import RequestUnsupported, response_code
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.guard import RequestGuard
from rocketwire.server.net.session import Session
from rocketwire.server.proxy.ports import BrokerPorts
from rocketwire.server.proxy.relaying_dispatcher import RelayingDispatcher
from rocketwire.server.proxy.times import RelayHistograms
from rocketwire.server.upstream.cluster import (
    MOST_BYTES,
    SHORT,
    BrokerKey,
    ListedBrokers,
    UpstreamCluster,
    brokers_in,
    listed_brokers,
)
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.proxy_loops import LOOP_REMARK, ProxyLoopGuard
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import ClusterInfo, TopicRouteData
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import STRICT_JSON_VERSION, RequestCode, ResponseCode
from rocketwire.wire.header import Header, decode_header

log = logging.getLogger(__name__)

_ADDRESSES: Final = re.compile(rb'"brokerAddrs"\s*:\s*\{[^{}]*\}')
_TEXT: Final = re.compile(rb'"([^"]*)"')
_ROUTES: Final = frozenset({RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO})
_REFUSED: Final = frozenset({RequestCode.REGISTER_BROKER, RequestCode.UNREGISTER_BROKER})
"""A name server forgets a broker with the connection on which it registered, so brokers register there themselves."""
_MOST_KEPT: Final = 20_000
_MOST_KEPT_BYTES: Final = 64 << 20
_MOST_TOGETHER: Final = 64
"""Requests for routes; the answers to all of them are in memory at the same time."""


class _Query(NamedTuple):
    """A request that waits for its answer."""

    header: Header
    serialize_type: int
    body: bytes
    arrived: float


@dataclass(slots=True, kw_only=True)
class _Kept:
    """The last answer to a request, its brokers, and the reply that clients got while these were all brokers."""

    answer: Response
    listed: ListedBrokers | None = None
    brokers: Mapping[BrokerKey, Address] | None = None
    reply: Reply | None = None


class ProxyNameServer(RelayingDispatcher):
    """Serves the frames of the proxy's own address.

    Args:
        cluster: The name servers behind.
        ports: The proxy's addresses of brokers.
        rings: Knows requests that this proxy has passed on before.
        guards: As for `RelayingDispatcher`.
        metrics: Likewise.
        now: Likewise.
        times: Likewise.
    """

    def __init__(
        self,
        cluster: UpstreamCluster,
        ports: BrokerPorts,
        rings: ProxyLoopGuard,
        *,
        guards: Iterable[RequestGuard],
        metrics: Metrics,
        now: Callable[[], float],
        times: RelayHistograms | None = None,
    ) -> None:
        super().__init__(guards=guards, metrics=metrics, now=now, times=times)
        self._cluster = cluster
        self._ports = ports
        self._rings = rings
        self._turn = trio.Lock()
        self._kept_bytes = 0
        self._kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Serve frames in order; each waits for the answer to the one before, unless both are requests for routes.

        Raises:
            FrameError: a header cannot be read.
        """
        queries: list[_Query] = []
        for handled, frame in enumerate(frames):
            header = decode_header(frame.header, frame.serialize_type)
            if header.is_response:
                continue
            if queries and (header.code != RequestCode.GET_ROUTEINFO_BY_TOPIC or len(queries) == _MOST_TOGETHER):
                return self._start(session, queries, handled)
            if not self._admitted(session, header, frame):
                continue
            if header.code in _REFUSED:
                self._refuse(session, header, frame.serialize_type)
                continue
            if self._rings.is_loop(header.remark):
                session.answer(header, frame.serialize_type, _failure_reply(UpstreamConnectionError(LOOP_REMARK)))
                continue
            queries.append(_Query(header, frame.serialize_type, bytes(frame.body), self.now()))
            if header.code != RequestCode.GET_ROUTEINFO_BY_TOPIC:
                return self._start(session, queries, handled + 1)
        return self._start(session, queries, len(frames))

    def _start(self, session: Session, queries: list[_Query], handled: int) -> int:
        if queries:
            size = sum(len(each.body) for each in queries)
            if queries[0].header.code in _ROUTES:
                session.begin_long_request(partial(self._send_without_task, session, queries, size), size)
            else:
                self._wait(session, queries, size)
        return handled

    def _send_without_task(self, session: Session, queries: list[_Query], size: int, ended: Callable[[], None]) -> None:
        """Have the reader of the name server's answers answer the client: that is quicker than a task that waits."""

        def on_answers(answers: list[Response] | None) -> None:
            try:
                if answers is None:
                    if not session.closed:
                        self._wait(session, queries, size)
                elif any(_is_long(answer) for answer in answers):
                    session.run_long_request(partial(self._answer_in_steps, session, queries, answers), size)
                else:
                    self._answer(session, queries, answers)
            finally:
                ended()

        try:
            is_sent = self._cluster.start_requests([self._request(each) for each in queries], on_answers)
        except WireError:
            is_sent = False
        if not is_sent:
            self._wait(session, queries, size)
            ended()

    def _wait(self, session: Session, queries: list[_Query], size: int) -> None:
        """Have a task send them to one name server after the other."""

        async def answer() -> None:
            requests = [self._request(each) for each in queries]
            await self._answer_in_steps(session, queries, await self._cluster.send_requests(requests))

        session.run_long_request(answer, size)

    def _refuse(self, session: Session, header: Header, serialize_type: int) -> None:
        error = RequestUnsupported(header.code)
        reply = Reply(code=response_code(error), remark=str(error), error=error)
        session.answer(header, serialize_type, reply)
        if self._times is not None:
            self._times.answered(header.code, self.now())

    def _request(self, query: _Query) -> ClientRequest:
        header = query.header
        remark = self._rings.add_own_mark(header.remark)
        return ClientRequest(header.code, header.ext, query.body, header.language, header.version, remark)

    async def _answer_in_steps(
        self, session: Session, queries: list[_Query], answers: Sequence[Response | UpstreamConnectionError]
    ) -> None:
        """As `_answer`, but what takes long is done before, in threads and in steps."""
        for each, answer in zip(queries, answers, strict=True):
            if isinstance(answer, Response) and _is_long(answer) and each.header.code in _ROUTES:
                async with self._turn:  # many may request the same
                    await self._prepare(each.header, answer)
        self._answer(session, queries, answers)

    def _answer(
        self, session: Session, queries: list[_Query], answers: Sequence[Response | UpstreamConnectionError]
    ) -> None:
        for each, answer in zip(queries, answers, strict=True):
            session.answer(each.header, each.serialize_type, self._reply(each.header, answer))
            if self._times is not None:
                self._times.answered(each.header.code, each.arrived)

    def _reply(self, header: Header, answer: Response | UpstreamConnectionError) -> Reply:
        if header.code not in _ROUTES:
            return (
                _failure_reply(answer) if isinstance(answer, UpstreamConnectionError) else _passed(answer, answer.body)
            )
        if isinstance(answer, UpstreamConnectionError):
            kept = self._kept.get(_key(header))
            return _failure_reply(answer) if kept is None else self._reply_for_clients(kept)
        if answer.code != ResponseCode.SUCCESS:
            return _passed(answer, answer.body)
        if len(answer.body) > MOST_BYTES:
            return _failure_reply(UpstreamConnectionError(f"its answer of {len(answer.body)} bytes is too long"))
        kept = self._keep(header, answer)
        if kept.brokers is not self._cluster.brokers and not _is_long(answer):
            self._note(_read_listed(header.code, answer.body))
        return self._reply_for_clients(kept)

    def _keep(self, header: Header, answer: Response) -> _Kept:
        """Keep an answer; one that is the same as before stays as it was."""
        key = _key(header)
        kept = self._kept.get(key)
        if kept is None or kept.answer != answer:
            self._kept_bytes += len(answer.body) - (0 if kept is None else len(kept.answer.body))
            kept = self._kept[key] = _Kept(answer=answer)
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEPT or self._kept_bytes > _MOST_KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= len(oldest.answer.body)
        return kept

    def _reply_for_clients(self, kept: _Kept) -> Reply:
        """The reply to clients for an answer: it stays the same as long as the brokers do."""
        stale = kept.brokers is not self._cluster.brokers and not _is_long(kept.answer)
        if kept.reply is None or stale:
            kept.brokers = self._cluster.brokers
            kept.reply = _passed(kept.answer, with_addresses(kept.answer.body, self._ports.proxied()))
        return kept.reply

    async def _prepare(self, header: Header, answer: Response) -> None:
        """Prepare the reply to clients for a long answer."""
        if len(answer.body) > MOST_BYTES:
            return
        kept = self._keep(header, answer)
        if kept.brokers is self._cluster.brokers:
            return
        size = len(answer.body)
        listed = kept.listed or await self._cluster.in_thread(size, partial(_read_listed, header.code, answer.body))
        kept.listed = listed
        if listed is not None:
            self._cluster.note_brokers(listed)
            await self._ports.open_in_steps(listed.addresses)
        brokers, proxied = self._cluster.brokers, dict(self._ports.proxied())
        body = await self._cluster.in_thread(size, partial(with_addresses, answer.body, proxied))
        kept.reply, kept.brokers = _passed(answer, body), brokers

    def _note(self, listed: ListedBrokers | None) -> None:
        """Note the brokers of an answer, also of one that came this moment, and open ports for them."""
        if listed is not None:
            self._cluster.note_brokers(listed)
            self._ports.open(listed.addresses)


def _key(header: Header) -> tuple[object, ...]:
    """The key under which answers are kept."""
    return (header.code, header.version >= STRICT_JSON_VERSION, *sorted((header.ext or {}).items()))


def _is_long(answer: Response) -> bool:
    """Whether an answer is read in a thread."""
    return len(answer.body) > SHORT


def _read_listed(code: int, body: bytes) -> ListedBrokers | None:
    """The brokers of a route or of a cluster; None: it cannot be read, and is passed on as it is."""
    found = brokers_in(body)
    if found is not None:
        return found
    try:
        if code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            return listed_brokers(decode_body(TopicRouteData, body).broker_datas)
        return listed_brokers(decode_body(ClusterInfo, body).broker_addr_table.values())
    except WireError as error:
        log.warning("an answer of a name server cannot be read: %(reason)s", {"reason": error})
        return None


def _failure_reply(reason: UpstreamConnectionError) -> Reply:
    return Reply(code=ResponseCode.SYSTEM_ERROR, remark=f"no name server of the cluster answers: {reason}")


def _passed(answer: Response, body: bytes) -> Reply:
    return Reply(code=answer.code, remark=answer.remark, ext=dict(answer.ext) or None, body=(body,) if body else ())


def with_addresses(body: bytes, proxied: Mapping[str, str]) -> bytes:
    """A route or the cluster's brokers, as JSON, with the proxy's address for each broker's.

    A broker that has no port here keeps its own address.
    """

    def addresses(found: re.Match[bytes]) -> bytes:
        return _TEXT.sub(address, found[0])

    def address(found: re.Match[bytes]) -> bytes:
        own = proxied.get(found[1].decode(errors="replace"))
        return found[0] if own is None else b'"%b"' % own.encode()

    return _ADDRESSES.sub(addresses, body)
