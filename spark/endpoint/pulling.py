"""Pulls ranges of queues, with retries for a while.

The broker decides how many messages it returns to one pull: what an answer lacks is pulled next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import Response
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.errors import NoBroker, NotReached, Refused
from rocketwire.spark.endpoint.options import EndpointOptions
from rocketwire.spark.endpoint.planning import PullRange
from rocketwire.spark.endpoint.queues import EMPTY_RANGE, pull
from rocketwire.spark.endpoint.session import RetryPauses, opened
from rocketwire.spark.stream.offsets import BrokerQueue
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader

_MOST: Final = 1024
"""Messages that a pull requests; the broker decides how many it returns."""


class PulledMessages(NamedTuple):
    """Messages of a queue with offsets from `first` up to, not including, `end`.

    `records` has them one after the other, as the commit log does; None: they were removed.
    """

    queue: BrokerQueue
    first: int
    end: int
    records: memoryview | None


class Puller:
    """Pulls from one broker.

    Raises:
        RemotingError: in every method: the broker does not answer, or refuses, for longer than `patience` bears.
    """

    def __init__(self, endpoint: EndpointOptions, broker: str, patience: RetryPauses) -> None:
        self._endpoint = endpoint
        self._broker = broker
        self._patience = patience
        self._cluster: BlockingCluster | None = None

    def close(self) -> None:
        """Close the connections."""
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = None

    def pulled(self, spans: Iterable[PullRange]) -> Iterator[PulledMessages]:
        """All messages of some ranges, in the order of the ranges."""
        for queue, start, end in spans:
            first = start
            while first < end:
                found = self._pull(PullRange(queue, first, end))
                yield found
                first = found.end

    def _pull(self, span: PullRange) -> PulledMessages:
        """The messages that a range begins with, up to the broker's limit."""
        queue, first, end = span
        answer = self._answer(pull(queue, first, min(end - first, _MOST), self._endpoint.group))
        reached = decode_ext(PullMessageResponseHeader, answer.ext).next_begin_offset
        if answer.code == ResponseCode.SUCCESS:
            return PulledMessages(queue, first, min(max(reached, first + 1), end), memoryview(answer.body))
        return PulledMessages(queue, first, min(reached, end) if reached > first else end, None)

    def _answer(self, fields: PullMessageRequestHeader) -> Response:
        """The answer to a pull, which is sent again while the broker is busy or not reached."""
        while True:
            try:
                if self._cluster is None:
                    self._cluster = opened(self._endpoint)
                connection = self._cluster.broker(self._broker)
                answer = connection.answer(connection.send(ClientRequest(RequestCode.PULL_MESSAGE, fields)))
            except (NotReached, NoBroker) as error:
                self.close()
                self._patience.wait_after(error)
                continue
            if answer.code == ResponseCode.SUCCESS or answer.code in EMPTY_RANGE:
                self._patience.reset()
                return answer
            self._patience.wait_after(Refused(connection.what, answer.code, answer.remark))
