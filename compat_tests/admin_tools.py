"""Apache's administration tools, in a JVM of the host: the commands of `mqadmin`.

The server's jars hold the tools and the client too; so all programs run there, and those of `java/mqadmin` besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from compat_tests.programs import Programs
from rocketwire.compat.clients.client import Client, events
from rocketwire.compat.clients.java import build
from rocketwire.compat.clients.java.adapter import JVM_FLAGS
from rocketwire.compat.environment import artifacts, cache, image

VERSION: Final = "4.9.7"
_SOURCES: Final = {"4.9.7": ("common", "v4", "mqadmin"), "5.5.0": ("common", "v5", "mqadmin")}
VERSIONS: Final = tuple(_SOURCES)
_OWN: Final = Path(__file__).parent / "java"
# Without it 5.x's logback writes about itself to the standard output.
_SILENT: Final = """<configuration>
  <statusListener class="org.apache.rocketmq.logging.ch.qos.logback.core.status.NopStatusListener"/>
</configuration>
"""


def tools(folder: Path, version: str = VERSION) -> Programs:
    """The scenarios with the tools of a version; what a command writes goes into `folder`."""
    jars = artifacts.jars(version, kind="server")
    classes = cache.cached(f"classes/tools-{version}-{_digest()}", lambda target: _compile(version, jars, target))
    java = artifacts.java()
    (folder / "conf").mkdir(exist_ok=True)
    (folder / "conf" / "logback_tools.xml").write_text("<configuration/>", "utf-8")  # mqadmin runs nothing without it
    (folder / "conf" / "logback_5.xml").write_text(_SILENT, "utf-8")

    def command(_version: str, env: Mapping[str, str], name: str) -> list[str]:
        del name  # of containers
        variables = [f"{key}={value}" for key, value in env.items()]
        options = [
            *JVM_FLAGS,
            f"-Duser.home={folder}",
            f"-Drocketmq.home.dir={folder}",
            f"-Drmq.logback.configurationFile={folder / 'conf' / 'logback_5.xml'}",
            "-cp",
            artifacts.classpath(classes, jars),
        ]
        return ["env", "-C", str(folder), *variables, java, *options]

    return Programs(description=f"on the host's JVM: the tools of {version}", in_container=False, command=command)


def _compile(version: str, jars: Path, target: Path) -> None:
    sources = [path for folder in _folders(version) for path in folder.glob("*.java")]
    options: list[str | Path] = ["-nowarn", "-Xlint:-options", "-encoding", "UTF-8", "-cp", f"{jars}/*", "-d", target]
    artifacts.run([artifacts.javac(), *options, *sources])


def _folders(version: str) -> list[Path]:
    """The programs of the catalogue, and those of the tests."""
    return [place / name for place in (build.SOURCES, _OWN) for name in _SOURCES[version] if (place / name).is_dir()]


def _digest() -> str:
    own = (path.read_bytes() for path in sorted(_OWN.rglob("*.java")))
    return image.digest([build.sources_digest().encode(), *own])


def mqadmin(client: Client, *args: str) -> list[str]:
    """What a command of the official tool prints, line by line."""
    return [str(event["text"]) for event in client.only("line", "Mqadmin", arg=args)]


def output_of(client: Client, *args: str) -> list[str]:
    """What a command prints, and after it what it writes to its standard error but for the frames of stacks."""
    printed = client.run("Mqadmin", arg=args)
    return [str(event["text"]) for kind in ("line", "error") for event in events(printed, kind)]
