"""Every other scheme, through fsspec and what is installed beside it: http://, sftp://, abfs://, webhdfs://, memory://.

Options of the file system are the keyword arguments of its fsspec class, as text.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote, unquote

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs

from rocketwire.spark.files.remote import FoundFile, arguments

_HTTP: Final = ("http://", "https://")


def generic(base: str, options: Mapping[str, str]) -> GenericRemote:
    """The file system behind a URL.

    Raises:
        ImportError: the package of the scheme is not installed.
        ValueError: the scheme is not known, or an option has a value it cannot have.
        TypeError: an option that does not exist.
        OSError: it cannot be reached.
    """
    with _failures_as_oserror(base):
        files, native = url_to_fs(base, **arguments(options))
    return GenericRemote(base, native.rstrip("/"), files)


@contextmanager
def _failures_as_oserror(url: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ImportError, TypeError, ValueError):
        raise
    except Exception as error:  # each implementation has other errors
        raise OSError(errno.EIO, f"{type(error).__name__}: {error}", url) from error


class GenericRemote:
    """A file system of fsspec's."""

    def __init__(self, base: str, native: str, files: AbstractFileSystem) -> None:
        """Take a file system in which `native` is what the URL `base` means."""
        self._base = base
        self._native = native
        self._files = files
        # Links in a page are quoted, names of topics and groups are full of %.
        http = base.startswith(_HTTP)
        self._quote: Callable[[str], str] = quote if http else str
        self._unquote: Callable[[str], str] = unquote if http else str
        self._ranges_checked = not http

    def children(self, url: str) -> list[FoundFile]:
        """See `Remote.children`."""
        self._files.invalidate_cache()
        with _failures_as_oserror(url):
            return self._found(self._files.ls(self.path(url), detail=True), url)

    def below(self, url: str) -> list[FoundFile]:
        """See `Remote.below`."""
        self._files.invalidate_cache()
        with _failures_as_oserror(url):
            return self._found(self._files.find(self.path(url), withdirs=True, detail=True).values(), url)

    def open(self, url: str) -> GenericFile:
        """See `Remote.open`."""
        path = self.path(url)
        file = GenericFile(self._files, path)
        if not self._ranges_checked and file.size > 1:
            self._require_ranges(path, file.size)
        return file

    def path(self, url: str) -> str:
        """The file system's own name of a URL."""
        return self._native + self._quote(url[len(self._base) :])

    def _found(self, listed: Any, directory: str) -> list[FoundFile]:  # noqa: ANN401 - dictionaries, of fsspec's own making
        found = []
        for info in listed:
            url = self._base + self._unquote(info["name"].rstrip("/")[len(self._native) :])
            if url == directory:
                continue
            size = info["size"]
            if info["type"] == "file" and size is None:
                size = self._files.info(info["name"])["size"]
            found.append(FoundFile(url, directory=info["type"] == "directory", size=size or 0, modified=0))
        return found

    def _require_ranges(self, path: str, size: int) -> None:
        """Make sure that a web server sends parts of files: otherwise each request would fetch a whole file.

        Raises:
            OSError: it does not.
        """
        with _failures_as_oserror(path), self._files.open(path, "rb", size=size, cache_type="none") as file:
            try:
                file.seek(size - 1)
                file.read(1)
            except ValueError as error:
                raise OSError(errno.EOPNOTSUPP, f"its server sends no parts of files: {error}", path) from error
        self._ranges_checked = True


class GenericFile:
    """A file that fsspec reads in ranges."""

    def __init__(self, files: AbstractFileSystem, path: str) -> None:
        """Take a file.

        Raises:
            OSError: there is none, or it may not be read.
        """
        self._files = files
        self._path = path
        self.size = self.size_now()

    def fetch(self, offset: int, length: int) -> bytes:
        """See `RemoteFile.fetch`."""
        with _failures_as_oserror(self._path):
            found: bytes = self._files.cat_file(self._path, offset, offset + length)
        return found

    def size_now(self) -> int:
        """See `RemoteFile.size_now`."""
        with _failures_as_oserror(self._path):
            info = self._files.info(self._path)
        if info["type"] != "file" or info["size"] is None:
            raise OSError(errno.EINVAL, "it is not a regular file, or nobody knows its size", self._path)
        size: int = info["size"]
        return size

    def close(self) -> None:
        """See `RemoteFile.close`: nothing is held."""
