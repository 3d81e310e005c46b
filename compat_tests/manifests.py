"""The manifests of deploy/kubernetes, and the check of them by Kubernetes' own schemas."""

from __future__ import annotations

from typing import Any, Final

import kubernetes_validate
import yaml

from compat_tests.readme import ROOT

FOLDER: Final = ROOT / "deploy" / "kubernetes"
VERSIONS: Final = ("1.29", kubernetes_validate.latest_version())


def manifests(name: str) -> dict[str, dict[str, Any]]:
    """The manifests of a file, by their kinds."""
    return {each["kind"]: each for each in yaml.safe_load_all((FOLDER / name).read_text("utf-8"))}


def check(name: str, version: str) -> None:
    """Raises ValidationError unless all of a file are valid in a version of Kubernetes."""
    for manifest in manifests(name).values():
        kubernetes_validate.validate(manifest, version, strict=True)
