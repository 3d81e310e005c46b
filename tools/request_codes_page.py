"""The lists of docs/request-codes.md, made from the handlers' tables."""

from rocketwire.server.registry import FAMILIES, UNSUPPORTED
from tools.codes_not_served import by_reason
from tools.markdown import table as markdown_table


def table() -> str:
    """One row a served request code, in the order of the codes, family by family."""
    rows = [
        (family, str(int(route.code)), f"`{route.code.name}`", route.summary)
        for family, routes in FAMILIES.items()
        for route in sorted(routes, key=lambda route: route.code)
    ]
    return markdown_table(("family", "code", "name", "what it does"), rows)


def unsupported() -> str:
    """One row a reason, with the codes that have a name and, for this reason, no handler."""
    rows = [
        (reason, ", ".join(f"{int(code)} `{code.name}`" for code in codes)) for reason, codes in by_reason(UNSUPPORTED)
    ]
    return markdown_table(("reason", "codes"), rows)
