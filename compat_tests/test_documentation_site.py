"""The script that lets the search of the documentation work on pages that are opened from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from compat_tests.browser_page import Page
from compat_tests.chromium import Browser
from compat_tests.readme import ROOT

_SHIM: Final = ROOT / "docs" / "site" / "iframe-worker.js"
_WORKER: Final = """\
addEventListener("message", async ({ data }) => {
  await importScripts("helper.js");
  postMessage(helped(data));
});
"""
_PAGE: Final = """\
<!doctype html><title>search</title><body><script src="iframe-worker.js"></script><script>
const worker = new Worker("worker.js");
worker.addEventListener("message", ({ data }) => { document.title = data; });
worker.postMessage("words");
</script>
"""


def test_a_page_from_disk_runs_its_worker(tmp_path: Path) -> None:
    (tmp_path / "iframe-worker.js").write_bytes(_SHIM.read_bytes())
    (tmp_path / "worker.js").write_text(_WORKER)
    (tmp_path / "helper.js").write_text("self.helped = (text) => `${text} found`;\n")
    (tmp_path / "index.html").write_text(_PAGE)
    with Browser() as browser:
        page = Page(browser)
        page.open((tmp_path / "index.html").as_uri())
        page.until("document.title === 'words found'")
