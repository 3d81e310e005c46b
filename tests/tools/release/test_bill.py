"""The bill of materials names rocketwire with its version; cyclonedx-py itself runs in `tox run -e release`."""

import tomllib
from pathlib import Path

from tools.release.bill import with_nghttp2, with_version
from tools.release.nghttp2 import VERSION

ROOT = Path(__file__).resolve().parents[3]


def test_the_description_has_the_version_that_hatchling_would_find() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "version" not in tomllib.loads(text)["project"]
    described = tomllib.loads(with_version(text, "1.2.3"))["project"]
    assert described["version"] == "1.2.3"
    assert "dynamic" not in described


def test_what_the_kernel_is_linked_with_is_a_part_of_rocketwire() -> None:
    bill = {
        "metadata": {"component": {"bom-ref": "root"}},
        "components": [{"bom-ref": "trio"}],
        "dependencies": [{"ref": "trio"}, {"ref": "root", "dependsOn": ["trio"]}],
    }
    found = with_nghttp2(bill)
    reference = f"nghttp2=={VERSION}"
    assert [each["bom-ref"] for each in found["components"]] == ["trio", reference]
    assert found["dependencies"] == [
        {"ref": "trio"},
        {"ref": "root", "dependsOn": [reference, "trio"]},
        {"ref": reference},
    ]
