"""The arguments that all commands that ask an endpoint have."""

from __future__ import annotations

import argparse
from typing import Final

DEFAULT_NAME_SERVER: Final = "127.0.0.1:9876"


def add_name_server(parser: argparse.ArgumentParser) -> None:
    """Add the argument that `Cluster` takes."""
    parser.add_argument(
        "--namesrv",
        metavar="HOST:PORT",
        default=DEFAULT_NAME_SERVER,
        help=f"the name server to ask; several with ; between (default {DEFAULT_NAME_SERVER})",
    )
