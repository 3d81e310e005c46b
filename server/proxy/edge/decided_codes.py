"""A guard that lets through only requests about whose code access control decides something.

A broker behind a proxy may serve codes that are unknown here: it would carry them out with the proxy's account, or for
everybody if it has no accounts itself.
"""

from __future__ import annotations

from typing import Final

from rocketwire.server.acl.access_rules import ACCESS_RULES
from rocketwire.server.core.guard_errors import NotThroughProxy
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import CallSignature, Peer
from rocketwire.wire.header import Header


class DecidedCodes:
    """The guard, where the proxy has accounts of its own; it comes after that which checks them.

    Args:
        metrics: Counts refusals.
    """

    active: Final = True

    def __init__(self, metrics: Metrics) -> None:
        self._refused = metrics.acl_refused

    def admit(self, peer: Peer, header: Header, body: memoryview, proof: CallSignature | None = None) -> None:
        """Decide about one request.

        Raises:
            NotThroughProxy: nothing is decided about its code.
        """
        del peer, body, proof
        if header.code not in ACCESS_RULES:
            self._refused["undecided_code"] += 1
            raise NotThroughProxy(header.code)
