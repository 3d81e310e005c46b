from pathlib import Path

import pytest

from tools.generated import FILES, PAGES, MarkerMissing, main, replace_part, up_to_date
from tools.markdown import table

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_pages_agree_with_the_code(page: Path) -> None:
    is_there = (ROOT / page).read_text(encoding="utf-8")
    assert is_there == up_to_date(ROOT, page), "run: python -m tools.generated"


@pytest.mark.parametrize("file", FILES, ids=str)
def test_the_files_agree_with_the_code(file: Path) -> None:
    assert (ROOT / file).read_text(encoding="utf-8") == FILES[file](), "run: python -m tools.generated"


def test_the_pages_are_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for page, parts in PAGES.items():
        (tmp_path / page).parent.mkdir(exist_ok=True)
        markers = "".join(f"<!-- {part}: made by tools/generated.py -->\n<!-- {part}: end -->\n" for part in parts)
        (tmp_path / page).write_text(markers)
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert main() == 0
    assert "SEND_MESSAGE_V2" in (tmp_path / "docs/request-codes.md").read_text()
    assert "`mapedFileSizeCommitLog`" in (tmp_path / "docs/configuration.md").read_text()
    assert all((tmp_path / file).read_text() == make() for file, make in FILES.items())


def test_only_what_is_between_the_markers_is_replaced() -> None:
    text = "a\n<!-- x: made by tools/generated.py -->\nold\n<!-- x: end -->\nb\n"
    assert replace_part(text, "x", "new\n") == text.replace("old", "new")


@pytest.mark.parametrize("text", ["", "<!-- x: made by tools/generated.py -->\n", "<!-- x: end -->\n"])
def test_a_page_without_markers_is_an_error(text: str) -> None:
    with pytest.raises(MarkerMissing, match="x"):
        replace_part(text, "x", "")


def test_a_table() -> None:
    assert table(("a", "b"), [("1", "x|y")]) == "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n"
