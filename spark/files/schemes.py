"""Chooses the file system of a URL's scheme: `pyarrow.fs` for S3, Google's store and HDFS, fsspec for every other.

Both are imported when a URL needs them: most stores are local directories.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

from rocketwire.spark.errors import OptionInvalid, PackageMissing, PathUnreadable, SparkSourceError

if TYPE_CHECKING:
    from rocketwire.spark.files.remote import RemoteFileSystem

#: The function of `arrow` that connects to each scheme; Hadoop's users write s3a.
_ARROW: Final = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "hdfs": "hdfs"}
_CLASSES: Final = {"s3": "S3FileSystem", "gs": "GcsFileSystem", "hdfs": "HadoopFileSystem"}
#: Words in the error texts of many implementations for denied access.
_REFUSED: Final = (
    "access_denied",
    "access denied",
    "accessdenied",
    "credentials",
    "forbidden",
    "http status 403",
    "invalid_access_key",
    "invalidaccesskey",
    "signature",
    "unauthorized",
    "unrecognized_client",
)
_NO_BUCKET: Final = ("no_such_bucket", "nosuchbucket", "bucket does not exist", "bucket not found")


def scheme_of(url: str) -> str:
    """The scheme of a URL."""
    return url.partition(":")[0].lower()


def connect(base: str, options: Mapping[str, str]) -> RemoteFileSystem:
    """The file system behind a URL of scheme and place.

    Raises:
        PackageMissing: the package of the scheme is not installed.
        OptionInvalid: the scheme is unknown, or does not have such an option.
        PathUnreadable: it cannot be reached.
    """
    scheme = scheme_of(base)
    name = _ARROW.get(scheme, "generic")
    try:
        module = import_module(f"rocketwire.spark.files.{'arrow' if scheme in _ARROW else 'generic'}")
        found: RemoteFileSystem = getattr(module, name)(base, options)
    except ImportError as error:
        raise _missing(scheme, error) from error
    except TypeError as error:
        raise _no_option(scheme, name, error, options) from error
    except ValueError as error:
        what = f"{base} cannot be read: {error}"
        raise OptionInvalid(
            what, "Give the scheme of a file system that pyarrow or fsspec knows, and options that go together"
        ) from error
    except OSError as error:
        raise unreadable(base, error) from error
    return found


def known_region(base: str, options: Mapping[str, str]) -> dict[str, str]:
    """Options, with the region of a bucket of Amazon's, so that it is queried once and not by each worker."""
    if _ARROW.get(scheme_of(base)) != "s3":
        return dict(options)
    region: str | None = import_module("rocketwire.spark.files.arrow").region_of(base, options)
    return dict(options) if region is None else {**options, "region": region}


def unreadable(url: str, error: OSError) -> PathUnreadable:
    """The error for an unreadable remote path, with its remedy."""
    said = error.strerror or str(error)
    lower = said.lower()
    if any(word in lower for word in _NO_BUCKET):
        return PathUnreadable(f"{url} cannot be read: there is no such bucket", "Look for a misspelt name")
    if isinstance(error, PermissionError) or any(word in lower for word in _REFUSED):
        remedy = "Give credentials that may read it, to the driver and to each executor"
        if _ARROW.get(scheme_of(url)) == "s3":
            remedy += ": fs.access_key and fs.secret_key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
            remedy += "environment; fs.anonymous=true for a public bucket"
        return PathUnreadable(f"{url} cannot be read: access is refused ({said})", remedy)
    if isinstance(error, FileNotFoundError):
        return PathUnreadable(f"{url} cannot be read: there is nothing", "Give the directory of a store")
    if "libhdfs" in lower or "libjvm" in lower:
        remedy = "Set JAVA_HOME, HADOOP_HOME and CLASSPATH as pyarrow.fs.HadoopFileSystem needs them, or use webhdfs://"
        return PathUnreadable(f"{url} cannot be read: Hadoop's client is missing ({said.splitlines()[0]})", remedy)
    return PathUnreadable(f"{url} cannot be read: {said}", "Look at the network, and at the options fs.…")


def _missing(scheme: str, error: ImportError) -> PackageMissing:
    if error.name and error.name.partition(".")[0] in {"fsspec", "pyarrow"}:
        package = error.name.partition(".")[0]
        return PackageMissing(f"{scheme}:// needs {package}, which is not installed", f"pip install {package}")
    # fsspec's text names the package.
    return PackageMissing(f"{scheme}:// needs a package that is not installed ({error})", "Install it everywhere")


def _no_option(scheme: str, name: str, error: TypeError, options: Mapping[str, str]) -> SparkSourceError:
    what = f"{scheme}:// cannot take its options ({', '.join(f'fs.{one}' for one in sorted(options))}): {error}"
    kind = f"pyarrow.fs.{_CLASSES[name]}" if name in _CLASSES else "its fsspec class"
    return OptionInvalid(what, f"The options fs.… are the keyword arguments of {kind}")
