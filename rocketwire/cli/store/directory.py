"""The store arguments that all commands share, and opening the store they name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rocketwire.cli.mistake import Mistake

if TYPE_CHECKING:
    from rocketwire.store.archive.read.directory import Directory


def add_directory(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `opened` reads."""
    parser.add_argument("directory", metavar="DIR", help="the store's folder")
    parser.add_argument(
        "--commitlog", metavar="DIR", help="the commit log's folder, where storePathCommitLog put it elsewhere"
    )


def opened(options: argparse.Namespace) -> Directory:
    """The files of the directory.

    Raises:
        Mistake: its queues have messages, but there is no commit log, and none was named.
        StoreError: it is not a store, or cannot be read.
    """
    from rocketwire.store.archive.read.directory import discover

    directory = discover(options.directory, commit_log=options.commitlog)
    if options.commitlog is None:
        need_log(directory, "--commitlog DIR names its folder")
    return directory


def need_log(directory: Directory, advice: str) -> None:
    """Reject a store whose commit log is not in the expected place.

    Raises:
        Mistake: its queues have messages, but there is no commit log.
    """
    if not directory.commit_log and _has_messages(directory):
        raise Mistake(
            f"{directory.root}/consumequeue holds messages, but there is no commit log: "
            f"{advice}, where storePathCommitLog put it elsewhere"
        )


def _has_messages(directory: Directory) -> bool:
    from rocketwire.store.archive.read.queues import Queue

    for files in directory.queues:
        with Queue(files) as queue:
            if len(queue):
                return True
    return False
