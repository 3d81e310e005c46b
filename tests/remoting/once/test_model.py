"""Members of a group get messages, again and again, at the same time, fail and are killed: each message sells once.

SQLite has one writer. A member that begins while another one is in its transaction gets an error, and with it the
message again later: that is how the model has members with the same message at the same time, without threads.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rocketwire.remoting.once import ExactlyOnce
from tests.remoting.once.support import Sent, Shop, sell, selling

MEMBERS = 3
MESSAGES = [Sent(name) for name in "ABCD"]

members = st.integers(0, MEMBERS - 1)
messages = st.sampled_from(MESSAGES)


class Failed(Exception):
    """The application's own."""


class Group(RuleBasedStateMachine):
    """Three members of a group on one database; at most one of them is in the middle of a message."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.shop = Shop(Path(self.folder.name))
        self.members = [self.member() for _ in range(MEMBERS)]
        self.open: tuple[int, Sent, contextlib.ExitStack] | None = None
        self.acknowledged: set[str] = set()

    def member(self) -> ExactlyOnce:
        return self.shop.once(lambda: self.shop.connect(timeout=0))

    @precondition(lambda self: self.open is None)
    @rule(number=members, message=messages)
    def deliver(self, number: int, message: Sent) -> None:
        """A member gets a message, or gets it again, and is now in the middle of it."""
        stack = contextlib.ExitStack()
        db = stack.enter_context(self.members[number].transaction(message))
        assert (db is None) == (message.message_id in self.shop.sold)
        if db is None:
            stack.close()
            self.acknowledged.add(message.message_id)
        else:
            sell(message, db)
            self.open = number, message, stack

    @precondition(lambda self: self.open is not None)
    @rule(number=members, message=messages)
    def deliver_meanwhile(self, number: int, message: Sent) -> None:
        """Another member gets a message, may be the same one."""
        assert self.open is not None
        if number != self.open[0]:
            with contextlib.suppress(sqlite3.OperationalError):
                selling(self.members[number])(message)
                raise AssertionError("two writers")

    @precondition(lambda self: self.open is not None)
    @rule(acknowledges=st.booleans())
    def succeed(self, *, acknowledges: bool) -> None:
        """The member commits; it may be killed before it acknowledges."""
        number, message, stack = self.take()
        stack.close()
        if acknowledges:
            self.acknowledged.add(message.message_id)
        else:
            self.kill(number)

    @precondition(lambda self: self.open is not None)
    @rule()
    def fail(self) -> None:
        """The application raises."""
        _, _, stack = self.take()
        assert not stack.__exit__(Failed, Failed(), None)

    @precondition(lambda self: self.open is not None)
    @rule()
    def die(self) -> None:
        """The member is killed in the middle."""
        number, _, stack = self.take()
        self.kill(number)
        assert not stack.__exit__(Failed, Failed(), None)

    def take(self) -> tuple[int, Sent, contextlib.ExitStack]:
        assert self.open is not None
        taken, self.open = self.open, None
        return taken

    def kill(self, number: int) -> None:
        """What the operating system does for a killed process: its connections are closed. It starts again."""
        seats: Any = self.members[number]._database
        for seat in seats._seats.values():
            if seat.connection is not None:
                seat.connection.close()
        self.members[number] = self.member()

    @invariant()
    def nothing_is_sold_twice(self) -> None:
        sold = self.shop.sold
        assert len(set(sold)) == len(sold)
        assert self.acknowledged <= set(sold)
        assert not sold or sold == self.shop.recorded

    def teardown(self) -> None:
        """In the end the broker delivers what was not acknowledged, and all is sold once."""
        if self.open is not None:
            self.fail()
        for message in MESSAGES:
            if message.message_id not in self.acknowledged:
                selling(self.members[0])(message)
        assert self.shop.sold == self.shop.recorded == [message.message_id for message in MESSAGES]
        self.shop.close()
        self.folder.cleanup()


TestGroup = Group.TestCase
TestGroup.settings = settings(max_examples=40, stateful_step_count=25)
