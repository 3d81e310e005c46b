from pathlib import Path

import pytest

from tools.generate_proto import FOLDER, MODULES, ProtocFailed, generate, main

ROOT = Path(__file__).resolve().parents[2]


def test_the_modules_agree_with_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "proto").symlink_to(ROOT / FOLDER / "proto")
    monkeypatch.chdir(tmp_path)
    assert main() == 0
    made = {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / FOLDER).glob("*_pb2.*")}
    there = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / FOLDER).glob("*_pb2.*")}
    assert made == there, "run: python -m tools.generate_proto"
    assert len(made) == 2 * len(MODULES)


def test_an_invalid_file_is_an_error(tmp_path: Path) -> None:
    for name in MODULES:
        (tmp_path / FOLDER / "proto" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / FOLDER / "proto" / name).write_text("syntax = 'proto9';")
    with pytest.raises(ProtocFailed, match="proto9"):
        generate(tmp_path)
