"""The lists of docs/request-codes.md, made from the handlers' tables."""

from rocketwire.server.registry import FAMILIES, UNSUPPORTED
from tools.markdown import table as markdown_table


def table() -> str:
    """One row a served request code, in the order of the codes, family by family."""
    rows = [
        (family, str(int(route.code)), f"`{route.code.name}`", route.heading)
        for family, routes in FAMILIES.items()
        for route in sorted(routes, key=lambda route: route.code)
    ]
    return markdown_table(("family", "code", "name", "what it does"), rows)


def unsupported() -> str:
    """The codes that have a name and no handler, as one paragraph."""
    return ", ".join(f"{int(code)} `{code.name}`" for code in sorted(UNSUPPORTED)) + "\n"
