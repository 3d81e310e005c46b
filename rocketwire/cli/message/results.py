"""Printing the outcomes of sends: a line or an object each, a progress line, and a summary."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from rocketwire.cli.errors import INCOMPLETE
from rocketwire.cli.output import count_of, json_line, number, warn
from rocketwire.cli.terminal import drawing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rocketwire.cli.message.sending import FailedSend, MessageSender, SentMessage
    from rocketwire.cli.message.targets import OutgoingMessage

_MANY: Final = 1000
"""From so many messages on a summary is printed."""
_EVERY_SECONDS: Final = 0.2
_ERASE: Final = "\r\x1b[K"


class SendResultPrinter:
    """Prints results as they come; `quiet`: no line for a message that is stored."""

    def __init__(self, *, as_json: bool, quiet: bool, place: str = "") -> None:
        self._as_json = as_json
        self._quiet = quiet
        self._place = place
        self._began = time.monotonic()
        self._drawn = 0.0
        # Where the lines themselves are on the terminal they show the progress.
        self._draws = sys.stderr.isatty() and (quiet or not sys.stdout.isatty())
        self.stored = 0
        self.failed = 0

    def warn(self, line: str) -> None:
        """Print a line on stderr."""
        self._erase()
        warn(line)

    def run(self, sender: MessageSender, messages: Iterable[OutgoingMessage | None]) -> int:
        """Send messages, print their outcomes, and return the exit code.

        Raises:
            NotReached, Refused, Mistake: the rest cannot be sent; stderr says how many are stored.
        """
        from rocketwire.cli.message.sending import SentMessage

        try:
            for result in sender.send(self._flushing(messages)):
                if isinstance(result, SentMessage):
                    self._put(result)
                else:
                    self._complain(result)
                self._draw()
        except BaseException:
            self._erase()
            if self.stored or sender.unanswered:
                warn(
                    f"{count_of(self.stored, 'message')} stored; of {number(sender.unanswered)} it is not known:"
                    " sending them again may double them"
                )
            raise
        self._erase()
        if sender.throttled or self.stored >= _MANY:
            self._sum_up(sender)
        return INCOMPLETE if self.failed else 0

    def _flushing(self, messages: Iterable[OutgoingMessage | None]) -> Iterator[OutgoingMessage | None]:
        for each in messages:
            yield each
            if each is None:
                sys.stdout.flush()

    def _put(self, sent: SentMessage) -> None:
        self.stored += 1
        if self._quiet:
            return
        if self._as_json:
            json_line(_object(sent))
        else:
            place = "delayed" if sent.is_delayed else f"{sent.queue_id}/{sent.offset}"
            print(f"{sent.message.message_id}  {sent.broker}  {place}")

    def _complain(self, failed: FailedSend) -> None:
        self.failed += 1
        self.warn(f"message {failed.message.message_id} is not stored: {failed.reason}")

    def _sum_up(self, sender: MessageSender) -> None:
        seconds = time.monotonic() - self._began
        again = f", {number(sender.throttled)} of them throttled and sent again" if sender.throttled else ""
        warn(
            f"{count_of(self.stored, 'message')} stored in {seconds:.1f} s"
            f" ({number(round(self.stored / max(seconds, 0.001)))} a second){again}"
        )

    def _draw(self) -> None:
        now = time.monotonic()
        if self._draws and now - self._drawn >= _EVERY_SECONDS:
            self._drawn = now
            rate = number(round(self.stored / max(now - self._began, 0.001)))
            terminal = drawing(sys.stderr)
            terminal.write(f"{_ERASE}{count_of(self.stored, 'message')} stored, {rate} a second")
            terminal.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = 0.0
            drawing(sys.stderr).write(_ERASE)


def _object(sent: SentMessage) -> dict[str, Any]:
    return {
        "topic": sent.message.topic,
        "message_id": sent.message.message_id,
        "offset_message_id": sent.offset_message_id,
        "broker": sent.broker,
        "queue_id": None if sent.is_delayed else sent.queue_id,
        "queue_offset": None if sent.is_delayed else sent.offset,
        "code": sent.code,
    }
