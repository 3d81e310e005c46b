"""The arguments of all commands that connect to an endpoint, and the connection."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from rocketwire.cli.mistake import Mistake

if TYPE_CHECKING:
    from rocketwire.remoting.cluster import Cluster
    from rocketwire.remoting.credentials import Credentials

DEFAULT_NAME_SERVER: Final = "127.0.0.1:9876"
_ACCESS_KEY: Final = "ROCKETWIRE_ACCESS_KEY"
_SECRET_KEY: Final = "ROCKETWIRE_SECRET_KEY"  # noqa: S105 - its name
NEED_CREDENTIALS: Final = f"name an account with --access-key and --secret-key, or in {_ACCESS_KEY} and {_SECRET_KEY}"
"""Printed when an endpoint accepts signed requests only."""


def add_name_server(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `connected` takes."""
    parser.add_argument(
        "--namesrv",
        metavar="HOST:PORT",
        default=DEFAULT_NAME_SERVER,
        help=f"the name server to ask; several with ; between (default {DEFAULT_NAME_SERVER})",
    )
    parser.add_argument(
        "--access-key", metavar="KEY", help=f"an account, where the endpoint has accounts (default: ${_ACCESS_KEY})"
    )
    parser.add_argument(
        "--secret-key",
        metavar="SECRET",
        help=f"what its requests are signed with; others may see the command line (default: ${_SECRET_KEY})",
    )


def connected(options: argparse.Namespace) -> Cluster:
    """The cluster of the name server, with the account of the arguments.

    Raises:
        Mistake: only one half of an account is given.
        NameServersInvalid: the name server's address is invalid.
        NotReached: no name server can be reached.
    """
    from rocketwire.remoting.cluster import Cluster

    return Cluster(options.namesrv, credentials=_credentials(options))


def _credentials(options: argparse.Namespace) -> Credentials | None:
    from rocketwire.remoting.credentials import Credentials

    access_key = options.access_key or os.environ.get(_ACCESS_KEY)
    secret_key = options.secret_key or os.environ.get(_SECRET_KEY)
    if access_key and secret_key:
        return Credentials(access_key=access_key, secret_key=secret_key)
    if access_key or secret_key:
        missing = ("--secret-key", _SECRET_KEY) if access_key else ("--access-key", _ACCESS_KEY)
        raise Mistake(f"half of an account is named: {missing[0]} or {missing[1]} is missing")
    return None
