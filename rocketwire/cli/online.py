"""The options of all commands that connect to an endpoint, and the connection.

An option overrides its environment variable, which overrides the profile, which overrides the default.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

import click

from rocketwire.cli.errors import CommandError
from rocketwire.cli.output import json_option
from rocketwire.cli.parameter_types import naming_nearest
from rocketwire.cli.profiles import PROFILE_FILE, Profile, read_profile
from rocketwire.cli.waiting import waits

if TYPE_CHECKING:
    import ssl

    from rocketwire.remoting.cluster import BlockingCluster
    from rocketwire.remoting.credentials import Credentials

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_NAME_SERVER: Final = "127.0.0.1:9876"
_NAME_SERVER: Final = "ROCKETWIRE_NAMESRV"
_ACCESS_KEY: Final = "ROCKETWIRE_ACCESS_KEY"
_SECRET_KEY: Final = "ROCKETWIRE_SECRET_KEY"  # noqa: S105 - its name
_TLS: Final = "ROCKETWIRE_TLS"
_TLS_CA: Final = "ROCKETWIRE_TLS_CA"
_TLS_CERT: Final = "ROCKETWIRE_TLS_CERT"
_PROFILE: Final = "ROCKETWIRE_PROFILE"
_SECONDS: Final = 15.0
NEED_CREDENTIALS: Final = f"name an account with --access-key and --secret-key, or in {_ACCESS_KEY} and {_SECRET_KEY}"
"""Printed when an endpoint accepts signed requests only."""


@dataclass(frozen=True, kw_only=True)
class ClusterAccess:
    """An endpoint as the command line names it; nothing is connected yet."""

    name_servers: str
    credentials: Credentials | None = None
    tls: ssl.SSLContext | None = None
    timeout: float = _SECONDS

    def connected(self) -> BlockingCluster:
        """The cluster of the name server, with the account and the encryption of the options.

        Raises:
            NameServersInvalid: the name server's address is invalid.
            NotReached: no name server can be reached.
        """
        from rocketwire.remoting.cluster import BlockingCluster

        return BlockingCluster(
            self.name_servers, timeout=self.timeout, credentials=self.credentials, tls=self.tls, during=waits.during
        )

    def unwatched(self) -> BlockingCluster:
        """The same for other threads than the main one: long waits are not reported.

        Raises:
            NameServersInvalid, NotReached: as with `connected`.
        """
        from rocketwire.remoting.cluster import BlockingCluster

        return BlockingCluster(self.name_servers, timeout=self.timeout, credentials=self.credentials, tls=self.tls)


_OPTIONS: Final = (
    click.option(
        "--namesrv",
        metavar="HOST:PORT",
        envvar=_NAME_SERVER,
        help=f"The name server; several with ; between. [default: ${_NAME_SERVER}, or {DEFAULT_NAME_SERVER}]",
    ),
    click.option(
        "--access-key",
        metavar="KEY",
        envvar=_ACCESS_KEY,
        help=f"An account, where the endpoint has accounts. [default: ${_ACCESS_KEY}]",
    ),
    click.option(
        "--secret-key",
        metavar="SECRET",
        envvar=_SECRET_KEY,
        help=f"What its requests are signed with; others may see the command line. [default: ${_SECRET_KEY}]",
    ),
    click.option(
        "--tls", is_flag=True, help=f"Encrypt all connections, and verify certificates. [default: ${_TLS} is 1]"
    ),
    click.option(
        "--tls-any",
        is_flag=True,
        help=f"Encrypt, but accept any certificate, as of a server's test mode. [default: ${_TLS} is any]",
    ),
    click.option(
        "--tls-ca",
        metavar="FILE",
        help=f"With TLS: the authorities to trust, PEM. [default: ${_TLS_CA}, or those of the system]",
    ),
    click.option(
        "--tls-cert",
        metavar="FILE",
        help=f"With TLS: the client's own certificate, followed by its key, PEM. [default: ${_TLS_CERT}]",
    ),
    click.option(
        "--profile",
        metavar="NAME",
        envvar=_PROFILE,
        help=f"The section of {PROFILE_FILE} to take what is named neither here nor by a variable from. "
        f"[default: ${_PROFILE}, or default]",
    ),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=_SECONDS,
        show_default=True,
        help="How long to wait for each answer.",
    ),
)


def online_command(name: str, epilog: str) -> Callable[[Callable[Concatenate[ClusterAccess, P], int]], click.Command]:
    """A command of an endpoint, with `--json` and the options of a connection behind its own; see `online`."""

    def decorate(run: Callable[Concatenate[ClusterAccess, P], int]) -> click.Command:
        own: list[click.Parameter] = run.__dict__.pop("__click_params__", [])
        decorated: Any = json_option(online(run))
        decorated.__click_params__ += own
        return click.command(name, cls=OnlineCommand, epilog=epilog)(decorated)

    return decorate


class OnlineCommand(click.Command):
    """A command whose help has the options of the connection in a separate block, behind the others."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write both blocks."""
        own: list[tuple[str, str]] = []
        connection: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                (connection if parameter.name in CONNECTION else own).append(record)
        for title, records in (("Options", own), ("Connection", connection)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def online(run: Callable[Concatenate[ClusterAccess, P], R]) -> Callable[P, R]:
    """Add the options of a connection to a command; it gets an `ClusterAccess` as its first argument.

    The command then raises Mistake if only one half of an account is given, or a file cannot be read. Where it ends
    with a topic or group that the endpoint does not have, the error names the nearest one that it has.
    """

    @functools.wraps(run)
    def wrapped(*arguments: P.args, **options: P.kwargs) -> R:
        taken = {name: options.pop(name) for name in CONNECTION}
        endpoint = endpoint_of(taken)
        with naming_nearest(endpoint, options):
            return run(endpoint, *arguments, **options)

    return connection_options(wrapped)


def connection_options(run: Callable[P, R]) -> Callable[P, R]:
    """Add the options of a connection to a command, which gets them by the names of `CONNECTION`."""
    decorated: Any = run
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


CONNECTION: Final = (
    *("namesrv", "access_key", "secret_key", "tls", "tls_any", "tls_ca", "tls_cert", "profile", "timeout"),
)
"""The names of the options that `endpoint_of` takes."""


def endpoint_of(options: Mapping[str, Any]) -> ClusterAccess:
    """The endpoint that options name, or variables, or a profile.

    Raises:
        Mistake: there is no such profile, only one half of an account is given, or a file cannot be read.
    """
    profile = read_profile(options["profile"])
    name_servers = options["namesrv"]
    return ClusterAccess(
        name_servers=(profile.namesrv or DEFAULT_NAME_SERVER) if name_servers is None else name_servers,
        credentials=_credentials(options, profile),
        tls=_tls(options, profile),
        timeout=options["timeout"],
    )


def _credentials(options: Mapping[str, Any], profile: Profile) -> Credentials | None:
    from rocketwire.remoting.credentials import Credentials

    access_key, secret_key = options["access_key"], options["secret_key"]
    if not (access_key or secret_key):
        access_key, secret_key = profile.access_key, profile.secret_key
    if access_key and secret_key:
        return Credentials(access_key=access_key, secret_key=secret_key)
    if access_key or secret_key:
        missing = ("--secret-key", _SECRET_KEY) if access_key else ("--access-key", _ACCESS_KEY)
        raise CommandError(f"half of an account is named: {missing[0]} or {missing[1]} is missing")
    return None


def _tls(options: Mapping[str, Any], profile: Profile) -> ssl.SSLContext | None:
    """The context of encrypted connections; None for plain ones.

    Raises:
        Mistake: a file cannot be used, or is named for plain connections.
    """
    variable = os.environ.get(_TLS, "")
    tls = variable or profile.tls
    if tls not in ("", "0", "1", "any"):
        where = f"{_TLS}={tls}" if variable else f"tls of the profile: {tls}"
        raise CommandError(f"{where}: expected 0, 1 or any")
    accept_any = options["tls_any"] or (tls == "any" and not options["tls"])
    if not (options["tls"] or accept_any or tls == "1"):
        for option, file in (("--tls-ca", options["tls_ca"]), ("--tls-cert", options["tls_cert"])):
            if file is not None:
                raise CommandError(f"{option} {file}: only with --tls")
        return None
    import ssl

    authorities = options["tls_ca"] or os.environ.get(_TLS_CA) or profile.tls_ca
    own = options["tls_cert"] or os.environ.get(_TLS_CERT) or profile.tls_cert
    try:
        context = ssl.create_default_context(cafile=None if accept_any else authorities)
    except OSError as error:
        raise CommandError(f"--tls-ca {authorities}: {error.strerror or error}") from error
    try:
        if own:
            context.load_cert_chain(own)
    except OSError as error:
        raise CommandError(f"--tls-cert {own}: {error.strerror or error}") from error
    if accept_any:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
