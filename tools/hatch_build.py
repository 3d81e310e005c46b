"""Hatchling's hook: puts the C kernel into the wheel, or builds it in place for an editable install.

Where no C compiler works the wheel is pure Python, with a warning; `ROCKETWIRE_KERNEL=native` makes that an error,
`ROCKETWIRE_KERNEL=python` wants no kernel. Where the compiler is one for another platform, or for older systems, than
this machine, `ROCKETWIRE_WHEEL_PLATFORM=manylinux_2_17_aarch64` is the platform of the wheel's tag.
`ROCKETWIRE_SPARK_JAR=FILE` puts the jar of the Spark data source, which tools/build_spark_jar.py builds, into the
wheel.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol, cast

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Where spark/starting.py expects it.
_JAR: Final = "rocketwire/spark/rocketwire-spark.jar"


class _Wheels(Protocol):
    """The part of hatchling's wheel builder that is used."""

    def get_best_matching_tag(self) -> str:
        """The tag of an ordinary extension for this interpreter and this machine."""
        ...


class KernelHook(BuildHookInterface[Any]):
    """Builds the kernel before the wheel is put together."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the kernel and register it with hatchling; `version` is `editable` or `standard`."""
        builder = _neighbour(Path(self.root) / "tools" / "build_kernel.py")
        wanted = os.environ.get("ROCKETWIRE_KERNEL")
        jar = os.environ.get("ROCKETWIRE_SPARK_JAR")
        if jar and version != "editable":
            build_data["force_include"][jar] = _JAR
        place = Path(self.root) / builder.PRODUCT
        if version != "editable":
            place = Path(self.root) / "build" / "kernel" / "wheel" / place.name
        if wanted == "python":
            return
        try:
            builder.build(out=place)
        except builder.BuildFailed as failed:
            if wanted == "native":
                raise
            # A kernel left by an older build belongs to an older Python.
            place.unlink(missing_ok=True)
            self.app.display_warning(f"rocketwire is built without its C kernel: {str(failed).splitlines()[0]}")
            return
        if version != "editable":
            ordinary = cast("_Wheels", self.build_config.builder).get_best_matching_tag().rpartition("-")[2]
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{os.environ.get('ROCKETWIRE_WHEEL_PLATFORM') or ordinary}"
            build_data["force_include"][str(place)] = str(builder.PRODUCT)
            if nghttp2 := os.environ.get("ROCKETWIRE_NGHTTP2"):  # the kernel has its library
                build_data["extra_metadata"][str(Path(nghttp2) / "COPYING")] = "COPYING.nghttp2"


def _neighbour(path: Path) -> ModuleType:
    """A module of this folder, which is no package that is installed where wheels are built."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
