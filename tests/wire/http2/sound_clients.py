"""A client that keeps to the rules, once with each of two implementations that must do the same."""

from __future__ import annotations

from typing import ClassVar

from h2.settings import SettingCodes
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rocketwire.wire.http2.events import CALL, OPENED
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import KIB, STREAM, Client, Make, request

sizes = st.one_of(st.integers(0, 300), st.integers(0, 70 * KIB), st.just(100 * KIB))


class SoundClients(RuleBasedStateMachine):
    """h2 checks at the client that the server keeps to the rules, too.

    Attributes:
        makes: Make the server's ends.
    """

    makes: ClassVar[tuple[Make, Make]]

    def __init__(self) -> None:
        super().__init__()
        limits = {"max_message": 100 * KIB, "window": 256 * KIB}
        self.clients = [Client(make, opens_windows=False, **limits) for make in self.makes]
        for client in self.clients:
            client.h2.increment_flow_control_window(1 << 30)  # which answers share it, is a matter of taste
        self.open: list[int] = []  # streams that the client has not ended
        self.unanswered: list[int] = []

    def turn(self, cut: int = 0) -> None:
        for client in self.clients:
            client.send_pending()
            data = client.h2.data_to_send()
            client.give(data[:cut])
            client.give(data[cut:])
            client.turn()
        events = self.clients[0].events
        self.unanswered = [event[1] for event in events if event[0] in {CALL, OPENED}]

    @rule(size=sizes, cut=st.integers(0, 500))
    def call(self, size: int, cut: int) -> None:
        for client in self.clients:
            client.call(bytes(size))
        self.turn(cut)

    @rule(content=st.sampled_from(["application/grpc", "text/html"]), cut=st.integers(0, 300))
    def begin(self, content: str, cut: int) -> None:
        self.open += {client.open(request(STREAM, "POST", content)) for client in self.clients}
        self.turn(cut)
        self.open = [stream for stream in self.open if not self.clients[0].answer(stream).ended]

    @precondition(lambda self: self.open)
    @rule(data=st.data(), size=sizes, end=st.booleans(), cut=st.integers(0, 500))
    def message(self, data: st.DataObject, size: int, end: bool, cut: int) -> None:
        stream = data.draw(st.sampled_from(self.open))
        for client in self.clients:
            if stream not in client.pending:
                room = client.h2.local_flow_control_window(stream)
                message = add_prefix(bytes(size))
                for at in range(0, len(message), 16 * KIB):
                    if len(message) <= room:
                        client.h2.send_data(stream, message[at : at + 16 * KIB])
                if end:
                    client.h2.end_stream(stream)
        if end:
            self.open.remove(stream)
        self.turn(cut)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        stream = data.draw(st.sampled_from(self.open))
        self.open.remove(stream)
        for client in self.clients:
            client.h2.reset_stream(stream, 8)
        self.turn()

    @precondition(lambda self: self.unanswered)
    @rule(data=st.data(), size=sizes, how=st.sampled_from(["unary", "unary_each", "message", "answer", "finish"]))
    def answer(self, data: st.DataObject, size: int, how: str) -> None:
        stream = data.draw(st.sampled_from(self.unanswered))
        for client in self.clients:
            if how == "finish":
                client.server.finish(stream, size % 17, "no" * (size % 2))
            elif how == "answer":
                client.server.answer(stream, [bytes(size), b"", b"x"][: size % 4])
            elif how == "unary_each":
                client.server.unary_each([(stream, bytes(size)), (stream, b"too late")])
            else:
                getattr(client.server, how)(stream, bytes(size))
        self.turn()
        self.open = [stream for stream in self.open if not self.clients[0].answer(stream).ended]

    @precondition(lambda self: self.unanswered)
    @rule(more=st.sampled_from([1, 1000, 100 * KIB]), data=st.data())
    def window(self, more: int, data: st.DataObject) -> None:
        stream = data.draw(st.sampled_from(self.unanswered))
        for client in self.clients:
            if stream in client.h2.streams and client.h2.streams[stream].open:
                client.h2.increment_flow_control_window(more, stream)
        self.turn()

    @rule(size=st.sampled_from([0, 1000, 65_535, 200 * KIB]))
    def initial_window(self, size: int) -> None:
        for client in self.clients:
            client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: size})
        self.turn()

    @invariant()
    def both_are_the_same(self) -> None:
        one, other = self.clients
        assert one.events == other.events
        assert one.goaway is other.goaway is None
        assert (one.server.streams, one.server.held) == (other.server.streams, other.server.held)
        assert one.server.waiting == other.server.waiting
        for stream in range(1, one.h2.highest_outbound_stream_id + 1, 2):
            ours, theirs = one.answer(stream), other.answer(stream)
            assert ours._replace(data=b"", reset=None) == theirs._replace(data=b"", reset=None)
            if ours.ended:
                assert ours.data == theirs.data
