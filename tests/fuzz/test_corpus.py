"""What is kept of the fuzzing, in archives."""

from pathlib import Path

import pytest

from tests.fuzz import corpus


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(corpus, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("part", ["part", "kernel/part"])
def test_what_is_kept_is_read_and_takes_the_place_of_what_was(part: str) -> None:
    assert corpus.inputs(part) == {}
    assert corpus.keep(part, [b"old"]) == 1
    assert corpus.keep(part, iter([b"longer", b"", b"a", b"a"])) == 3
    found = corpus.inputs(part)
    assert sorted(found.values()) == [b"", b"a", b"longer"]
    assert list(found) == sorted(found)


def test_the_shortest_are_kept_while_there_is_room() -> None:
    most = corpus.MOST_BYTES
    assert corpus.keep("part", [bytes(most), b"x", b"y"]) == 2
    assert corpus.keep("part", [bytes(most)]) == 1


def test_the_same_inputs_are_the_same_bytes(root: Path) -> None:
    corpus.keep("one", [b"a", b"b", b"c"])
    corpus.keep("two", [b"c", b"b", b"a"])
    assert (root / "one.zip").read_bytes() == (root / "two.zip").read_bytes()
