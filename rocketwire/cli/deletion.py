"""Deleting topics at brokers and name servers, after a confirmation, and printing what was deleted where."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import CommandError, CommandFailed

if TYPE_CHECKING:
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.remoting.admin.brokers import RegisteredBroker
    from rocketwire.remoting.cluster import BlockingCluster


yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask.")


def confirm(question: str, *, yes: bool, refusal: str = "nothing is changed") -> None:
    """Ask on the terminal, unless `--yes` is given.

    Raises:
        Mistake: there is no terminal to ask on.
        Unsuccessful: the answer is not yes.
    """
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise CommandError("there is no terminal to ask on; --yes does it without asking")
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:  # Ctrl-C or Ctrl-D
        agreed = False
    if not agreed:
        raise CommandFailed(refusal)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedThing:
    """One thing that was deleted at one server: `what` is "topic" or "group", `at` "broker" or "name_server"."""

    what: str
    name: str
    at: str
    server: str


def delete_everywhere(
    cluster: BlockingCluster, topic: str, brokers: Sequence[RegisteredBroker], attempts: ServerAttempts, *, route: bool
) -> list[DeletedThing]:
    """Delete a topic at brokers, and then, with `route` and if no broker failed, its route at all name servers."""
    from rocketwire.cli.brokers import master
    from rocketwire.remoting.admin.name_servers import delete_route
    from rocketwire.remoting.admin.topics import delete_topic

    done: list[DeletedThing] = []
    for broker in brokers:
        with attempts.at(f"broker {broker.name}"):
            delete_topic(master(cluster, broker), topic)
            done.append(DeletedThing(what="topic", name=topic, at="broker", server=broker.name))
    if not route or len(done) < len(brokers):
        return done
    for address in cluster.name_servers:
        with attempts.at(f"name server {address}"):
            delete_route(cluster.name_server(address), topic)
            done.append(DeletedThing(what="topic", name=topic, at="name_server", server=str(address)))
    return done


def print_deleted(deleted: Sequence[DeletedThing], *, json: bool) -> None:
    """Print what was deleted."""
    from rocketwire.cli.output import json_line

    for each in deleted:
        if json:
            json_line({each.what: each.name, each.at: each.server, "deleted": True})
        else:
            print(f"{each.what} {each.name}: deleted at {each.at.replace('_', ' ')} {each.server}")
