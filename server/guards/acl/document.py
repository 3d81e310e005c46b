"""The YAML of the accounts' file: bytes to a map and back.

Numbers are taken for the texts they are written as, and stay so when the file is changed.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

_TEXT: Final = "tag:yaml.org,2002:str"
MOST_BYTES: Final = 2 << 20
"""Of a file: some ten thousand accounts, which take seconds to read."""


class AclFileInvalid(Exception):
    """An accounts' file that cannot be used; its text is one line that names the key and never has a secret key."""


class AclFileEmpty(AclFileInvalid):
    """A file that says nothing: new, or not written yet."""

    def __init__(self) -> None:
        super().__init__("it is empty")


def check_size(size: int) -> None:
    """Look whether a file is not too large.

    Raises:
        AclFileInvalid: it is.
    """
    if size > MOST_BYTES:
        raise AclFileInvalid(f"it is larger than {MOST_BYTES >> 20} MiB")


class _Plain(str):
    """A text that stands in the file without quotes, whatever else YAML might take it for."""

    __slots__ = ()


def _tag(resolver: yaml.resolver.BaseResolver, text: str) -> str:
    """What a text without quotes is taken for."""
    return str(resolver.resolve(yaml.ScalarNode, text, (True, False)))  # type: ignore[no-untyped-call] # as PyYAML's types have it


class _Texts(yaml.SafeLoader):
    """Reads all plain values as texts, but for nothing at all and booleans."""

    def text(self, node: yaml.ScalarNode) -> str:
        """A text that remembers whether it had quotes."""
        found = str(self.construct_scalar(node))
        is_plain = not node.style and _tag(self, found) == _TEXT
        return _Plain(found) if is_plain else found


class _Writer(yaml.SafeDumper):
    """Writes texts as they were read: a number that had no quotes gets none."""

    def plain(self, text: _Plain) -> yaml.ScalarNode:
        """A text without quotes."""
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
    """The document as a map; numbers in it are texts.

    Raises:
        AclFileEmpty: it says nothing.
        AclFileInvalid: it is too large, or no map in YAML.
    """
    check_size(len(data))
    try:
        found = yaml.load(data, _Texts)  # noqa: S506 (it is safe: it makes plain values only)
    except yaml.MarkedYAMLError as error:
        # The problem's text may quote the file, and a secret key with it: the place is enough.
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"
        raise AclFileInvalid(f"it is no YAML{where}") from None
    except Exception:  # noqa: BLE001 (it raises what its converters of tags happen to, secret keys in the text)
        raise AclFileInvalid("it is no YAML") from None
    if found is None or found == {}:
        raise AclFileEmpty
    if not isinstance(found, dict):
        raise AclFileInvalid("it is no map of keys")
    return found


def document_bytes(document: dict[Any, Any]) -> bytes:
    """A document as a file: texts that had no quotes when they were read get none."""
    text: str = yaml.dump(document, Dumper=_Writer, default_flow_style=False, sort_keys=False, allow_unicode=True)
    return text.encode()
