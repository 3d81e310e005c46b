"""The docstring of each room has where to begin, and what the room imports."""

import re
from pathlib import Path

import pytest

from tools.rooms_page import HOUSES, docstring, house_table, imported, inner_rooms, may_import, paragraph, rooms

ROOT = Path(__file__).resolve().parents[2]
ROOMS = [room for house in HOUSES for room in inner_rooms(house)]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_names_the_modules_to_begin_with(room: str) -> None:
    names = re.findall(r"`([\w.]+)`", paragraph(docstring(room), "Begin with"))
    assert names, f"{room}/__init__.py: say 'Begin with `module`'"
    for name in names:
        inside = [ROOT / room / f"{name}.py", ROOT / room / name, ROOT / f"{name.replace('.', '/')}/__init__.py"]
        defined = f"class {name}(" in (ROOT / room / "__init__.py").read_text(encoding="utf-8")
        assert defined or any(path.exists() for path in inside), name


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_its_docstring_allows(room: str) -> None:
    assert "May import: " in docstring(room)
    assert imported(room) <= may_import(room), f"{room}/__init__.py: say what else it may import"


def test_rooms_are_in_the_order_of_their_layers() -> None:
    assert rooms("store")[:2] == ("errors", "event")
    assert rooms("server").index("core") < rooms("server").index("pull") < rooms("server").index("run")
    assert rooms("wire") == ("bodies", "facts", "grpc", "headers", "http2")


def test_a_row_has_the_first_sentence_of_a_room_and_where_to_begin() -> None:
    lines = house_table("wire").splitlines()
    assert lines[0] == "| room of `wire/` | what it owns | begin with |"
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| `{room}`" for room in rooms("wire")]
    assert "May import" not in house_table("server")


def test_names_of_modules_are_no_rooms() -> None:
    assert imported("store/log") >= {"disk", "layout"}
    assert not imported("store/log") & {"errors", "event", "log"}
