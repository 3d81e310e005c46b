"""Which scheme is read by what; and the error when it cannot be."""

from __future__ import annotations

import sys

import pytest

from rocketwire.spark.errors import OptionInvalid, PackageMissing, PathUnreadable
from rocketwire.spark.files import arrow, schemes
from rocketwire.spark.files.arrow import ArrowRemote
from rocketwire.spark.files.generic import GenericRemote
from rocketwire.spark.files.schemes import connect, known_region, unreadable


def test_each_scheme_has_its_implementation() -> None:
    options = {"access_key": "a", "secret_key": "b", "region": "us-east-1"}
    for base in ("s3://bucket", "s3a://bucket", "S3://bucket"):
        assert isinstance(connect(base, options), ArrowRemote)
    assert isinstance(connect("gs://bucket", {"anonymous": "true"}), ArrowRemote)
    assert isinstance(connect("memory://place", {}), GenericRemote)


@pytest.mark.parametrize(
    ("base", "options", "kind", "text"),
    [
        ("s3://b", {"nonsense": "1", "secret_key": "hidden"}, OptionInvalid, "fs.nonsense.*pyarrow.fs.S3FileSystem"),
        ("s3://b", {"access_key": "1"}, OptionInvalid, "`secret_key` is not set"),
        ("s3://b", {"connect_timeout": "soon"}, OptionInvalid, "could not convert string to float"),
        ("gs://b", {"nonsense": "1"}, OptionInvalid, "pyarrow.fs.GcsFileSystem"),
        ("http://h", {"nonsense": "{"}, OptionInvalid, "http://h cannot be read"),
        ("never://x", {}, OptionInvalid, "Protocol not known: never"),
        ("abfs://x", {}, PackageMissing, "Install adlfs"),
        ("hdfs://127.0.0.1:1", {}, PathUnreadable, "Hadoop's client is missing|cannot be read"),
    ],
)
def test_what_cannot_be_read_is_an_error(base: str, options: dict[str, str], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        connect(base, options)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(("scheme", "package"), [("memory", "fsspec"), ("s3", "pyarrow")])
def test_a_missing_package_is_named(scheme: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fsspec", "fsspec.core", "pyarrow", "pyarrow.fs", "rocketwire.spark.files.generic", arrow.__name__):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(PackageMissing, match=f"{scheme}:// needs {package}, .* pip install {package}"):
        connect(f"{scheme}://place", {})


def test_a_region_is_queried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "region_of", lambda base, options: "eu-west-1" if base == "s3://mine" else None)
    assert known_region("s3://mine", {"a": "b"}) == {"a": "b", "region": "eu-west-1"}
    assert known_region("s3://other", {"a": "b"}) == {"a": "b"}
    monkeypatch.setattr(schemes, "import_module", None)
    assert known_region("memory://mine", {"a": "b"}) == {"a": "b"}


@pytest.mark.parametrize(
    ("url", "error", "text"),
    [
        ("s3://b/x", OSError("AWS Error NO_SUCH_BUCKET during ListObjectsV2"), "there is no such bucket"),
        ("s3://b/x", OSError("AWS Error ACCESS_DENIED during GetObject"), "fs.access_key.*fs.anonymous"),
        ("s3://b/x", OSError("AWS Error UNKNOWN (HTTP status 403) during"), "fs.access_key"),
        ("abfs://b/x", PermissionError(13, "no"), r"access is refused \(no\)\. Give credentials.*executor$"),
        ("memory://b/x", FileNotFoundError(2, "No such file"), "there is nothing"),
        ("hdfs://b/x", OSError("Unable to load libhdfs\ndlopen"), r"\(Unable to load libhdfs\).*webhdfs"),
        (
            "s3://b/x",
            OSError("AWS Error NETWORK_CONNECTION: timeout"),
            "NETWORK_CONNECTION: timeout. Look at the network",
        ),
    ],
)
def test_failures_have_a_remedy(url: str, error: OSError, text: str) -> None:
    with pytest.raises(PathUnreadable, match=text):
        raise unreadable(url, error)
