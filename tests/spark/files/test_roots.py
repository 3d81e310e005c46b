"""What the option `path` names."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import fsspec
import pytest

from rocketwire.spark.errors import OptionInvalid, PathUnreadable
from rocketwire.spark.files.far import RemoteFiles
from rocketwire.spark.files.roots import Root, canonical, resolve
from rocketwire.store.offline.read.file_system import LOCAL


def paths(*given: str) -> list[str]:
    found = resolve(given, {})
    assert all(root.files == LOCAL for root in found)
    return [root.path for root in found]


def test_directories_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b1/store", "b2/store", "b3/other", ".b4/store", "x,y", "[z]", "with space"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "b5").touch()
    assert paths(f"{tmp_path}/b1/store") == [f"{tmp_path}/b1/store"]
    assert paths(f"{tmp_path}/b2//store/, {tmp_path}/b1/store") == [f"{tmp_path}/b2/store", f"{tmp_path}/b1/store"]
    assert paths(f"{tmp_path}/*/store") == [f"{tmp_path}/b1/store", f"{tmp_path}/b2/store"]
    assert paths(f"{tmp_path}/b[13]/*") == [f"{tmp_path}/b1/store", f"{tmp_path}/b3/other"]
    assert paths(f"{tmp_path}/b?") == [f"{tmp_path}/b{number}" for number in (1, 2, 3)]
    assert paths(f"{tmp_path}/.b?/store") == [f"{tmp_path}/.b4/store"]
    assert paths(f"{tmp_path}/b1/store,{tmp_path}/b?/store") == [f"{tmp_path}/b1/store", f"{tmp_path}/b2/store"]
    assert paths(f"{tmp_path}/x,y") == [f"{tmp_path}/x,y"]
    assert paths(f"{tmp_path}/x,y", f"{tmp_path}/[z],{tmp_path}/b1") == [
        f"{tmp_path}/{one}" for one in ("x,y", "[z]", "b1")
    ]
    assert paths(f"{tmp_path}/[z]") == [f"{tmp_path}/[z]"]
    assert paths(f"file:{tmp_path}/with%20space") == [f"{tmp_path}/with space"]
    assert paths(f"file://{tmp_path}/b1/../b1,file://localhost{tmp_path}/b2") == [f"{tmp_path}/b1", f"{tmp_path}/b2"]
    assert paths(f"{tmp_path}/none") == [f"{tmp_path}/none"]  # `discover` finds that it is missing
    monkeypatch.chdir(tmp_path)
    assert paths("b1, b*/store") == [f"{tmp_path}/b1", f"{tmp_path}/b1/store", f"{tmp_path}/b2/store"]
    assert paths("/") == ["/"]
    for nothing in ("n*", "b1/n*/x", "b5/*"):
        with pytest.raises(PathUnreadable, match="fits no directory"):
            resolve([nothing], {})
    for empty in ("", "b1,,b2", "b1,"):
        with pytest.raises(OptionInvalid, match="option path names nothing"):
            resolve([empty], {})


def test_names_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"store\xff")).mkdir()
    with pytest.raises(PathUnreadable, match=r"store\? is no UTF-8"):
        resolve([f"{tmp_path}/store*"], {})
    for nul in (f"{tmp_path}/\0", f"file:{tmp_path}/%00"):
        with pytest.raises(OptionInvalid, match="No directory has a NUL"):
            resolve([nul], {})
    with pytest.raises(PathUnreadable, match="fits no directory"):
        resolve([f"{tmp_path}/" + "x" * 5000 + "*"], {})
    assert paths(f"{tmp_path}/" + "x" * 5000) == [f"{tmp_path}/" + "x" * 5000]  # `discover` finds that it cannot be


def test_urls(memory: fsspec.AbstractFileSystem) -> None:
    for name in ("a/b1/store", "a/b2/store", "a/b3", "b/store"):
        memory.pipe_file(f"/place/{name}/checkpoint", b"")
    far = RemoteFiles("memory://place", (("skip_instance_cache", "true"),), 1 << 20)

    def found(path: str) -> list[Root]:
        return resolve([path], {"skip_instance_cache": "true"}, 1 << 20)

    assert found("memory://place/a/b1/store/") == [Root("memory://place/a/b1/store", far)]
    assert found("memory://place//a/*/store") == [
        Root("memory://place/a/b1/store", far),
        Root("memory://place/a/b2/store", far),
    ]
    assert found("memory://place/?/b1,memory://place/a/b1") == [Root("memory://place/a/b1", far)]
    assert [root.path for root in found("memory://place/*/*")] == [
        f"memory://place/{name}" for name in ("a/b1", "a/b2", "a/b3", "b/store")
    ]
    assert [root.path for root in resolve(["/here,memory://place/b"], {})] == ["/here", "memory://place/b"]
    again = pickle.loads(pickle.dumps(found("memory://place/b/store")))
    assert again == found("memory://place/b/store")
    with pytest.raises(PathUnreadable, match="memory://place/none cannot be read: there is nothing"):
        resolve(["memory://place/none"], {})
    for nothing in ("memory://place/n*", "memory://none/*", "memory://place/*/none"):
        with pytest.raises(PathUnreadable, match="fits no directory"):
            resolve([nothing], {})
    with pytest.raises(OptionInvalid, match="may not carry names and passwords") as caught:
        resolve(["s3://name:hidden@bucket/x"], {})
    assert "hidden" not in str(caught.value)


def test_a_path_is_spelt_in_one_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert canonical("a/../b/") == f"{tmp_path}/b"
    assert canonical(" /b//c ") == "/b/c"
    assert canonical("/") == "/"
    assert canonical("file:/a%2Fb") == "/a/b"
    assert canonical("S3://Bucket//a/") == "s3://Bucket/a"
    assert canonical("hdfs:///a") == "hdfs:///a"
    assert canonical("dbfs:/a") == "dbfs:///a"
    assert canonical("hdfs://") == "hdfs://"
