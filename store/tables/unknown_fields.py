"""Preserving fields of a config file that this version does not know.

Reading a later version's file into bodies and writing it again would lose them. So the unknown fields are kept, by
their path in the document, and put back when the document is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables import config
from rocketwire.wire.bodies._shapes import from_builtins, to_builtins
from rocketwire.wire.bodies.fastjson import loads

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

W = TypeVar("W", bound="DataclassInstance")


class UnknownFields:
    """The fields of the document `read` that `known`, the same document after decoding and encoding, does not have."""

    def __init__(self, read: dict[Any, Any], known: dict[Any, Any]) -> None:
        self._here = {name: value for name, value in read.items() if name not in known and value is not None}
        inside = {
            name: UnknownFields(value, known[name])
            for name, value in read.items()
            if isinstance(value, dict) and isinstance(known.get(name), dict)
        }
        self._inside = {name: fields for name, fields in inside.items() if fields}

    def __bool__(self) -> bool:
        return bool(self._here or self._inside)

    def restore(self, written: dict[Any, Any]) -> dict[Any, Any]:
        """The document with the fields put back where their object still exists and has no field of the name."""
        result = {
            name: self._inside[name].restore(value) if name in self._inside and isinstance(value, dict) else value
            for name, value in written.items()
        }
        if self._here:  # so it is an object, whose names are sorted, and not a map
            result = dict(sorted({**self._here, **result}.items()))
        return result

    def forget(self, *path: str | int) -> None:
        """Drop the fields of the object at a path: it is replaced by another."""
        name, *rest = path
        inside = self._inside.get(name)
        if inside is not None and rest:
            inside.forget(*rest)
        elif inside is not None:
            del self._inside[name]


def load_body(path: str, files: FileSystem, body: type[W]) -> tuple[W, UnknownFields]:
    """A config file as a body, and the fields that the body does not know; the defaults when there is no file.

    Raises:
        ConfigInvalid: the file and its .bak are unreadable.
    """
    found = config.load(path, files, lambda data: read_body(data, body))
    return (body(), UnknownFields({}, {})) if found is None else found[:2]


def read_body(data: bytes, body: type[W]) -> tuple[W, UnknownFields, list[str]]:
    """A text as a body, the fields that the body does not know, and the names of its outermost object.

    Raises:
        BodyInvalid: the text is not that of such a body.
    """
    document = loads(data)
    value = from_builtins(body, document)
    return value, UnknownFields(document, to_builtins(value)), list(map(str, document))
