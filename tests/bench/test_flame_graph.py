import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bench.flame_graph import draw, frames, tree

DOCS = Path(__file__).resolve().parents[2] / "docs" / "flame"
SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg: str) -> dict[str, float]:
    """Each box's title and width."""
    found = {}
    for group in ET.fromstring(svg).iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None
        assert rect is not None
        found[title.text or ""] = float(rect.attrib["width"])
    return found


def test_frames_begin_at_the_event_loop_and_have_no_line_numbers() -> None:
    stack = "0x7f (libc.so.6);main (rocketwire/cli/__init__.py:27);unrolled_run (trio/_core/_run.py:2866)"
    assert frames(f"{stack};Session.run (rocketwire/server/net/session.py:126);send (libc.so.6);0x7f (libc.so.6)") == [
        "event loop", "Session.run (rocketwire/server/net/session.py)", "send (libc.so.6)"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/opt/x/lib/python3.11/site-packages/msgspec/_core.so", "msgspec/_core.so"),
        ("/usr/lib/python3.11/threading.py:12", "threading.py"),
        ("/somewhere/kernel/scan.c:40", "kernel/scan.c"),
        ("/build/python/Objects/dictobject.c", "dictobject.c"),
        ("<frozen runpy>", "<frozen runpy>"),
    ],
)
def test_files_are_named_from_their_package_on(path: str, shown: str) -> None:
    assert frames(f"f ({path})") == [f"f ({shown})"]


def test_a_thread_that_waits_is_left_out() -> None:
    root = tree(["a;lock (x.so);PyThread_acquire_lock_timed (x.so);0x1 (libc.so.6) 50", "a;b 3", ""])
    assert root.samples == 3


def test_a_line_without_a_count_is_no_stack() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        tree(["a;b"])


def test_a_box_is_as_wide_as_its_part_of_all_samples() -> None:
    root = tree(["a;b 60", "a;c<T> 30", "d 10"])
    assert root.depth == 3
    assert boxes(draw(root, "T & U")) == {
        "a: 90 samples, 90.0%": 1080,
        "b: 60 samples, 60.0%": 720,
        "c<T>: 30 samples, 30.0%": 360,
        "d: 10 samples, 10.0%": 120,
    }


def test_what_is_too_narrow_to_see_is_not_drawn() -> None:
    assert list(boxes(draw(tree(["a 9999", "b 1"]), "t"))) == ["a: 9,999 samples, 100.0%"]


def test_no_samples_are_an_empty_graph() -> None:
    assert boxes(draw(tree([]), "t")) == {}


def test_the_projects_graphs_are_small_and_tell_nothing_of_the_machine() -> None:
    graphs = list(DOCS.glob("*.svg"))
    assert {"after-send.svg", "after-batch.svg", "after-pull.svg"} <= {graph.name for graph in graphs}
    for graph in graphs:
        text = graph.read_text("utf-8")
        assert len(text) < 300_000
        assert len(boxes(text)) > 50
        assert not any(f"({place}" in text for place in "/~")
