"""pyarrow's file systems: here its own of this machine, in the place of a bucket. S3: compat_tests/spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from rocketwire.spark.files import arrow
from rocketwire.spark.files.arrow import ArrowRemote, region_of
from rocketwire.spark.files.remote import FoundFile


@pytest.fixture
def remote(tmp_path: Path) -> ArrowRemote:
    (tmp_path / "store" / "empty").mkdir(parents=True)
    (tmp_path / "store" / "log").mkdir()
    (tmp_path / "store" / "log" / "%RETRY%a b").write_bytes(b"0123456789")
    (tmp_path / "store" / "top").write_bytes(b"")
    return ArrowRemote("s3://bucket", str(tmp_path), fs.LocalFileSystem())


def test_what_is_there(remote: ArrowRemote) -> None:
    def without_times(found: list[FoundFile]) -> list[FoundFile]:
        assert all(one.modified > 1_600_000_000_000 for one in found)
        return sorted(one._replace(modified=0) for one in found)

    store = [
        FoundFile("s3://bucket/store/empty", directory=True, size=0, modified=0),
        FoundFile("s3://bucket/store/log", directory=True, size=0, modified=0),
        FoundFile("s3://bucket/store/top", directory=False, size=0, modified=0),
    ]
    assert without_times(remote.children("s3://bucket/store")) == store
    inner = FoundFile("s3://bucket/store/log/%RETRY%a b", directory=False, size=10, modified=0)
    assert without_times(remote.below("s3://bucket/store")) == sorted([*store, inner])
    with pytest.raises(FileNotFoundError):
        remote.below("s3://bucket/none")


def test_ranges_of_a_file(remote: ArrowRemote, tmp_path: Path) -> None:
    file = remote.open("s3://bucket/store/log/%RETRY%a b")
    assert (file.size, file.size_now()) == (10, 10)
    assert (file.fetch(0, 3), file.fetch(8, 2)) == (b"012", b"89")
    (tmp_path / "store" / "log" / "%RETRY%a b").write_bytes(b"01234")
    assert file.size_now() == 5
    (tmp_path / "store" / "log" / "%RETRY%a b").unlink()
    with pytest.raises(FileNotFoundError):
        file.size_now()
    file.close()
    with pytest.raises(FileNotFoundError):
        remote.open("s3://bucket/store/none")


def test_a_missing_region_is_queried_from_amazon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    requested: list[str] = []

    def resolve(bucket: str) -> str:
        requested.append(bucket)
        if bucket == "none":
            raise OSError("Bucket 'none' not found")
        return "eu-west-1"

    monkeypatch.setattr(fs, "resolve_s3_region", resolve)
    assert region_of("s3://bucket", {"anonymous": "true"}) == "eu-west-1"
    assert region_of("s3a://none", {}) is None
    assert requested == ["bucket", "none"]
    assert region_of("s3://bucket", {"region": "x"}) is None
    assert region_of("s3://bucket", {"endpoint_override": "x"}) is None
    monkeypatch.setenv("AWS_REGION", "us-east-2")
    assert region_of("s3://bucket", {}) is None
    assert len(requested) == 2


def test_buckets_and_hosts_are_found_in_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"access_key": "a", "secret_key": "b", "region": "us-east-1"}
    assert arrow.s3("s3://bucket", options).path("s3://bucket/a/b") == "bucket/a/b"
    assert arrow.gs("gs://bucket", {"anonymous": "true"}).path("gs://bucket/a") == "bucket/a"
    with pytest.raises(TypeError, match="nonsense"):
        arrow.s3("s3://bucket", {"nonsense": "1"})
    made: list[dict[str, object]] = []

    def hadoop(**arguments: object) -> fs.FileSystem:
        made.append(arguments)
        return fs.LocalFileSystem()

    monkeypatch.setattr(fs, "HadoopFileSystem", hadoop)
    assert arrow.hdfs("hdfs://name:9000", {"user": "u"}).path("hdfs://name:9000/a/b") == "/a/b"
    arrow.hdfs("hdfs://name", {})
    arrow.hdfs("hdfs://", {})
    assert made == [
        {"host": "name", "port": 9000, "user": "u"},
        {"host": "name", "port": 8020},
        {"host": "default", "port": 0},
    ]
