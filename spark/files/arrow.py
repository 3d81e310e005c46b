"""Object stores and HDFS through `pyarrow.fs`: s3://, gs:// and hdfs://.

Options of the file system are pyarrow's own keyword arguments, such as `endpoint_override`, as text.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from pyarrow import fs

from rocketwire.spark.files.remote import FoundFile, arguments

#: Set if the user has chosen an S3.
_REGION_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")


def region_of(base: str, options: Mapping[str, str]) -> str | None:
    """The region of a bucket, queried from Amazon; None if the S3 is not Amazon's, or the region is configured."""
    url = urlsplit(base)
    if url.scheme == "gs" or options.keys() & {"region", "endpoint_override"}:
        return None
    if any(map(os.environ.get, _REGION_VARIABLES)):
        return None
    try:
        found: str = fs.resolve_s3_region(url.netloc)
    except OSError:
        return None  # listing it reports the error
    return found


def s3(base: str, options: Mapping[str, str]) -> ArrowRemote:
    """The bucket that a URL names.

    Raises:
        TypeError, ValueError: options that do not exist, or not with these values.
    """
    return ArrowRemote(base, urlsplit(base).netloc, fs.S3FileSystem(**arguments(options)))


def gs(base: str, options: Mapping[str, str]) -> ArrowRemote:
    """The bucket of Google's that a URL names; errors are those of `s3`."""
    return ArrowRemote(base, urlsplit(base).netloc, fs.GcsFileSystem(**arguments(options)))


def hdfs(base: str, options: Mapping[str, str]) -> ArrowRemote:
    """The HDFS of a URL's host; without one, of Hadoop's own configuration.

    Raises:
        TypeError, ValueError: options that do not exist, or not with these values.
        OSError: there is no libhdfs or no such host.
    """
    url = urlsplit(base)
    place = {"host": url.hostname, "port": url.port or 8020} if url.hostname else {"host": "default", "port": 0}
    return ArrowRemote(base, "", fs.HadoopFileSystem(**{**place, **arguments(options)}))


class ArrowRemote:
    """A file system of pyarrow's."""

    def __init__(self, base: str, native: str, files: fs.FileSystem) -> None:
        """Take a file system in which `native` is what the URL `base` means."""
        self._base = base
        self._native = native
        self._files = files

    def children(self, url: str) -> list[FoundFile]:
        """See `Remote.children`."""
        return self._listed(url, recursive=False)

    def below(self, url: str) -> list[FoundFile]:
        """See `Remote.below`."""
        return self._listed(url, recursive=True)

    def open(self, url: str) -> ArrowFile:
        """See `Remote.open`."""
        return ArrowFile(self._files, self.path(url))

    def path(self, url: str) -> str:
        """The file system's own name of a URL."""
        return self._native + url[len(self._base) :]

    def _listed(self, url: str, *, recursive: bool) -> list[FoundFile]:
        return [
            FoundFile(
                self._base + info.path.rstrip("/")[len(self._native) :],
                directory=info.type is fs.FileType.Directory,
                size=info.size or 0,
                modified=(info.mtime_ns or 0) // 1_000_000,
            )
            for info in self._files.get_file_info(fs.FileSelector(self.path(url), recursive=recursive))
        ]


class ArrowFile:
    """An open file of pyarrow's. Its positioned reads are safe between threads."""

    def __init__(self, files: fs.FileSystem, path: str) -> None:
        """Open it.

        Raises:
            OSError: there is none, or it may not be read.
        """
        self._files = files
        self._path = path
        self._file = files.open_input_file(path)
        self.size: int = self._file.size()

    def fetch(self, offset: int, length: int) -> bytes:
        """See `RemoteFile.fetch`."""
        found: bytes = self._file.read_at(length, offset)
        return found

    def size_now(self) -> int:
        """See `RemoteFile.size_now`."""
        info = self._files.get_file_info(self._path)
        if info.type is not fs.FileType.File:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._path)
        found: int = info.size
        return found

    def close(self) -> None:
        """See `RemoteFile.close`."""
        self._file.close()
