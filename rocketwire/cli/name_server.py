"""The arguments of all commands that connect to an endpoint, and the connection."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from rocketwire.cli.mistake import Mistake
from rocketwire.cli.waiting import waits

if TYPE_CHECKING:
    import ssl

    from rocketwire.remoting.cluster import Cluster
    from rocketwire.remoting.credentials import Credentials

DEFAULT_NAME_SERVER: Final = "127.0.0.1:9876"
_NAME_SERVER: Final = "ROCKETWIRE_NAMESRV"
_ACCESS_KEY: Final = "ROCKETWIRE_ACCESS_KEY"
_SECRET_KEY: Final = "ROCKETWIRE_SECRET_KEY"  # noqa: S105 - its name
_TLS: Final = "ROCKETWIRE_TLS"
_TLS_CA: Final = "ROCKETWIRE_TLS_CA"
_TLS_CERT: Final = "ROCKETWIRE_TLS_CERT"
NEED_CREDENTIALS: Final = f"name an account with --access-key and --secret-key, or in {_ACCESS_KEY} and {_SECRET_KEY}"
"""Printed when an endpoint accepts signed requests only."""


def add_name_server(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `connected` takes."""
    parser.add_argument(
        "--namesrv",
        metavar="HOST:PORT",
        default=os.environ.get(_NAME_SERVER) or DEFAULT_NAME_SERVER,
        help=f"the name server to ask; several with ; between (default: ${_NAME_SERVER}, or {DEFAULT_NAME_SERVER})",
    )
    parser.add_argument(
        "--access-key", metavar="KEY", help=f"an account, where the endpoint has accounts (default: ${_ACCESS_KEY})"
    )
    parser.add_argument(
        "--secret-key",
        metavar="SECRET",
        help=f"what its requests are signed with; others may see the command line (default: ${_SECRET_KEY})",
    )
    parser.add_argument(
        "--tls", action="store_true", help=f"encrypt all connections, and verify certificates (default: ${_TLS} is 1)"
    )
    parser.add_argument(
        "--tls-ca",
        metavar="FILE",
        help=f"with TLS: the authorities to trust, PEM (default: ${_TLS_CA}, or those of the system)",
    )
    parser.add_argument(
        "--tls-cert",
        metavar="FILE",
        help=f"with TLS: the client's own certificate, followed by its key, PEM (default: ${_TLS_CERT})",
    )
    parser.add_argument(
        "--tls-any",
        action="store_true",
        help=f"encrypt, but accept any certificate, as of a server's test mode (default: ${_TLS} is any)",
    )


def connected(options: argparse.Namespace) -> Cluster:
    """The cluster of the name server, with the account and the encryption of the arguments.

    Raises:
        Mistake: only one half of an account is given, or a file of certificates cannot be read.
        NameServersInvalid: the name server's address is invalid.
        NotReached: no name server can be reached.
    """
    from rocketwire.remoting.cluster import Cluster

    return Cluster(options.namesrv, credentials=_credentials(options), tls=_tls(options), during=waits.during)


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


def _tls(options: argparse.Namespace) -> ssl.SSLContext | None:
    """The context of encrypted connections; None for plain ones.

    Raises:
        Mistake: a file cannot be used, or is named for plain connections.
    """
    told = os.environ.get(_TLS, "")
    if told not in ("", "0", "1", "any"):
        raise Mistake(f"{_TLS}={told}: allowed is 0, 1 or any")
    accept_any = options.tls_any or (told == "any" and not options.tls)
    if not (options.tls or accept_any or told == "1"):
        for option, file in (("--tls-ca", options.tls_ca), ("--tls-cert", options.tls_cert)):
            if file is not None:
                raise Mistake(f"{option} {file}: only with --tls")
        return None
    import ssl

    authorities = options.tls_ca or os.environ.get(_TLS_CA)
    own = options.tls_cert or os.environ.get(_TLS_CERT)
    try:
        context = ssl.create_default_context(cafile=None if accept_any else authorities)
    except OSError as error:
        raise Mistake(f"--tls-ca {authorities}: {error.strerror or error}") from error
    try:
        if own:
            context.load_cert_chain(own)
    except OSError as error:
        raise Mistake(f"--tls-cert {own}: {error.strerror or error}") from error
    if accept_any:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
