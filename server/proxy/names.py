"""What the proxy answers as a name server: what those behind it say, with its own addresses for the brokers'.

Bodies are changed where an address stands and nowhere else, so members that only newer name servers know stay. The last
answers are kept for the time when no name server answers.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from rocketwire.server.core.errors import RequestUnsupported, response_code
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.guard import Guard
from rocketwire.server.net.session import Session
from rocketwire.server.proxy.passing import Passing
from rocketwire.server.proxy.times import Times
from rocketwire.server.upstream.cluster import Cluster
from rocketwire.server.upstream.line import Answer, NotReached
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import ClusterInfo, TopicRouteData
from rocketwire.wire.codes import STRICT_JSON_VERSION, RequestCode, ResponseCode
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.header import Header, decode_header

log = logging.getLogger(__name__)

_ADDRESSES: Final = re.compile(rb'"brokerAddrs"\s*:\s*\{[^}]*\}')
_TEXT: Final = re.compile(rb'"([^"]*)"')
_ROUTES: Final = frozenset({RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO})
_REFUSED: Final = frozenset({RequestCode.REGISTER_BROKER, RequestCode.UNREGISTER_BROKER})
"""A name server forgets a broker with the connection on which it registered, so brokers register there themselves."""
_MOST_KEPT: Final = 20_000


class Names(Passing):
    """Serves the frames of the proxy's own address.

    Args:
        cluster: The name servers behind.
        proxied: The proxy's address for each address of a broker.
        guards: As for `Passing`.
        metrics: Likewise.
        now: Likewise.
        times: Likewise.
    """

    def __init__(
        self,
        cluster: Cluster,
        proxied: Callable[[], Mapping[str, str]],
        *,
        guards: Iterable[Guard],
        metrics: Metrics,
        now: Callable[[], float],
        times: Times | None = None,
    ) -> None:
        super().__init__(guards=guards, metrics=metrics, now=now, times=times)
        self._cluster = cluster
        self._proxied = proxied
        self._kept: OrderedDict[tuple[object, ...], Answer] = OrderedDict()

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Serve frames in order; each waits for the answer to the one before.

        Raises:
            FrameError: a header cannot be read.
        """
        for handled, frame in enumerate(frames, 1):
            header = decode_header(frame.header, frame.serialize_type)
            if header.is_response:
                continue
            if not self._admitted(session, header, frame):
                continue
            body = bytes(frame.body)
            session.engage(partial(self._answer, session, header, frame.serialize_type, body), len(body))
            return handled
        return len(frames)

    async def _answer(self, session: Session, header: Header, serialize_type: int, body: bytes) -> None:
        arrived = self.now()
        session.answer(header, serialize_type, await self._reply(header, body))
        if self._times is not None:
            self._times.answered(header.code, arrived)

    async def _reply(self, header: Header, body: bytes) -> Reply:
        if header.code in _REFUSED:
            error = RequestUnsupported(header.code)
            return Reply(code=response_code(error), remark=str(error), error=error)
        kept = (header.code, header.version >= STRICT_JSON_VERSION, *sorted((header.ext or {}).items()))
        try:
            answer = await self._cluster.ask(
                header.code,
                header.ext or {},
                body,
                language=header.language,
                version=header.version,
            )
        except NotReached as failure:
            if kept not in self._kept:
                return Reply(code=ResponseCode.SYSTEM_ERROR, remark=f"no name server of the cluster answers: {failure}")
            answer = self._kept[kept]
        else:
            if header.code in _ROUTES and answer.code == ResponseCode.SUCCESS:
                self._keep(kept, answer)
                self._note(header.code, answer.body)
        told = answer.body
        if header.code in _ROUTES and answer.code == ResponseCode.SUCCESS:
            told = with_addresses(told, self._proxied())
        return Reply(code=answer.code, remark=answer.remark, ext=dict(answer.ext) or None, body=(told,) if told else ())

    def _keep(self, key: tuple[object, ...], answer: Answer) -> None:
        self._kept[key] = answer
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)

    def _note(self, code: int, body: bytes) -> None:
        """Have the brokers of an answer known, also one that came this moment."""
        try:
            if code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
                self._cluster.note(decode_body(TopicRouteData, body).broker_datas)
            else:
                self._cluster.note(decode_body(ClusterInfo, body).broker_addr_table.values())
        except WireError as error:
            log.warning("an answer of a name server cannot be read: %(reason)s", {"reason": error})


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
