"""The stores of a read: their paths and their brokers' names."""

from __future__ import annotations

from typing import NamedTuple

from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.files.roots import canonical, resolve
from rocketwire.spark.request.options import ReadOptions
from rocketwire.store.offline.read.file_system import ReadableFileSystem


class StoreRoot(NamedTuple):
    """A store's directory, by which file system it is reached, and its broker's name."""

    broker: str
    root: str
    files: ReadableFileSystem


def open_roots(options: ReadOptions) -> list[StoreRoot]:
    """The stores of the option `path`, with names by the option `brokers`, else by their paths.

    Raises:
        PathUnreadable: a path or pattern names nothing, or cannot be reached.
        PackageMissing: a package that a URL needs is not installed.
        OptionInvalid: `brokers` names a path that is not one of the stores; or a file system does not take the options.
    """
    roots = resolve(options.paths, options.files, options.prefetch_bytes)
    names = {canonical(path): broker for path, broker in options.brokers.items()}
    unknown = names.keys() - {root.path for root in roots}
    if unknown:
        what = f"option brokers names {min(unknown)}, which is none of the stores"
        raise OptionInvalid(what, f"The stores are {', '.join(root.path for root in roots)}")
    return [StoreRoot(names.get(root.path, root.path), root.path, root.files) for root in roots]
