"""The store arguments that all commands share, and opening the store they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rocketwire.cli.errors import CommandError
from rocketwire.cli.parameter_types import FOLDER

if TYPE_CHECKING:
    from rocketwire.store.offline.read.directory import StoreDirectory

F = TypeVar("F", bound=Callable[..., Any])


def store_directory(run: F) -> F:
    """Add the argument DIR and the option --commitlog, which are those of `opened`."""
    named = click.argument("directory", metavar="DIR", type=FOLDER)
    option = click.option(
        "--commitlog",
        metavar="DIR",
        type=FOLDER,
        help="The commit log's folder, where storePathCommitLog put it elsewhere.",
    )
    return named(option(run))


def opened(directory: str, commit_log: str | None) -> StoreDirectory:
    """The files of a store's folder.

    Raises:
        Mistake: its queues have messages, but there is no commit log, and none was named.
        StoreError: it is not a store, or cannot be read.
    """
    from rocketwire.store.offline.read.directory import discover

    found = discover(directory, commit_log=commit_log)
    if commit_log is None:
        need_log(found, "--commitlog DIR names its folder")
    return found


def need_log(directory: StoreDirectory, advice: str) -> None:
    """Reject a store whose commit log is not in the expected place.

    Raises:
        Mistake: its queues have messages, but there is no commit log.
    """
    if not directory.commit_log and _has_messages(directory):
        raise CommandError(
            f"{directory.root}/consumequeue holds messages, but there is no commit log: "
            f"{advice}, where storePathCommitLog put it elsewhere"
        )


def _has_messages(directory: StoreDirectory) -> bool:
    from rocketwire.store.offline.read.queues import QueueReader

    for files in directory.queues:
        with QueueReader(files) as queue:
            if len(queue):
                return True
    return False
