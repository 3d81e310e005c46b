"""The endpoint that options, the environment and profiles name, in this order."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from rocketwire.cli.errors import CommandError
from rocketwire.cli.online import ClusterAccess, online
from rocketwire.cli.profiles import Profile, read_profile
from rocketwire.cli.run import run
from rocketwire.remoting.credentials import Credentials


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


PROFILES = """\
[default]
namesrv = "default:1"

[full]
namesrv = "full:1"
access-key = "key"
secret-key = "secret"
tls = "any"

[wrong]
tls = "yes"
"""
Named = Callable[..., ClusterAccess]


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "rocketwire").mkdir()
    (tmp_path / "rocketwire" / "profiles.toml").write_text(PROFILES)


def named(*options: str) -> ClusterAccess:
    """The endpoint that a command gets."""
    found: list[ClusterAccess] = []

    @click.command
    @online
    def command(endpoint: ClusterAccess) -> None:
        found.append(endpoint)

    assert run(command, options) == 0
    return found[0]


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What a command without an endpoint prints."""

    @click.command
    @online
    def command(endpoint: ClusterAccess) -> None:
        pytest.fail("it runs")

    assert run(command, options) == 2
    return capsys.readouterr().err.removeprefix("rocketwire: ").rstrip()


def test_without_anything_it_is_the_default() -> None:
    assert named() == ClusterAccess(name_servers="127.0.0.1:9876", credentials=None, tls=None, timeout=15)
    assert named("--timeout", "2.5").timeout == 2.5


@pytest.mark.usefixtures("profiles")
def test_an_option_beats_the_environment_which_beats_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    assert named().name_servers == "default:1"
    assert named("--profile", "full").name_servers == "full:1"
    monkeypatch.setenv("ROCKETWIRE_PROFILE", "full")
    assert named().name_servers == "full:1"
    assert named("--profile", "default").name_servers == "default:1"
    monkeypatch.setenv("ROCKETWIRE_NAMESRV", "environment:1")
    assert named().name_servers == "environment:1"
    assert named("--namesrv", "option:1").name_servers == "option:1"
    monkeypatch.setenv("ROCKETWIRE_NAMESRV", "")
    assert named().name_servers == "full:1"


@pytest.mark.usefixtures("profiles")
def test_so_do_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    def account(*options: str) -> Credentials | None:
        return named("--profile", "full", *options).credentials

    assert account() == Credentials(access_key="key", secret_key="secret")
    monkeypatch.setenv("ROCKETWIRE_ACCESS_KEY", "other")
    monkeypatch.setenv("ROCKETWIRE_SECRET_KEY", "its")
    assert account() == Credentials(access_key="other", secret_key="its")
    assert account("--access-key", "third") == Credentials(access_key="third", secret_key="its")


@pytest.mark.usefixtures("profiles")
def test_half_an_account_is_not_completed_by_the_profile(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--profile", "full", "--access-key", "other")
    assert said == "half of an account is named: --secret-key or ROCKETWIRE_SECRET_KEY is missing"


@pytest.mark.usefixtures("profiles")
def test_so_does_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    def verified(*options: str) -> bool | None:
        context = named("--profile", "full", *options).tls
        return None if context is None else context.verify_mode is ssl.CERT_REQUIRED

    assert verified() is False
    monkeypatch.setenv("ROCKETWIRE_TLS", "0")
    assert verified() is None
    monkeypatch.setenv("ROCKETWIRE_TLS", "1")
    assert verified() is True
    assert verified("--tls-any") is False
    monkeypatch.setenv("ROCKETWIRE_TLS", "any")
    assert verified("--tls") is True


@pytest.mark.usefixtures("profiles")
def test_what_is_wrong_is_named_by_its_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(capsys, "--profile", "wrong") == "tls of the profile: yes: expected 0, 1 or any"
    monkeypatch.setenv("ROCKETWIRE_TLS", "no")
    assert refused(capsys, "--profile", "wrong") == "ROCKETWIRE_TLS=no: expected 0, 1 or any"
    assert "did you mean full?" in refused(capsys, "--profile", "ful")


def test_an_address_that_is_empty_is_not_the_default() -> None:
    # As of --namesrv "$UNSET": no command may then change another endpoint.
    assert named("--namesrv", "").name_servers == ""
