"""Apache's 4.9.7 administration tools, in a JVM of the host: DefaultMQAdminExt and the commands of `mqadmin`.

The server's jars hold the tools and the client too; so all scenarios run there, and those of `java/tools` besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from compat_tests import artifacts, image
from compat_tests.clients import JVM_FLAGS, Client, Programs

VERSION: Final = "4.9.7"
_SOURCES: Final = ("common", "v4", "tools")


def tools(folder: Path) -> Programs:
    """The scenarios with the tools; what a command writes goes into `folder`."""
    jars = artifacts.jars(VERSION, kind="server")
    classes = artifacts.cached(f"classes/tools-{image.sources_digest()}", lambda target: _compile(jars, target))
    java = artifacts.java()
    (folder / "conf").mkdir(exist_ok=True)
    (folder / "conf" / "logback_tools.xml").write_text("<configuration/>", "utf-8")  # mqadmin runs nothing without it

    def command(version: str, env: Mapping[str, str], name: str) -> list[str]:
        del version, name  # there is one version, and no container
        variables = [f"{key}={value}" for key, value in env.items()]
        options = [
            *JVM_FLAGS,
            f"-Duser.home={folder}",
            f"-Drocketmq.home.dir={folder}",
            "-cp",
            artifacts.classpath(classes, jars),
        ]
        return ["env", "-C", str(folder), *variables, java, *options]

    return Programs(description=f"on the host's JVM: the tools of {VERSION}", in_container=False, command=command)


def _compile(jars: Path, target: Path) -> None:
    sources = [path for folder in _SOURCES for path in (image.HERE / "java" / folder).glob("*.java")]
    options: list[str | Path] = ["-nowarn", "-Xlint:-options", "-encoding", "UTF-8", "-cp", f"{jars}/*", "-d", target]
    artifacts.run([artifacts.javac(), *options, *sources])


def mqadmin(client: Client, *args: str) -> list[str]:
    """What a command of the official tool prints, line by line."""
    return [str(event["text"]) for event in client.only("line", "Mqadmin", arg=args)]
