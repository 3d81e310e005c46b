"""The stores that a read names: where they are, and what their brokers are called."""

from __future__ import annotations

from typing import NamedTuple

from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.files.roots import canonical, resolve
from rocketwire.spark.request.options import ReadOptions
from rocketwire.store.archive.read.file_system import FileSystem


class StoreRoot(NamedTuple):
    """A store's directory, by which file system it is reached, and its broker's name."""

    broker: str
    root: str
    files: FileSystem


def open_roots(options: ReadOptions) -> list[StoreRoot]:
    """The stores of the option `path`, with names by the option `brokers`: a store that it does not name has its path.

    Raises:
        PathUnreadable: a path or pattern names nothing, or cannot be reached.
        PackageMissing: what a URL needs is not installed.
        OptionInvalid: `brokers` names what is none of the stores; or options are not what a file system takes.
    """
    roots = resolve(options.paths, options.files, options.prefetch_bytes)
    names = {canonical(path): broker for path, broker in options.brokers.items()}
    unknown = names.keys() - {root.path for root in roots}
    if unknown:
        what = f"option brokers names {min(unknown)}, which is none of the stores"
        raise OptionInvalid(what, f"The stores are {', '.join(root.path for root in roots)}")
    return [StoreRoot(names.get(root.path, root.path), root.path, root.files) for root in roots]
