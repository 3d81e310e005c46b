"""The source of `rocketwire timer`: a store directory, or the brokers of a name server."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

import click

from rocketwire.cli.errors import CommandError
from rocketwire.cli.online import CONNECTION, ClusterAccess, connection_options, endpoint_of
from rocketwire.cli.parameter_types import FOLDER
from rocketwire.cli.waiting import waits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocketwire.store.offline.read.directory import StoreDirectory
    from rocketwire.store.offline.timer.messages import TimerMessage

P = ParamSpec("P")
R = TypeVar("R")
Warn = Callable[[object], None]


class TimerSource(Protocol):
    """The waiting messages of a source.

    Attributes:
        time: When the source was read, ms: what is read later is not newer.
        precision: Milliseconds of a slot.
        waiting: An array of store.offline.timer.units.WAITING.
    """

    time: int
    precision: int
    waiting: NDArray[Any]

    def messages(self, waiting: NDArray[Any]) -> Iterator[tuple[int, TimerMessage | None]]:
        """The number of each of `waiting`, in any order within a part of them, and its message; None: removed."""

    def topic(self, topic_hash: int) -> str | None:
        """The topic with a hash, if one is known."""

    def broker(self, number: int) -> str | None:
        """The name of a broker; None in a store, which does not contain it."""


@dataclass(frozen=True, slots=True)
class TimerLocation:
    """A store directory or an endpoint, as options name it; nothing is opened yet.

    Attributes:
        store: `--store`; None for an endpoint.
        commit_log: `--commitlog`.
        connection: The options of the endpoint, for `endpoint_of`.
    """

    store: str | None
    commit_log: str | None
    connection: Mapping[str, Any]

    def endpoint(self) -> ClusterAccess:
        """The endpoint.

        Raises:
            Mistake: its options are wrong.
        """
        return endpoint_of(self.connection)

    def directory(self) -> StoreDirectory | None:
        """The store directory, None without.

        Raises:
            Mistake: a commit log was named alone, or there is none.
            StoreError: it is not a store, or cannot be read.
        """
        if self.store is None:
            if self.commit_log is not None:
                raise CommandError("--commitlog is for --store DIR only")
            return None
        from rocketwire.cli.store.directory import need_log
        from rocketwire.store.offline.read.directory import discover

        directory = discover(self.store, commit_log=self.commit_log)
        need_log(directory, "--commitlog DIR names its folder")
        return directory

    @contextlib.contextmanager
    def opened(self, report: Warn) -> Iterator[TimerSource]:
        """Open the source.

        Raises:
            Mistake: the store's commit log was named wrongly, or no broker has a timer.
            NotReached, Refused: the endpoint does not answer.
            StoreError: it is not a store, or cannot be read.
        """
        directory = self.directory()
        if directory is not None:
            from rocketwire.cli.timer.local import LocalTimer

            with waits.during(f"reading the timer of {directory.root}"), LocalTimer(directory, report) as local:
                yield local
            return
        from rocketwire.cli.timer.remote import RemoteTimer

        endpoint = self.endpoint()
        with endpoint.connected() as cluster, RemoteTimer(endpoint, cluster, report) as remote:
            yield remote


def store_or_online(run: Callable[Concatenate[TimerLocation, P], R]) -> Callable[P, R]:
    """Add the options --store and --commitlog, and those of a connection; the command gets a `TimerLocation` first."""

    @functools.wraps(run)
    def wrapped(*arguments: P.args, **options: P.kwargs) -> R:
        connection = {name: options.pop(name) for name in CONNECTION}
        store: Any = options.pop("store")
        commit_log: Any = options.pop("commitlog")
        return run(TimerLocation(store, commit_log, connection), *arguments, **options)

    store = click.option(
        "--store", metavar="DIR", type=FOLDER, help="Read this store directory instead of querying brokers."
    )
    commit_log = click.option(
        "--commitlog",
        metavar="DIR",
        type=FOLDER,
        help="With --store: the commit log's folder, where it is elsewhere.",
    )
    return store(commit_log(connection_options(wrapped)))
