"""Flame graphs of collapsed stacks, as an SVG that needs no script.

Theory: a collapsed stack is a line `outermost;...;innermost COUNT`, as py-spy's raw format has them. They form a
tree; each node becomes a box as wide as its part of all samples. The graph shows nothing of the machine: addresses are
left out, and files named from their package on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape

_WIDTH: Final = 1200
_ROW: Final = 16
_HEAD: Final = 44  # above the boxes: title and legend
_LETTER: Final = 6.2  # width of one, about
_SMALLEST: Final = 0.001  # parts of all samples that are not drawn
# Functions that start a thread are of no interest: these are replaced, with all before them.
_ROOTS: Final[Mapping[str, str]] = {
    "run (trio/_core/_run.py)": "event loop",
    "unrolled_run (trio/_core/_run.py)": "event loop",
    "Thread._bootstrap (threading.py)": "worker threads",
}
# A stack with one of these is that of a thread that waits for work: no CPU time.
_WAITING: Final = frozenset({"PyThread_acquire_lock_timed", "epoll_wait"})
_FRAME: Final = re.compile(r"(?P<name>.*) \((?P<file>[^()]*?)(?::\d+)?\)")
_PACKAGE: Final = re.compile(r".*/(?:site-packages|dist-packages|lib-dynload|python3\.\d+)/")
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "kernel": ("#e0503c", "kernel (C)"),
    "own": ("#f0a030", "rocketwire"),
    "trio": ("#7fb85c", "trio"),
    "python": ("#e8d25c", "other Python"),
    "native": ("#9db4c8", "native"),
}


@dataclass(slots=True)
class Node:
    """A function at one place of the call tree: samples in it and below, and what it called."""

    samples: int = 0
    children: dict[str, Node] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """Rows that this node and those below need."""
        return 1 + max((child.depth for child in self.children.values()), default=0)


def _file(path: str) -> str:
    """`path` from its package on: nothing of where it is installed."""
    short = _PACKAGE.sub("", path)
    if short.startswith("/"):
        parts = short.split("/")
        start = max((index for index, part in enumerate(parts) if part in {"rocketwire", "kernel"}), default=-1)
        short = "/".join(parts[start:])
    return short


def frames(stack: str) -> list[str] | None:
    """The frames of one collapsed stack, outermost first, as `name (file)`; None for a thread that waits."""
    found: list[str] = []
    for text in stack.split(";"):
        matched = _FRAME.fullmatch(text)
        name, file = (matched["name"], _file(matched["file"])) if matched else (text, "")
        if name in _WAITING:
            return None
        frame = f"{name} ({file})" if file else name
        if frame in _ROOTS:
            found = [_ROOTS[frame]]
        elif not name.startswith("0x"):
            found.append(frame)
    return found


def tree(lines: Iterable[str]) -> Node:
    """The call tree of collapsed stacks; its root stands for all samples. Raises ValueError for another line."""
    root = Node()
    for line in filter(str.strip, lines):
        stack, _, count = line.rpartition(" ")
        found = frames(stack)
        if found is None:
            continue
        samples = int(count)
        node = root
        node.samples += samples
        for name in found:
            node = node.children.setdefault(name, Node())
            node.samples += samples
    return root


def _kind(name: str) -> str:
    file = name.rpartition(" (")[2]
    if "kernel" in file:
        return "kernel"
    if file.startswith("rocketwire/"):
        return "own"
    if file.startswith(("trio/", "outcome/")) or name == "event loop":
        return "trio"
    return "python" if ".py" in file or "<" in file or "(" not in name else "native"


def _box(name: str, samples: int, total: int, x: float, y: int) -> str:
    width = _WIDTH * samples / total
    letters = int((width - 4) / _LETTER)
    shown = name if len(name) <= letters else f"{name[: letters - 2]}.." if letters > 4 else ""
    text = f'<text x="{x + 2:.1f}" y="{y + 11}">{escape(shown)}</text>' if shown else ""
    title = f"<title>{escape(name)}: {samples:,} samples, {samples / total:.1%}</title>"
    rect = f'<rect class="{_kind(name)}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 1}"/>'
    return f"<g>{title}{rect}{text}</g>"


def _boxes(node: Node, total: int, x: float, y: int) -> Iterator[str]:
    for name, child in sorted(node.children.items()):
        if child.samples < total * _SMALLEST:
            continue
        yield _box(name, child.samples, total, x, y)
        yield from _boxes(child, total, x, y + _ROW)
        x += _WIDTH * child.samples / total


def _legend() -> Iterator[str]:
    for number, (kind, (_, title)) in enumerate(_KINDS.items()):
        x = 4 + 110 * number
        yield f'<rect class="{kind}" x="{x}" y="24" width="12" height="12"/><text x="{x + 16}" y="34">{title}</text>'


def draw(root: Node, title: str) -> str:
    """The flame graph of a call tree, outermost functions at the top."""
    height = _HEAD + _ROW * root.depth
    colours = "".join(f".{kind}{{fill:{colour}}}" for kind, (colour, _) in _KINDS.items())
    boxes = _boxes(root, root.samples, 0.0, _HEAD) if root.samples else iter(())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">',
        f"<style>text{{font:10px monospace}}.head{{font:bold 13px sans-serif}}{colours}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text class="head" x="4" y="16">{escape(title)}: {root.samples:,} samples</text>',
        *_legend(),
        *boxes,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
