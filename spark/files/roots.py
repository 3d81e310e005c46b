"""The stores that the option `path` names: directories and URLs with commas between them, also by globs.

A glob has `*`, `?` or `[…]` in names of directories; it stands for directories only, and `*` for none whose name begins
with a dot. A URL keeps its scheme and place (`s3://bucket`) as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import has_magic
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from rocketwire.spark.errors import OptionInvalid, PathUnreadable
from rocketwire.spark.files.far import PREFETCH, RemoteFiles
from rocketwire.spark.files.schemes import known_region, unreadable
from rocketwire.store.disk.input_files import entries
from rocketwire.store.offline.read.file_system import LOCAL, ReadableFileSystem

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)(?://([^/]*))?(.*)", re.DOTALL)


class Root(NamedTuple):
    """A store's directory, absolute or a URL, and where it is: arguments of `discover`."""

    path: str
    files: ReadableFileSystem


def resolve(paths: Sequence[str], options: Mapping[str, str], prefetch: int = PREFETCH) -> list[Root]:
    """The stores that paths name, each once: in the order given, those of a glob by name.

    Args:
        paths: Of each directories and URLs with commas between them; or one directory of this machine, which may have
            a comma.
        options: Arguments of remote file systems, by name.
        prefetch: Bytes prefetched for a sequential reader of a remote file.

    Raises:
        OptionInvalid: a part of it is empty, or a file system does not take the options.
        PackageMissing: the package of a URL's scheme is not installed.
        PathUnreadable: a glob matches nothing; or a remote path cannot be reached, or does not exist.
    """
    roots: dict[str, Root] = {}
    for one in chain.from_iterable([path] if _is_directory(path) else path.split(",") for path in paths):
        base, names = _split(one)
        if base is None:
            found = _local("/".join(["", *names]) if names else "/")
        else:
            found = _far("/".join([base, *names]), base, names, options, prefetch)
        for root in found:
            _check_text(root.path)
            roots.setdefault(root.path, root)
    return list(roots.values())


def _is_directory(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def _check_text(path: str) -> None:
    """Refuse a path that no column can show."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = path.encode("utf-8", "replace").decode()
        raise PathUnreadable(f"the name of {shown} is no UTF-8", "Rename the directory") from error


def canonical(path: str) -> str:
    """A path as `resolve` gives it: absolute, a URL with single slashes.

    Raises:
        OptionInvalid: it is empty.
    """
    base, names = _split(path)
    return "/".join([base or "", *names]) or "/"


def _split(path: str) -> tuple[str | None, list[str]]:
    """Scheme and place of a URL, None for a directory of this machine; and the names that lead from there."""
    stripped = path.strip()
    if not stripped:
        raise OptionInvalid("option path names nothing", "Name directories, with one comma between two")
    url = _URL.match(stripped)
    if url is not None and url[1].lower() != "file":
        return f"{url[1].lower()}://{url[2] or ''}", [name for name in url[3].split("/") if name]
    if url is not None:
        stripped = unquote(url[3])
    if "\0" in stripped:
        raise OptionInvalid(f"option path cannot be {stripped!r}", "No directory has a NUL in its name")
    # Symbolic links are not resolved: their targets may change between two runs of a stream.
    absolute = os.path.normpath(Path(stripped).absolute())
    return None, [name for name in absolute.split("/") if name]


def _local(path: str) -> Iterator[Root]:
    if not has_magic(path) or _is_directory(path):
        yield Root(path, LOCAL)
        return
    found = sorted(_fitting(_local_directories, "", path[1:].split("/")))
    if not found:
        raise _nothing(path)
    for one in found:
        yield Root(one, LOCAL)


def _local_directories(path: str) -> list[str]:
    try:
        return [entry.name for entry in entries(path or "/") if entry.directory]
    except OSError:
        return []


def _far(path: str, base: str, names: list[str], options: Mapping[str, str], prefetch: int) -> Iterator[Root]:
    if "@" in base:
        what = f"{base.partition('://')[0]}:// URLs may not carry names and passwords: files would be shown with them"
        raise OptionInvalid(what, "Give them as options, such as fs.access_key")
    files = RemoteFiles(base, tuple(sorted(known_region(base, options).items())), prefetch)
    try:
        found = sorted(_fitting(lambda url: _far_directories(files, url), base, names))
        if found and not any(map(has_magic, names)):
            files.remote().children(found[0])  # so that an error is raised now, with its remedy
    except OSError as error:
        raise unreadable(path, error) from error
    if not found:
        raise _nothing(path)
    for one in found:
        yield Root(one, files)


def _far_directories(files: RemoteFiles, url: str) -> list[str]:
    try:
        return [child.url.rpartition("/")[2] for child in files.remote().children(url) if child.directory]
    except FileNotFoundError:
        return []


def _fitting(directories: Callable[[str], list[str]], path: str, names: list[str]) -> Iterator[str]:
    """The directories below one that match the names; `directories` returns the names of those in one.

    Directories before the first glob need not exist.
    """
    plain = next((number for number, name in enumerate(names) if has_magic(name)), len(names))
    path, names = "/".join([path, *names[:plain]]), names[plain:]
    if not names:
        yield path
        return
    pattern, *more = names
    for name in directories(path):
        if fnmatchcase(name, pattern) and (pattern.startswith(".") or not name.startswith(".")):
            for found in _fitting(directories, f"{path}/{name}", more):
                parent, _, last = found.rpartition("/")
                if not more or has_magic(more[-1]) or last in directories(parent):
                    yield found


def _nothing(path: str) -> PathUnreadable:
    return PathUnreadable(f"{path} fits no directory", "Look for a misspelt name; the glob signs are *, ? and []")
