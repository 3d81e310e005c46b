"""The tables of rooms in docs/architecture.md, made from the docstring of each room's `__init__.py`.

Such a docstring begins with what the room owns, then the module to begin with, and ends with what it may import.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.markdown import table

ROOT: Final = Path(__file__).resolve().parent.parent
HOUSES: Final = {
    "wire": "wire",
    "store": "store",
    "server": "server",
    "spark": "spark",
    "rocketwire/remoting": "remoting",
    "rocketwire/capture": "capture",
    "rocketwire/testing": "testing",
}
"""Folders of rooms, and the name below `rocketwire` by which each is imported."""
EVERY_ROOM_BELOW: Final = "every room that its layer allows"
_IMPORT: Final = re.compile(r"^\s*from rocketwire(?:\.(\w+))?(?:\.(\w+)[\w.]*)? import (\w+(?:, \w+)*)", re.MULTILINE)
_ONLY_FOR_TYPES: Final = re.compile(r"^if TYPE_CHECKING:\n(?:(?: .*)?\n)+", re.MULTILINE)
_NAME: Final = re.compile(r"`([\w.]+)`")


def rooms(house: str) -> tuple[str, ...]:
    """The rooms and modules of a folder: those it builds on first, as import-linter's contract orders them."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    package = f"rocketwire.{HOUSES[house]}"
    for contract in tool["importlinter"]["contracts"]:
        if contract.get("containers") == [package]:
            return tuple(name for layer in reversed(contract["layers"]) for name in layer.split(" | "))
    return tuple(path.parent.name for path in sorted((ROOT / house).glob("*/__init__.py")))


def inner_rooms(house: str) -> tuple[str, ...]:
    """All rooms of a folder and the rooms in them, by path."""
    found = (ROOT / house).rglob("__init__.py")
    return tuple(str(path.parent.relative_to(ROOT)) for path in sorted(found) if path.parent != ROOT / house)


def docstring(path: str) -> str:
    """The docstring of a room, or of a module."""
    place = ROOT / path / "__init__.py" if (ROOT / path).is_dir() else ROOT / f"{path}.py"
    return ast.get_docstring(ast.parse(place.read_text(encoding="utf-8"))) or ""


def paragraph(text: str, begin: str) -> str:
    """What follows `begin` in a docstring up to the next blank line or sign, on one line; empty if nothing does."""
    found = re.search(rf"^{begin} (.*?)(?=\n\n|\nMay import|\Z)", text, re.DOTALL | re.MULTILINE)
    return "" if found is None else " ".join(found[1].split())


def imported(room: str) -> set[str]:
    """The rooms beside this one, and the parts of rocketwire, that a room imports."""
    house = next(each for each in HOUSES if room.startswith(f"{each}/"))
    own = room.removeprefix(f"{house}/").split("/")[0]
    found: set[str] = set()
    for path in (ROOT / room).rglob("*.py"):
        text = _ONLY_FOR_TYPES.sub("", path.read_text(encoding="utf-8"))
        for part, inner, names in _IMPORT.findall(text):
            if part != HOUSES[house]:
                found.update([part] if part else names.split(", "))
            else:
                found.update(name for name in ([inner] if inner else names.split(", ")) if name != own)
    return {name for name in found if name != "__version__" and not (ROOT / house / f"{name}.py").exists()}


def may_import(room: str) -> set[str]:
    """What a room may import by its docstring; rooms in a room may import what that one may."""
    text = paragraph(docstring(room), "May import:")
    names = set(_NAME.findall(text))
    if EVERY_ROOM_BELOW in text:
        house = next(each for each in HOUSES if room.startswith(f"{each}/"))
        order = rooms(house)
        names |= set(order[: order.index(room.removeprefix(f"{house}/").split("/")[0])])
    return names


def house_table(house: str) -> str:
    """The rooms of one folder in their order: what each owns, and where to begin reading."""

    def rows() -> Iterator[tuple[str, str, str]]:
        for name in rooms(house):
            text = docstring(f"{house}/{name}")
            owns = " ".join(text.split("\n\n")[0].split()).removesuffix(".")
            shown = name if (ROOT / house / name).is_dir() else f"{name}.py"
            yield f"`{shown}`", owns, paragraph(text, "Begin with").removesuffix(".")

    return table((f"room of `{house}/`", "what it owns", "begin with"), rows())
