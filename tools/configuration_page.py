"""The tables of docs/configuration.md, made from the declared keys."""

from rocketwire.server.config.apache_keys import APACHE_KEYS_WITHOUT_EFFECT
from rocketwire.server.config.keys import Key, format_value
from rocketwire.server.configuration import KEYS
from tools.markdown import table


def keys() -> str:
    """Every key with effect."""
    head = ("key", "default", "allowed", "meaning", "while running")
    return table(head, [_row(key) for key in KEYS])


def _row(key: Key) -> tuple[str, ...]:
    names = ", ".join(f"`{name}`" for name in (key.name, *key.aliases))
    default = f"`{format_value(key.default)}`" if format_value(key.default) else "empty"
    known = f" ({key.known})" if key.known else ""
    return (names, default, key.allowed, key.meaning + known, "yes" if key.online else "")


def without_effect() -> str:
    """Every key that Apache knows and that changes nothing here, as one paragraph."""
    return ", ".join(f"`{name}`" for name in sorted(APACHE_KEYS_WITHOUT_EFFECT, key=str.lower)) + "\n"
