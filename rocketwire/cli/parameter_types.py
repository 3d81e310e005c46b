"""Types of options and arguments: they take any text, and complete what is typed of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import click
from click.types import StringParamType

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from rocketwire.cli.online import ClusterAccess


class _NameAtEndpoint(StringParamType):
    """A name that the endpoint has, which the other options name."""

    def __init__(self, name: str, names_of: Callable[[ClusterAccess], Iterable[str]]) -> None:
        self.name = name
        self._names_of = names_of

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """The names that begin so; none where the endpoint is not reached."""
        from click.shell_completion import CompletionItem

        from rocketwire.cli.errors import CommandError
        from rocketwire.cli.online import endpoint_of

        try:
            names = self._names_of(endpoint_of(ctx.params))
        except (KeyError, CommandError):  # a command without an endpoint, or options that name none
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _topics_of(endpoint: ClusterAccess) -> list[str]:
    from rocketwire.cli.known_names import topics_of

    return topics_of(endpoint)


def _groups_of(endpoint: ClusterAccess) -> list[str]:
    from rocketwire.cli.known_names import groups_of

    return groups_of(endpoint)


class _Place(StringParamType):
    """A file or a folder; the shell completes it, and the command says what is wrong with it."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self._kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click calls it
        """One item that has the shell look for itself."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=self._kind)]


class _Setting(StringParamType):
    """KEY=VALUE, with a key that the server knows."""

    name = "setting"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click calls it
        """The keys that begin so, in any case of their letters."""
        from click.shell_completion import CompletionItem

        from rocketwire.server.configuration import known_keys

        typed = incomplete.lower()
        return [CompletionItem(f"{key}=") for key in sorted(known_keys()) if key.lower().startswith(typed)]


class _Rule(StringParamType):
    """A rule of the server's faults; those in an environment variable are separated by semicolons."""

    name = "rule"
    envvar_list_splitter = ";"


TOPIC: Final = _NameAtEndpoint("topic", _topics_of)
"""A topic of the endpoint."""
GROUP: Final = _NameAtEndpoint("group", _groups_of)
"""A consumer group of the endpoint."""
FILE: Final = _Place("file", "file")
FOLDER: Final = _Place("folder", "dir")
RULE: Final = _Rule()
"""A rule of the server's faults."""
SETTING: Final = _Setting()
"""A setting of the server."""
