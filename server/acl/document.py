"""The YAML of the accounts' file: parses and writes it.

Numbers are read as the text they are written as, and written so again.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

_TEXT: Final = "tag:yaml.org,2002:str"
MOST_BYTES: Final = 2 << 20
"""The most bytes of the file: some ten thousand accounts, which take seconds to parse."""


class AclFileInvalid(Exception):
    """An accounts' file cannot be used; the message is one line that names the key and never contains a secret key."""


class AclFileEmpty(AclFileInvalid):
    """The file is empty: new, or not written yet."""

    def __init__(self) -> None:
        super().__init__("it is empty")


def check_size(size: int) -> None:
    """Check the size of a file.

    Raises:
        AclFileInvalid: it is too large.
    """
    if size > MOST_BYTES:
        raise AclFileInvalid(f"it is larger than {MOST_BYTES >> 20} MiB")


class _Plain(str):
    """A string that is written without quotes, whatever else YAML might take it for."""

    __slots__ = ()


def _tag(resolver: yaml.resolver.BaseResolver, text: str) -> str:
    """The YAML type of an unquoted text."""
    return str(resolver.resolve(yaml.ScalarNode, text, (True, False)))  # type: ignore[no-untyped-call] # as PyYAML's types have it


class _Texts(yaml.SafeLoader):
    """Loads all plain scalars as strings, except null and booleans."""

    def text(self, node: yaml.ScalarNode) -> str:
        """A string that remembers whether it was quoted."""
        found = str(self.construct_scalar(node))
        is_plain = not node.style and _tag(self, found) == _TEXT
        return _Plain(found) if is_plain else found


class _Writer(yaml.SafeDumper):
    """Writes strings as they were read: an unquoted number stays unquoted."""

    def plain(self, text: _Plain) -> yaml.ScalarNode:
        """An unquoted string."""
        return self.represent_scalar(_tag(self, text), text)


_Texts.add_constructor(_TEXT, _Texts.text)
_Writer.add_representer(_Plain, _Writer.plain)
_KEPT_TAGS: Final = frozenset({"tag:yaml.org,2002:null", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:merge"})
_Texts.yaml_implicit_resolvers = {
    first: kept
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    if (kept := [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT_TAGS])
}


def load(data: bytes) -> dict[Any, Any]:
    """Parse the document into a map, with numbers as strings.

    Raises:
        AclFileEmpty: it is empty.
        AclFileInvalid: it is too large, or not a YAML map.
    """
    check_size(len(data))
    try:
        found = yaml.load(data, _Texts)  # noqa: S506 (safe: it makes plain values only)
    except yaml.MarkedYAMLError as error:
        # The error's message may quote the file, including a secret key: only the place is reported.
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"
        raise AclFileInvalid(f"it is no YAML{where}") from None
    except Exception:  # noqa: BLE001 (converters of tags may raise anything, with secret keys in the message)
        raise AclFileInvalid("it is no YAML") from None
    if found is None or found == {}:
        raise AclFileEmpty
    if not isinstance(found, dict):
        raise AclFileInvalid("it is no map of keys")
    return found


def document_bytes(document: dict[Any, Any]) -> bytes:
    """Format a document; strings that were unquoted stay unquoted."""
    text: str = yaml.dump(document, Dumper=_Writer, default_flow_style=False, sort_keys=False, allow_unicode=True)
    return text.encode()
