"""The source of `rocketwire timer`: a store directory, or the brokers of a name server."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from rocketwire.cli.mistake import Mistake
from rocketwire.cli.name_server import add_name_server, connected
from rocketwire.cli.output import warn
from rocketwire.cli.waiting import waits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocketwire.store.archive.read.directory import Directory
    from rocketwire.store.archive.timer.messages import TimerMessage

Warn = Callable[[str], None]


class Source(Protocol):
    """The waiting messages of a source.

    Attributes:
        time: When the source was read, ms: what is read later is not newer.
        precision: Milliseconds of a slot.
        waiting: An array of store.archive.timer.units.WAITING.
    """

    time: int
    precision: int
    waiting: NDArray[Any]

    def messages(self, waiting: NDArray[Any]) -> Iterator[tuple[int, TimerMessage | None]]:
        """The number of each of `waiting`, in any order within a part of them, and its message; None if it is gone."""

    def topic(self, topic_hash: int) -> str | None:
        """The topic with a hash, if one is known."""

    def broker(self, number: int) -> str | None:
        """The name of a broker; None in a store, which does not contain it."""


class Complaints:
    """Prints warnings, and remembers whether there were any."""

    def __init__(self) -> None:
        self.any = False

    def __call__(self, what: object) -> None:
        """Write a line to stderr."""
        self.any = True
        warn(str(what))


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `opened` and `store_of` read."""
    parser.add_argument("--store", metavar="DIR", help="look into this store directory instead of asking brokers")
    parser.add_argument(
        "--commitlog", metavar="DIR", help="with --store: the commit log's folder, where it is elsewhere"
    )
    add_name_server(parser)


def store_of(options: argparse.Namespace) -> Directory | None:
    """The store directory that was named, None without.

    Raises:
        Mistake: a commit log was named alone, or there is none.
        StoreError: it is not a store, or cannot be read.
    """
    if options.store is None:
        if options.commitlog is not None:
            raise Mistake("--commitlog is for --store DIR only")
        return None
    from rocketwire.cli.store.directory import need_log
    from rocketwire.store.archive.read.directory import discover

    directory = discover(options.store, commit_log=options.commitlog)
    need_log(directory, "--commitlog DIR names its folder")
    return directory


@contextlib.contextmanager
def opened(options: argparse.Namespace, report: Complaints) -> Iterator[Source]:
    """Open the source that the arguments name.

    Raises:
        Mistake: the store's commit log was named wrongly, or no broker has a timer.
        NotReached, Refused: the endpoint does not answer.
        StoreError: it is not a store, or cannot be read.
    """
    directory = store_of(options)
    if directory is not None:
        from rocketwire.cli.timer.local import LocalTimer

        with waits.during(f"reading the timer of {directory.root}"), LocalTimer(directory, report) as local:
            yield local
        return
    from rocketwire.cli.timer.remote import RemoteTimer

    with connected(options) as cluster:
        yield RemoteTimer(cluster, report)
