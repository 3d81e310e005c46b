"""The rooms of `kernel/`: what lies in them, and that they include each other in no circle.

The table in docs/kernel.md has the rooms, in their order, and which of those above it each may include.
"""

import re
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
KERNEL = ROOT / "kernel"
MOST_FILES = 15
OUTSIDE = {"module.c", "parts.def"}  # the module itself, which is made of all rooms
ROW = re.compile(r"^\| `([a-z0-9/]+)/` \|.*\|([^|]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def rooms_of_the_page() -> dict[str, list[str]]:
    """What each room may include, in the order of the table in docs/kernel.md."""
    page = (ROOT / "docs" / "kernel.md").read_text(encoding="utf-8")
    return {room: re.findall(r"`([a-z0-9/]+)/`", included) for room, included in ROW.findall(page)}


ROOMS = rooms_of_the_page()
SOURCES = sorted(path.relative_to(KERNEL) for kind in ("*.[ch]", "*.def") for path in KERNEL.rglob(kind))


def included_by(source: Path) -> list[PurePosixPath]:
    """The files of the kernel that a source includes, as it names them."""
    return [PurePosixPath(name) for name in INCLUDE.findall((KERNEL / source).read_text(encoding="utf-8"))]


def test_the_page_lists_every_room_and_no_other() -> None:
    assert set(ROOMS) == {source.parent.as_posix() for source in SOURCES if source.as_posix() not in OUTSIDE}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_includes_only_rooms_above_it_in_their_order(room: str) -> None:
    above = list(ROOMS)[: list(ROOMS).index(room)]
    assert ROOMS[room] == [name for name in above if name in ROOMS[room]]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_includes_the_rooms_on_the_page_and_no_others(room: str) -> None:
    included = {
        name.parent.as_posix() for source in SOURCES if source.parent.as_posix() == room for name in included_by(source)
    }
    assert included - {room} == set(ROOMS[room])


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_an_include_names_the_room_and_a_file_of_it(source: Path) -> None:
    assert [name for name in included_by(source) if not (KERNEL / name).is_file()] == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_few_files(room: str) -> None:
    assert len([path for path in (KERNEL / room).iterdir() if path.is_file()]) <= MOST_FILES


def test_no_two_files_have_the_same_name() -> None:
    names = [source.name for source in SOURCES]
    assert sorted(set(names)) == sorted(names)


def test_the_conventions_name_existing_files() -> None:
    page = (KERNEL / "CONVENTIONS.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9]+)+\.[ch])`", page)
    assert len(named) > 5
    assert [name for name in named if not (KERNEL / name).is_file()] == []
