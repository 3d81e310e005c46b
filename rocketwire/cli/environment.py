"""The environment variables of `rocketwire serve` and `rocketwire proxy`, for containers and service managers.

Each option has one: `--log-level` of `serve` is `ROCKETWIRE_SERVE_LOG_LEVEL`. So has each key of broker.conf, with the
key as it is written there: `ROCKETWIRE_SET_autoCreateTopicEnable`. An empty variable counts as not set, so that a
template may leave it empty.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import click

from rocketwire.cli.errors import CommandError

_KEYS: Final = "ROCKETWIRE_SET_"


def with_variables(command: click.Command) -> click.Command:
    """The command, each of its options with its variable, but `--set`: its keys have theirs."""
    for option in command.params:
        name = max(option.opts, key=len)
        if isinstance(option, click.Option) and name != "--set":
            option.envvar = _prefix(command) + name.removeprefix("--").replace("-", "_").upper()
    return command


def _prefix(command: click.Command) -> str:
    return f"ROCKETWIRE_{str(command.name).upper()}_"


def check_options(command: click.Command, environment: Mapping[str, str]) -> None:
    """Check that each variable of an option is that of one.

    Raises:
        Mistake: it is not; the text names the nearest.
    """
    prefix = _prefix(command)
    known = [str(option.envvar) for option in command.params if option.envvar]
    for name in sorted(environment):
        if name.startswith(prefix) and environment[name] and name not in known:
            from rocketwire.server.config.nearest import suggestion

            raise CommandError(f"{name}: no option has this variable{suggestion(name, known)}")


def settings_of(environment: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """The settings whose variables are set; `known` are the keys that there are.

    Raises:
        Mistake: a variable of an unknown key; the text names the nearest.
    """
    settings = {}
    for name in sorted(environment):
        if name.startswith(_KEYS) and environment[name]:
            key = name.removeprefix(_KEYS)
            if key not in known:
                from rocketwire.server.config.nearest import suggestion

                # AUTO_CREATE_TOPIC_ENABLE is near to no key, but without its underscores.
                raise CommandError(f"{name}: unknown key{suggestion(key.replace('_', ''), known)}")
            settings[key] = environment[name]
    return settings
