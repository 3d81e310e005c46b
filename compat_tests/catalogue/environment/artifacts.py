"""Downloads of the compatibility harness and the benchmark, fetched once and cached.

Theory: everything comes through a package manager's ordinary client, by name and exact version:
Apache RocketMQ's jars through Maven, the Go client through the go tool, programs through apt.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rocketwire.compat.environment.cache import CACHE, cached, locked

CLIENT_VERSIONS: Final = ("4.9.7", "4.4.0", "5.5.0")
SERVER_VERSIONS: Final = ("4.9.7", "5.5.0")

GO_MODULE: Final = "github.com/apache/rocketmq-client-go/v2"
GO_VERSION: Final = "v2.1.0"
# What the client reads JSON with: the versions it names itself reach into Go's runtime as it was before 1.18, and crash
# in a later one.
GO_JSON: Final = ("github.com/json-iterator/go v1.1.12", "github.com/modern-go/reflect2 v1.0.2")

# Maven artifact ids of one set; `tools` holds the client too (rocketmq-tools depends on it).
JAR_SETS: Final[Mapping[str, tuple[str, ...]]] = {
    "client": ("rocketmq-client",),
    "tools": ("rocketmq-client", "rocketmq-tools"),
    "server": ("rocketmq-namesrv", "rocketmq-broker"),
    "proxy": ("rocketmq-namesrv", "rocketmq-broker", "rocketmq-proxy"),
    "sdk": ("rocketmq-client-java",),
}
_COPY_GOAL: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

# The program that proves a Debian package installed -> the package.
PACKAGES: Final[Mapping[str, str]] = {
    "mvn": "maven",
    "java": "openjdk-17-jdk-headless",
    "javac": "openjdk-17-jdk-headless",
    "go": "golang-go",
    "node": "nodejs",
    "npm": "npm",
    "cargo": "cargo",
}
# Java 17 hides packages that RocketMQ 4.x reaches into; both clients and servers start with these.
JAVA_FLAGS: Final = (
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "-Djava.net.preferIPv4Stack=true",
    "-Dfile.encoding=UTF-8",
)


class ArtifactError(Exception):
    """Something that the tests need is not available; the text is one line for the user."""


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 900,
) -> str:
    """Run `command` to its end and return what it printed on stdout.

    Raises ArtifactError with the command's last line of output when it fails or takes longer than `timeout` seconds.
    """
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=env,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
    except FileNotFoundError as error:
        raise ArtifactError(f"{name}: no such program on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise ArtifactError(f"{name}: not done after {timeout:.0f} s") from error
    if done.returncode != 0:
        raise ArtifactError(f"{name} failed ({done.returncode}): {_reason(done.stdout + done.stderr)}")
    return done.stdout


def _reason(output: str) -> str:
    """The most useful line of `output`: the first with an error mark, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marked = (line for line in lines if "ERROR" in line or "E: " in line or "error:" in line.lower())
    return next(marked, lines[-1] if lines else "it printed nothing")


def ensure_programs(wanted: Mapping[str, str]) -> None:
    """Install with apt-get the Debian packages of those programs in `wanted` (program -> package) that are missing.

    Raises ArtifactError naming the missing programs where that is not possible.
    """
    missing = {program: package for program, package in wanted.items() if not _found(program)}
    if not missing:
        return
    need = ", ".join(sorted(missing))
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        packages = " ".join(sorted(set(missing.values())))
        raise ArtifactError(f"missing on this machine: {need} (as root: apt-get install {packages})")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-q"], env=env)
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends"]
    run([*install, *sorted(set(missing.values()))], env=env)
    if still := [program for program in missing if not _found(program)]:
        raise ArtifactError(f"apt-get installed the packages, yet these are not found: {', '.join(still)}")


def _found(program: str) -> bool:
    """Whether `program` exists; administrators' programs are searched outside a plain user's PATH too."""
    return (
        shutil.which(program) is not None or shutil.which(program, path="/usr/local/sbin:/usr/sbin:/sbin") is not None
    )


def jars(version: str, *, kind: str = "client") -> Path:
    """The directory of the jars of RocketMQ `version`, dependencies included.

    `kind` is "client", "tools" (client and admin tools), "server" (name server and broker), "proxy" (those and the
    proxy) or "sdk" (the Java client of 5.x, which has other versions).
    Raises ArtifactError when Maven can't bring them.
    """
    if kind not in JAR_SETS:
        raise ArtifactError(f"no set of jars is called {kind!r}; there are {', '.join(JAR_SETS)}")
    entry = _jars_entry(kind, version)
    if not entry.is_dir():
        fetch_jars([(kind, version)])
    return entry


def fetch_jars(sets: Sequence[tuple[str, str]]) -> None:
    """Fetch those of these sets (kind and version) that the cache has not, in one run of Maven.

    Raises ArtifactError when Maven can't bring them.
    """
    ensure_programs({name: PACKAGES[name] for name in ("mvn", "java")})
    with locked("jars"), tempfile.TemporaryDirectory(prefix=".jars-", dir=CACHE) as scratch:
        missing = [each for each in sets if not _jars_entry(*each).is_dir()]
        if not missing:  # another process may have fetched them meanwhile
            return
        _copy_jars(missing, Path(scratch))
        for kind, version in missing:
            fetched = Path(scratch) / "jars" / f"{kind}-{version}"
            for artifact in JAR_SETS[kind]:
                if not (fetched / f"{artifact}-{version}.jar").is_file():
                    raise ArtifactError(f"Maven brought no {artifact} {version}")
            entry = _jars_entry(kind, version)
            entry.parent.mkdir(exist_ok=True)
            fetched.rename(entry)


def _jars_entry(kind: str, version: str) -> Path:
    return CACHE / "jars" / f"{kind}-{version}"


def _copy_jars(sets: Sequence[tuple[str, str]], folder: Path) -> None:
    """Copy the jars of each set into `folder`/jars/KIND-VERSION: a Maven project of one module a set."""
    for kind, version in sets:
        module = folder / f"{kind}-{version}"
        module.mkdir()
        dependencies = "".join(
            f"<dependency><groupId>org.apache.rocketmq</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version></dependency>"
            for artifact in JAR_SETS[kind]
        )
        (module / "pom.xml").write_text(_pom(module.name, f"<dependencies>{dependencies}</dependencies>"), "utf-8")
    modules = "".join(f"<module>{kind}-{version}</module>" for kind, version in sets)
    pom = folder / "pom.xml"
    pom.write_text(_pom("all", f"<modules>{modules}</modules>"), "utf-8")
    _copy_dependencies(pom, f"{folder}/jars/${{project.artifactId}}")


def jars_of(group: str, artifact: str, version: str, *, without: Sequence[str] = ()) -> Path:
    """The directory of any jar with its dependencies, less those of the groups `without`.

    Raises ArtifactError when Maven can't bring them.
    """

    def fetch(target: Path) -> None:
        ensure_programs({name: PACKAGES[name] for name in ("mvn", "java")})
        left_out = "".join(
            f"<exclusion><groupId>{each}</groupId><artifactId>*</artifactId></exclusion>" for each in without
        )
        dependency = (
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
            f"<exclusions>{left_out}</exclusions></dependency>"
        )
        with tempfile.TemporaryDirectory(prefix=".pom-", dir=CACHE) as scratch:
            pom = Path(scratch) / "pom.xml"
            pom.write_text(_pom(artifact, f"<dependencies>{dependency}</dependencies>"), "utf-8")
            _copy_dependencies(pom, target)

    return cached(f"jars/{artifact}-{version}", fetch)


def _copy_dependencies(pom: Path, to: Path | str) -> None:
    """Copy what a project needs when it runs to the folder `to`."""
    # A short life: start fast.
    options = f"{os.environ.get('MAVEN_OPTS', '')} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    run(
        ["mvn", "-q", "-B", "-f", pom, _COPY_GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={to}"],
        env={**os.environ, "MAVEN_OPTS": options},
    )


def _pom(name: str, content: str) -> str:
    """A Maven project that is not built."""
    return (
        f"<project><modelVersion>4.0.0</modelVersion><groupId>rocketwire</groupId><artifactId>{name}</artifactId>"
        f"<version>1</version><packaging>pom</packaging>{content}</project>"
    )


def classpath(*entries: Path) -> str:
    """A Java class path: of a directory of jars all its jars, of any other entry the entry."""
    return ":".join(f"{entry}/*" if any(entry.glob("*.jar")) else str(entry) for entry in entries)


def java() -> str:
    """The host's `java`; installed when missing. Raises ArtifactError."""
    return _program("java")


def javac() -> str:
    """The host's `javac`; installed when missing. Raises ArtifactError."""
    return _program("javac")


def go() -> str:
    """The host's `go` tool; installed when missing. Raises ArtifactError."""
    return _program("go")


def node() -> str:
    """The host's `node`; installed when missing. Raises ArtifactError."""
    return _program("node")


def cargo() -> str:
    """The host's `cargo`; installed when missing. Raises ArtifactError."""
    return _program("cargo")


def npm() -> str:
    """The host's `npm`; installed when missing. Raises ArtifactError."""
    return _program("npm")


def _program(name: str) -> str:
    ensure_programs({name: PACKAGES[name]})
    found = shutil.which(name)
    if found is None:
        raise ArtifactError(f"{name}: no such program on this machine")
    return found


def go_module() -> Path:
    """The Go module that requires the client, its dependencies fetched and built. Raises ArtifactError."""
    return cached(f"go/client-{GO_VERSION}-json-{GO_JSON[0].rpartition(' ')[2]}", _go_module)


def _go_module(target: Path) -> None:
    """A Go module in `target` that requires the client, with the sums of all it depends on."""
    required = "".join(f"require {module}\n" for module in (f"{GO_MODULE} {GO_VERSION}", *GO_JSON))
    (target / "go.mod").write_text(f"module rocketwire/compat\n\ngo 1.19\n\n{required}", "utf-8")
    packages = (GO_MODULE, *(f"{GO_MODULE}/{name}" for name in ("consumer", "producer", "primitive", "admin")))
    packages += tuple(module.split(" ")[0] for module in GO_JSON)
    imports = "".join(f'\t_ "{package}"\n' for package in packages)
    (target / "deps").mkdir()
    (target / "deps" / "deps.go").write_text(f"package deps\n\nimport (\n{imports})\n", "utf-8")
    run([go(), "mod", "tidy"], cwd=target, env=go_environment())
    run([go(), "build", "./deps"], cwd=target, env=go_environment())


def go_environment() -> dict[str, str]:
    """The environment of the go tool: whatever module settings the machine has, the tool never replaced by another."""
    return {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"}
