"""Guards that decide by a request's code alone."""

from __future__ import annotations

from typing import Final

from rocketwire.server.acl.access_rules import ACCESS_RULES
from rocketwire.server.core.guard_errors import NotThroughProxy, OnlyRead
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import CallSignature, Peer
from rocketwire.wire.facts.codes import PullSysFlag, RequestCode
from rocketwire.wire.header import Header

_READING: Final = ("GET_", "QUERY_", "VIEW_", "SEARCH_", "CHECK_")
_NOT_READING: Final = frozenset({RequestCode.CHECK_TRANSACTION_STATE, RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS})
_READS: Final = frozenset(
    {
        *(code for code in RequestCode if code.name.startswith(_READING) and code not in _NOT_READING),
        *(RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE, RequestCode.PEEK_MESSAGE),
        *(RequestCode.HEART_BEAT, RequestCode.UNREGISTER_CLIENT, RequestCode.WHO_CONSUME_THE_MESSAGE),
        *(RequestCode.NOTIFICATION, RequestCode.POLLING_INFO, RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS),
    }
)
_NO_CONSUMERS: Final = b'"consumerDataSet":[]'


class DecidedCodes:
    """Lets through only requests about whose code access control decides something.

    A broker behind a proxy may serve codes that are unknown here: it would carry them out with the proxy's account, or
    for every client if it has no accounts. It comes after the guard that checks accounts.

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


class ReadOnly:
    """Refuses requests that change something; also heartbeats of consumers, for which brokers make topics."""

    active: Final = True

    def admit(self, peer: Peer, header: Header, body: memoryview, proof: CallSignature | None = None) -> None:
        """Decide about one request.

        Raises:
            OnlyRead: it changes something.
        """
        del peer, proof
        code = header.code
        if code not in _READS or (code == RequestCode.HEART_BEAT and _NO_CONSUMERS not in bytes(body)):
            raise OnlyRead
        pulls = code in {RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE}
        flags = (header.ext or {}).get("sysFlag", "0") if pulls else "0"
        if not flags.isdecimal() or int(flags) & PullSysFlag.COMMIT_OFFSET:
            raise OnlyRead
