"""What goes wrong between a command and an endpoint: each is one line for the user."""

from __future__ import annotations

from rocketwire.cli.mistake import Mistake


class NotReached(Mistake):
    """Nobody answers at an address, or not in time, or not in RocketMQ's protocol."""

    def __init__(self, what: str, reason: str) -> None:
        """Take who was asked, as `broker 127.0.0.1:10911`, and what happened."""
        super().__init__(f"{what}: {reason}")


class Refused(Mistake):
    """The other end answered with an error."""

    def __init__(self, what: str, code: int, remark: str | None) -> None:
        """Take who was asked, the response code and the remark."""
        lines = (remark or "").strip().splitlines() or ["no remark"]
        super().__init__(f"{what} answered code {code}: {lines[0]}")
        self.code = code


class NoSuchTopic(Mistake):
    """The name server knows no route of a topic."""

    def __init__(self, topic: str, name_server: str) -> None:
        """Take the topic and the name server's address."""
        super().__init__(f"topic {topic}: the name server {name_server} knows no such topic")
