"""What the proxy's dispatchers have in common: a frame is checked by guards, counted, and passed on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from rocketwire.server.core.metrics import UNSERVED, Metrics
from rocketwire.server.dispatch.execution import refusal_reply
from rocketwire.server.dispatch.guard import RequestGuard
from rocketwire.server.net.session import Session
from rocketwire.server.proxy.times import CODES, RelayHistograms
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)


class RelayingDispatcher:
    """A dispatcher of frames that are answered elsewhere.

    Args:
        guards: Admit or refuse requests: quotas, accounts, whether anything may be changed.
        metrics: Counts requests.
        now: The clock of faults and times.
        times: Measures; None: nothing is measured.

    Attributes:
        now: See above.
    """

    def __init__(
        self,
        *,
        guards: Iterable[RequestGuard],
        metrics: Metrics,
        now: Callable[[], float],
        times: RelayHistograms | None = None,
    ) -> None:
        self._times = times
        self._guards = tuple(guards)
        self._metrics = metrics
        self.now = now

    @property
    def guarded(self) -> bool:
        """Whether requests are checked before they are passed on."""
        return any(guard.active for guard in self._guards)

    def settle(self) -> None:
        """Do nothing: nothing remains to be done."""

    def send_request(self, session: Session, _header: Header, frame: bytes) -> None:
        """Write a request of the server's own."""
        session.write(frame)

    def empty_fields(self, _code: int) -> dict[str, str]:
        """The fields of an answer that a fault gives."""
        return {}

    def _admitted(self, session: Session, header: Header, frame: RawFrame) -> bool:
        """Count a request; whether all active guards admit it. A refused one is answered."""
        self._metrics.requests[header.code if header.code in CODES else UNSERVED] += 1
        arrived = self.now()
        try:
            for guard in self._guards:
                if guard.active:
                    guard.admit(session, header, frame.body)
        except Exception as error:  # noqa: BLE001 - it is logged; an undecided request is refused
            self._refuse_for(session, header, frame.serialize_type, error, arrived)
            return False
        return True

    def _refuse_for(
        self, session: Session, header: Header, serialize_type: int, error: Exception, arrived: float
    ) -> None:
        """Answer a request with the error for which it is not passed on."""
        session.answer(header, serialize_type, refusal_reply(session, header, error, reveal_details=False, ext={}))
        if self._times is not None:
            self._times.answered(header.code, arrived)
