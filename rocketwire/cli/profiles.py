"""Profiles: the options of endpoints, in a file of the user's, by name."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from rocketwire.cli.errors import CommandError

PROFILE_FILE: Final = "~/.config/rocketwire/profiles.toml"
"""In `$XDG_CONFIG_HOME/rocketwire` where that variable is set."""
_DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The options of one endpoint; an empty text stands for none.

    Attributes:
        namesrv: Its name servers.
        access_key: The account.
        secret_key: What its requests are signed with.
        tls: "1" to encrypt, "any" to accept any certificate too, else "0".
        tls_ca: A file of authorities, PEM.
        tls_cert: A file with the client's own certificate and key, PEM.
    """

    namesrv: str = ""
    access_key: str = ""
    secret_key: str = ""
    tls: str = ""
    tls_ca: str = ""
    tls_cert: str = ""


def read_profile(name: str | None) -> Profile:
    """The profile of a name, or the one called `default`, which need not exist.

    Raises:
        Mistake: there is no such profile, or the file cannot be read, or has a key or a value that is none.
    """
    file = _file()
    try:
        content = file.read_text()
    except FileNotFoundError:
        if name is None:
            return Profile()
        raise CommandError(f"--profile {name}: there is no file {file}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    import tomllib

    try:
        profiles = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise CommandError(f"{file}: {error}") from error
    if name is None and _DEFAULT not in profiles:
        return Profile()
    if name is not None and name not in profiles:
        from rocketwire.server.config.nearest import suggestion

        raise CommandError(f"--profile {name}: {file} has no such section{suggestion(name, profiles)}")
    section = name or _DEFAULT
    return _profile(f"{file}, [{section}]", profiles[section])


def _file() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "rocketwire" / "profiles.toml"


def _profile(where: str, section: Any) -> Profile:  # noqa: ANN401 - any TOML value
    if not isinstance(section, dict):
        raise CommandError(f"{where}: a section is needed")
    known = {field.name.replace("_", "-") for field in fields(Profile)}
    taken: dict[str, str] = {}
    for key, value in section.items():
        if key not in known:
            from rocketwire.server.config.nearest import suggestion

            raise CommandError(f"{where}: unknown key {key}{suggestion(key, known)}")
        if isinstance(value, bool):
            value = "1" if value else "0"  # noqa: PLW2901 - as in the environment
        if not isinstance(value, str):
            raise CommandError(f"{where}: {key} must be a text")
        taken[key.replace("-", "_")] = value
    return Profile(**taken)
