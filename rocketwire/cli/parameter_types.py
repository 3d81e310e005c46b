"""Types of options and arguments: they take any text, and complete what is typed of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import click
from click.types import StringParamType

from rocketwire.cli.errors import CommandFailed, NoSuchGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from rocketwire.cli.online import ClusterAccess
    from rocketwire.remoting.cluster import BlockingCluster


SECONDS: Final = 1.0
"""An endpoint gets no more time to send its names: the user waits for something else."""


def topics_of(endpoint: ClusterAccess) -> list[str]:
    """The names of all topics; none where the endpoint does not send them within `SECONDS`."""
    return _known_names(endpoint, lambda cluster: cluster.topics())


def groups_of(endpoint: ClusterAccess) -> list[str]:
    """The names of all consumer groups; none where the endpoint does not send them within `SECONDS`.

    Groups that have had members have a retry topic, which the name server knows; brokers know the others. Brokers with
    accounts name them to administrators only.
    """
    return _known_names(endpoint, _all_groups)


def _all_groups(cluster: BlockingCluster) -> list[str]:
    from rocketwire.remoting.admin.groups import group_configs

    found = {*cluster.groups()}
    with contextlib.suppress(Exception):  # as of `_known_names`: those that are known by now are better than none
        for connection in cluster.all_brokers().values():
            found.update(group_configs(connection))
    return sorted(found)


def _known_names(endpoint: ClusterAccess, query: Callable[[BlockingCluster], list[str]]) -> list[str]:
    found: list[str] = []

    def run() -> None:
        # Whatever goes wrong: these names are wanted in passing.
        with contextlib.suppress(Exception):
            from rocketwire.remoting.cluster import BlockingCluster

            with BlockingCluster(
                endpoint.name_servers, timeout=SECONDS, credentials=endpoint.credentials, tls=endpoint.tls
            ) as cluster:
                found.extend(query(cluster))

    # A separate thread: looking up a host's address has no time limit.
    thread = threading.Thread(target=run, name="known names", daemon=True)
    thread.start()
    thread.join(SECONDS)
    return found


@contextlib.contextmanager
def naming_nearest(endpoint: ClusterAccess, options: Mapping[str, object]) -> Iterator[None]:
    """Complete an error about a missing topic or group with the nearest one that the endpoint has.

    Args:
        endpoint: The endpoint that is queried.
        options: Those of the command: where a broker refuses without a name, `topic` or `group` is meant.

    Raises:
        Unsuccessful: the error, completed.
    """
    try:
        yield
    except Exception as error:
        hint = _hint(endpoint, error, options)
        if not hint:
            raise
        raise CommandFailed(f"{error}{hint}") from error


def _hint(endpoint: ClusterAccess, error: Exception, options: Mapping[str, object]) -> str:
    from rocketwire.remoting.errors import NoSuchTopic, Refused
    from rocketwire.wire.facts.codes import ResponseCode

    if isinstance(error, NoSuchTopic):
        return nearest_topic(endpoint, error.topic)
    if isinstance(error, NoSuchGroup):
        return nearest_group(endpoint, error.group)
    if isinstance(error, Refused) and error.code == ResponseCode.TOPIC_NOT_EXIST:
        return nearest_topic(endpoint, options.get("topic"))
    if isinstance(error, Refused) and error.code in (
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        ResponseCode.CONSUMER_NOT_ONLINE,
    ):
        return nearest_group(endpoint, options.get("group"))
    return ""


def nearest_topic(endpoint: ClusterAccess, topic: Any) -> str:  # noqa: ANN401 - an option's value
    """`; did you mean NAME?` with the endpoint's topic that is nearest to a name; nothing if none is near."""
    return _nearest(topic, topics_of, endpoint)


def nearest_group(endpoint: ClusterAccess, group: Any) -> str:  # noqa: ANN401 - an option's value
    """The same with the endpoint's consumer groups."""
    return _nearest(group, groups_of, endpoint)


def _nearest(name: Any, names_of: Callable[[ClusterAccess], list[str]], endpoint: ClusterAccess) -> str:  # noqa: ANN401 - an argument
    if not isinstance(name, str):
        return ""
    from rocketwire.server.config.nearest import suggestion

    known = names_of(endpoint)
    return "" if name in known else suggestion(name, known)


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

    return topics_of(endpoint)


def _groups_of(endpoint: ClusterAccess) -> list[str]:

    return groups_of(endpoint)


class _Place(StringParamType):
    """A file or a folder; the shell completes it, and the command reports what is wrong with it."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self._kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click calls it
        """One item that has the shell complete files."""
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
