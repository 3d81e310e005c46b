"""Monitoring over HTTP: health, readiness, metrics.

Begin with `endpoint`, the routes; `scrape` makes `/metrics` of what `sources` names.
May import: every room that its layer allows (pyproject.toml); `native`, `store`, `wire`.
"""
