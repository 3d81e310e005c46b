"""The report as one HTML page that needs nothing else: no network, no other file."""

from rocketwire.compat.report.page.document import page

__all__ = ["page"]
