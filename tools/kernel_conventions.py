"""Holds the kernel's C to kernel/CONVENTIONS.md, as far as the text shows it: `python -m tools.kernel_conventions`.

It lists braces that are missing, results that are named otherwise, and functions that are never used, and ends with 1
if there is one; tox's environment `lint` runs it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tools.build_kernel import SOURCES

_NO_CODE: Final = re.compile(
    r"/\*.*?\*/|//[^\n]*|^#(?:[^\n]*\\\n)*[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL | re.MULTILINE
)
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_HEAD: Final = re.compile(r"\b(?:if|for|while) \(|\belse\b(?! if\b)")
_ENUM: Final = re.compile(r"typedef enum \{(.*?)\} (\w+);", re.DOTALL)
_FUNCTION: Final = re.compile(
    r"^(?!return|else)[A-Za-z_][\w *]*?\b(\w+)\((?:[^;{}()]|\([^;{}()]*\))*\)\s*[;{]", re.MULTILINE
)
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def code_of(text: str) -> str:
    """A source without comments, literals and lines of the preprocessor; its lines have the same numbers."""
    return _NO_CODE.sub(lambda found: "\n" * found[0].count("\n") if found[0][0] in "/#" else '""', text)


def problems(sources: Mapping[str, str]) -> Iterator[str]:
    """The violations of the conventions, in sources by their names: a line each."""
    code = {name: code_of(text) for name, text in sources.items()}
    for name, text in code.items():
        for at in _unbraced(text):
            yield f"{name}:{_line(text, at)}: a body on lines of its own has braces"
        for found in _ENUM.finditer(text):
            errors = re.findall(r"(\w+) = -1\b", found[1])
            if errors and not (found[2].endswith("_result") and errors[0].endswith("_ERROR")):
                yield f"{name}:{_line(text, found.start())}: an enum with -1 is a NAME_result, its -1 is NAME_ERROR"
    yield from _unused(code, sources.values())


def _unbraced(code: str) -> Iterator[int]:
    """Where the body of a statement has neither braces nor stands on the statement's last line."""
    for found in _HEAD.finditer(code):
        end = found.end()
        if found[0].endswith("("):
            depth = 1
            while depth > 0:
                depth += {"(": 1, ")": -1}.get(code[end], 0)
                end += 1
        rest = code[end : code.find("\n", end)].strip()
        if not rest.endswith((";", "{", "\\")) and not re.match(r"^(?:if|for|while) \(", rest):
            yield found.start()


def _unused(code: Mapping[str, str], texts: Iterable[str]) -> Iterator[str]:
    """Functions whose name stands only where they are declared; `NAME_init` and `PyInit_NAME` are called by name."""
    words = Counter(word for text in texts for word in _WORD.findall(_COMMENT.sub("", text)))
    declared = Counter(name for text in code.values() for name in _FUNCTION.findall(text))
    for name, times in declared.items():
        if words[name] <= times and not name.endswith("_init") and not name.startswith("PyInit_"):
            yield f"{name}: the function is not used"


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def main() -> int:
    """Check all sources, and return the exit code."""
    paths = (path for path in SOURCES.rglob("*.[ch]"))
    sources = {str(path.relative_to(SOURCES.parent)): Path(path).read_text("utf-8") for path in sorted(paths)}
    found = list(problems(sources))
    for each in found:
        print(each)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
