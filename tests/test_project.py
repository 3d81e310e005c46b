"""Promises of the repository that no single module keeps."""

import os.path
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path, PurePosixPath

import pytest
import yaml

from rocketwire.server.config.keys import Key
from rocketwire.server.configuration import KEYS

ROOT = Path(__file__).resolve().parent.parent
NEWS = re.compile(r"[0-9]+\.(feature|change|bugfix|removal)(\.[0-9]+)?\.md")
SERVER_SOURCE = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "server").rglob("*.py"))
    if path.name != "config_keys.py"
)


def test_every_news_fragment_has_an_issue_and_a_type() -> None:
    fragments = [path.name for path in (ROOT / "newsfragments").iterdir() if path.name != ".gitkeep"]
    assert [name for name in fragments if not NEWS.fullmatch(name)] == []


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_key_with_a_documented_effect_is_used(key: Key) -> None:
    assert f".{key.attribute}" in SERVER_SOURCE


RELATIVE = re.compile(r"(?<![\w./])(?:\./)*(?:\.\./)+")
FROM_FILE = re.compile(r"__file__\)(?:\.resolve\(\))?((?:\.parents?\b(?:\[\d+\])?| / \"\.\.\")+)")
STEP = re.compile(r"\.parents\[(\d+)\]|\.parent\b|\.\.")
NAMED_ROOT = re.compile(r"\bROOT(?:\.resolve\(\))?(?:\.parents?\b| / \"\.\.\")")


def above_the_root(path: PurePosixPath, text: str) -> Iterator[str]:
    """What in a file's text leads out of the repository, where others' folders lie."""
    for found in RELATIVE.finditer(text):
        if os.path.normpath(path.parent / found[0]).startswith(".."):
            yield found[0]
    for found in FROM_FILE.finditer(text):
        if sum(int(step[1] or 0) + 1 for step in STEP.finditer(found[1])) > len(path.parts):
            yield found[0]
    for found in NAMED_ROOT.finditer(text):
        yield found[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/page.md", "[code](../../elsewhere/code.py)"),
        ("run", "cat ../elsewhere/data"),
        ("run", "cat ./../elsewhere/data"),
        ("tests/store/a.py", 'Path(__file__).resolve().parents[2] / ".." / "elsewhere"'),
        ("tests/store/a.py", 'Path(__file__).resolve().parents[2].parent / "elsewhere"'),
        ("tests/store/a.py", 'Path(__file__).parents[3] / "elsewhere"'),
        ("tools/a.py", 'Path(__file__).parent.parent.parent / "elsewhere"'),
        ("tools/a.py", 'ROOT.{} / "elsewhere"'.format("parent")),
    ],
)
def test_what_leads_out_of_the_repository_is_seen(path: str, text: str) -> None:
    assert list(above_the_root(PurePosixPath(path), text))


def test_no_file_leads_out_of_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = {}
    for name in listed.split("\0"):
        path = ROOT / name
        if path == ROOT / "tests" / "test_project.py" or not path.is_file():
            continue  # this one has examples; a link is checked where it leads
        data = path.read_bytes()
        if b"\0" not in data and (ways := list(above_the_root(PurePosixPath(name), data.decode()))):
            found[name] = ways
    assert found == {}


def tox() -> ConfigParser:
    """The content of tox.ini."""
    settings = ConfigParser(interpolation=None)
    settings.read_string((ROOT / "tox.ini").read_text(encoding="utf-8"))
    return settings


def test_the_quick_checks_come_first_and_one_that_fails_ends_the_run() -> None:
    settings = tox()
    gate = settings["tests"]["gate"].split(", ")
    assert settings["tox"]["env_list"].split(", ")[: len(gate)] == gate
    assert settings["testenv"]["depends"] == "{[tests]gate}"
    for name in gate:
        assert settings[f"testenv:{name}"]["depends"] == ""
        assert settings[f"testenv:{name}"].getboolean("fail_fast")


def called(node: object) -> Iterator[str]:
    """The tox environments that the commands of a workflow or a hook name."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in {"run", "entry"}:
                for names in re.findall(r"\btox (?:run|exec) (?:-q )?-e ([\w,-]+)", value):
                    yield from names.split(",")
            else:
                yield from called(value)
    elif isinstance(node, list):
        for value in node:
            yield from called(value)


@pytest.mark.parametrize(
    ("name", "environments"),
    [
        (".github/workflows/checks.yml", ["lint", "docs", "unit"]),
        (".github/workflows/nightly.yml", ["nightly"]),
        (".pre-commit-config.yaml", ["lint", "lint"]),
    ],
)
def test_workflows_and_hooks_call_environments_that_tox_has(name: str, environments: list[str]) -> None:
    found = list(called(yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))))
    assert found == environments
    assert {f"testenv:{each}" for each in found} <= set(tox().sections())


def test_workflows_take_the_tox_that_make_takes() -> None:
    wanted = re.findall(r"'tox(>=[^']+)'", (ROOT / "Makefile").read_text(encoding="utf-8"))
    for path in (ROOT / ".github" / "workflows").iterdir():
        assert set(re.findall(r"'tox(>=[^']+)'", path.read_text(encoding="utf-8"))) == set(wanted)
    assert wanted == [f">={tox()['tox']['min_version']},<5"]


def make(*arguments: str) -> list[str]:
    done = subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_make_alone_lists_the_targets() -> None:
    targets = [line.split()[1] for line in make("--no-print-directory")]
    assert targets == [
        "serve",
        "test",
        "test-all",
        "bench",
        "bench-spark",
        "cluster-demo",
        "proxy-catalogue",
        "spark-demo",
        "fuzz",
        "docs",
        "wheel",
        "image",
        "version",
        "release",
        "clean",
    ]


def test_make_serve_leaves_everything_to_the_options_given() -> None:
    assert make("--no-print-directory", "-n", "-o", ".venv/installed", "serve", "ARGS=-c my.conf") == [
        "exec .venv/bin/rocketwire serve -c my.conf"
    ]


def test_the_first_make_serve_shows_what_it_installs_and_later_ones_are_quiet(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    fake = tmp_path / "python"
    fake.write_text(
        "#!/bin/sh\n"
        'if [ "$2" = venv ]; then mkdir -p .venv/bin && cp python .venv/bin/ && cp python .venv/bin/rocketwire; fi\n'
        'case "$*" in *pip*--quiet*) ;; *pip*) echo "Collecting trio" ;; serve*) echo ready ;; esac\n',
        encoding="utf-8",
    )
    fake.chmod(0o755)
    command = ["make", f"PYTHON={fake}", "serve"]
    first, second = (subprocess.check_output(command, cwd=tmp_path, text=True) for _ in range(2))
    assert "about a minute" in first
    assert "Collecting trio" in first
    assert first.endswith("ready\n")
    assert second == "ready\n"


def test_make_serve_replaces_the_file_that_tox_leaves_in_its_environments_place(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / ".venv").write_text(".tox/unit\n", encoding="utf-8")
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nmkdir -p .venv/bin && ln -sf /bin/true .venv/bin/python\n", encoding="utf-8")
    fake.chmod(0o755)
    subprocess.run(["make", f"PYTHON={fake}", ".venv/installed"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / ".venv" / "installed").is_file()


def test_no_merge_is_half_done() -> None:
    marks = [f"-e^{mark * 7}{end}" for mark, end in (("<", " "), ("=", "$"), (">", " "))]
    found = subprocess.run(["git", "grep", "-l", *marks], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout == ""


MOST_FILES = 15
"""The most files of a room beside its sub-rooms: more are several subjects."""


def test_no_room_has_too_many_files() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "server", "store", "spark", "kernel"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [PurePosixPath(line) for line in listed.stdout.splitlines()]
    counts = Counter(path.parent for path in paths if path.name != "__init__.py")
    assert {str(folder): count for folder, count in counts.items() if count > MOST_FILES} == {}
