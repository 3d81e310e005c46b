"""Doing the same at several servers: failures are reported on stderr, and the other servers still get the request."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rocketwire.cli.errors import INCOMPLETE, UNREACHABLE, CommandFailed
from rocketwire.cli.output import warn, warn_empty

if TYPE_CHECKING:
    from rocketwire.remoting.admin.brokers import RegisteredBroker


class ServerAttempts:
    """What was tried at several servers, and the exit code that follows from it."""

    def __init__(self) -> None:
        self.done = 0
        self._failed = 0
        self._unreached = 0
        self._servers: set[str] = set()

    @contextlib.contextmanager
    def at(self, server: str) -> Iterator[None]:
        """Try something at a server, named in the line that stderr gets if it fails.

        Raises:
            AccessDenied: the endpoint wants another account, which is the same at all servers.
        """
        from rocketwire.remoting.errors import AccessDenied, NotReached, Refused
        from rocketwire.wire.errors import WireError

        try:
            yield
        except AccessDenied:
            raise
        except NotReached as error:
            self._unreached += 1
            self._fail_at(server, str(error))
        except (Refused, WireError, CommandFailed) as error:
            self._fail_at(server, str(error))
        else:
            self.done += 1

    def _fail_at(self, server: str, text: str) -> None:
        self._servers.add(server)
        self.fail(text if text.startswith(server) else f"{server}: {text}")

    def fail(self, line: str) -> None:
        """Report a failure."""
        self._failed += 1
        warn(line)

    def left(self, brokers: Iterable[RegisteredBroker]) -> list[RegisteredBroker]:
        """The brokers at which nothing has failed so far."""
        return [each for each in brokers if f"broker {each.name}" not in self._servers]

    def code(self, *, found: bool = True, what: str = "") -> int:
        """0 if nothing failed and something was found; 3 if no server could be reached; else 1.

        If nothing failed and nothing was found, stderr gets a line with `what`, the plural of what was searched.
        """
        if what and not found and not self._failed:
            warn_empty(what)
        if self._failed and self._failed == self._unreached and not self.done:
            return UNREACHABLE
        return 0 if found and not self._failed else INCOMPLETE
