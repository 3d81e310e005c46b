"""Profiles of endpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.cli.errors import CommandError
from rocketwire.cli.profiles import Profile, read_profile


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "rocketwire").mkdir()
    return tmp_path / "rocketwire" / "profiles.toml"


def test_without_a_file_there_is_no_profile(file: Path) -> None:
    assert read_profile(None) == Profile()
    with pytest.raises(CommandError, match=f"--profile a: there is no file {file}"):
        read_profile("a")


def test_profiles_have_names(file: Path) -> None:
    file.write_text('[default]\nnamesrv = "a:1"\n[b]\naccess-key = "k"\nsecret-key = "s"\ntls = true\n')
    assert read_profile(None) == Profile(namesrv="a:1")
    assert read_profile("b") == Profile(access_key="k", secret_key="s", tls="1")
    with pytest.raises(CommandError, match="no such section; did you mean default"):
        read_profile("defalt")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[", "profiles.toml: "),
        ("default = 1", "a section is needed"),
        ('[default]\nnamesrc = "a"', "unknown key namesrc; did you mean namesrv"),
        ("[default]\nnamesrv = 1", "namesrv must be a text"),
    ],
)
def test_a_wrong_file_is_a_mistake(file: Path, content: str, said: str) -> None:
    file.write_text(content)
    with pytest.raises(CommandError, match=said):
        read_profile(None)
