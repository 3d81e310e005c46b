"""A client that is a Python script, and facts of an endpoint that is not there."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from rocketwire.compat.case import Case
from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.endpoint import Access, Facts, Product
from rocketwire.compat.scenario import Need, Scenario

PROGRAMS = frozenset({"Echo", "Crash", "Hang", "Die"})
SCRIPT = Path(__file__).with_name("runner_script.py")


class Script(Adapter):
    """Runs the script of the tests."""

    name = "A script"
    version = "1"
    language = "Python"

    def __init__(self, id_: str = "script-1", programs: frozenset[str] = PROGRAMS) -> None:
        self.id = id_
        self.programs = programs
        self.commands: list[Mapping[str, str]] = []

    def prepare(self, engine: Engine) -> None:
        """Nothing is fetched."""

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        self.commands.append(env)
        return [sys.executable, str(SCRIPT)]


class Signing(Script):
    """One that can do all."""

    secures = frozenset(Security)

    def environment(self, security: frozenset[Security]) -> dict[str, str]:
        return {"SECURITY": " ".join(sorted(security))} if security else {}


def facts(product: Product = Product.APACHE, version: str = "4.9.7", **offers: bool) -> Facts:
    return Facts(
        access=Access(namesrv="127.0.0.1:1"),
        product=product,
        version=version,
        offers={Need[name.upper()]: value for name, value in offers.items()},
    )


def made(run: Callable[[Case], object], id_: str = "send.made", **more: object) -> Scenario:
    settings = {"proves": "It is made for a test.", "source": "this test", "limit": 20.0, **more}
    return Scenario(id=id_, run=run, **settings)  # type: ignore[arg-type]
