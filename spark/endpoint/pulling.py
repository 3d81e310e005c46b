"""Pulls ranges of queues: with many pulls in flight, and with retries for a while.

Theory: the broker decides how many messages it returns to one pull. So a range is pulled in pieces of the size that it
returned last; the rest of a piece that an answer lacks is pulled at once. Messages come in the order of the ranges.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection, Response
from rocketwire.remoting.errors import NoBroker, NotReached, Refused
from rocketwire.spark.endpoint.options import EndpointOptions
from rocketwire.spark.endpoint.planning import PullRange
from rocketwire.spark.endpoint.queues import EMPTY_RANGE, pull
from rocketwire.spark.endpoint.session import BUSY, RetryPauses, opened
from rocketwire.spark.stream.offsets import BrokerQueue
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pull import PullMessageResponseHeader

_WINDOW: Final = 16
"""Pulls in flight, at most."""
_FIRST_PIECE: Final = 32  # the default of brokers
_LARGEST_PIECE: Final = 1024
_FULL_ANSWERS: Final = 16
"""After so many full answers the pieces grow."""


class PulledMessages(NamedTuple):
    """Messages of a queue with offsets from `first` up to, not including, `end`.

    `records` has them one after the other, as the commit log does; None: they are gone.
    """

    queue: BrokerQueue
    first: int
    end: int
    records: memoryview | None


@dataclass(slots=True)
class _Piece:
    """The messages that one pull requests; it is in flight or answered."""

    span: PullRange
    opaque: int = 0
    answer: Response | None = None


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
        self._connection: BlockingConnection | None = None
        self._waiting: deque[_Piece] = deque()
        self._window = _WINDOW
        self._most = _FIRST_PIECE
        self._full = 0

    def close(self) -> None:
        """Close the connections."""
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = self._connection = None

    def pulled(self, spans: Iterable[PullRange]) -> Iterator[PulledMessages]:
        """All messages of some ranges."""
        left = self._pieces(spans)
        while True:
            while len(self._waiting) < self._window and (piece := next(left, None)) is not None:
                self._waiting.append(piece)
                self._send([piece])
            if not self._waiting:
                return
            yield from self._taken()

    def _pieces(self, spans: Iterable[PullRange]) -> Iterator[_Piece]:
        for queue, start, end in spans:
            first = start
            while first < end:
                until = min(end, first + self._most)
                yield _Piece(PullRange(queue, first, until))
                first = until

    def _taken(self) -> Iterator[PulledMessages]:
        """The messages of the oldest pull; nothing if it is sent again."""
        piece = self._waiting[0]
        try:
            answer = self._answer(piece)
        except NotReached as error:
            self._again(error)
            return
        if answer.code in BUSY:
            self._rest(answer)
            return
        if answer.code != ResponseCode.SUCCESS and answer.code not in EMPTY_RANGE:
            raise Refused(self._what, answer.code, answer.remark)
        self._waiting.popleft()
        self._patience.reset()
        self._window = min(_WINDOW, self._window + 1)
        queue, first, end = piece.span
        reached = decode_ext(PullMessageResponseHeader, answer.ext).next_begin_offset
        if answer.code == ResponseCode.SUCCESS:
            until, records = min(max(reached, first + 1), end), answer.body
            self._learn(end - first, until - first)
        else:
            until, records = min(reached, end) if reached > first else end, None
        if until < end:
            rest = list(self._cut(PullRange(queue, until, end)))
            self._waiting.extendleft(reversed(rest))
            self._send(rest)
        yield PulledMessages(queue, first, until, records)

    def _cut(self, span: PullRange) -> Iterator[_Piece]:
        """The missing rest of an answer, as pieces of the size that the broker returns; the last one may be longer."""
        queue, first, end = span
        for _ in range(self._window - 1):
            if first + self._most < end:
                yield _Piece(PullRange(queue, first, first + self._most))
                first += self._most
        yield _Piece(PullRange(queue, first, end))

    def _learn(self, asked: int, given: int) -> None:
        if given < asked:
            self._most, self._full = given, 0
        elif asked == self._most:
            self._full += 1
            if self._full == _FULL_ANSWERS:
                self._most, self._full = min(_LARGEST_PIECE, self._most * 2), 0

    @property
    def _what(self) -> str:
        return f"broker {self._broker}" if self._connection is None else self._connection.what

    def _answer(self, piece: _Piece) -> Response:
        if piece.answer is None:
            if self._connection is None:
                raise NotReached(self._what, "the connection failed")
            piece.answer = self._connection.answer(piece.opaque)
        return piece.answer

    def _rest(self, busy: Response) -> None:
        """The broker is busy: wait, with no pull in flight, then send fewer pulls at once."""
        asked = [piece for piece in self._waiting if piece.answer is None or piece.answer.code in BUSY]
        try:
            refused = [piece for piece in asked if self._answer(piece).code in BUSY]
        except NotReached as error:
            self._again(error)
            return
        if len(refused) < len(asked):
            self._patience.reset()
        self._patience.wait_after(Refused(self._what, busy.code, busy.remark))
        self._window = max(1, self._window // 2)
        for piece in refused:
            piece.answer = None
        self._send(refused)

    def _again(self, error: NotReached | NoBroker) -> None:
        """The connection failed: send all unanswered pulls again on a new one."""
        self.close()
        self._patience.wait_after(error)
        unanswered = [piece for piece in self._waiting if piece.answer is None or piece.answer.code in BUSY]
        for piece in unanswered:
            piece.answer = None
        self._send(unanswered)

    def _send(self, pieces: Iterable[_Piece]) -> None:
        try:
            connection = self._connected()
            for piece in pieces:
                queue, first, end = piece.span
                fields = pull(queue, first, end - first, self._endpoint.group)
                piece.opaque = connection.send(RequestCode.PULL_MESSAGE, fields)
        except (NotReached, NoBroker) as error:
            self._again(error)

    def _connected(self) -> BlockingConnection:
        if self._connection is None:
            self._cluster = opened(self._endpoint)
            self._connection = self._cluster.broker(self._broker)
        return self._connection
