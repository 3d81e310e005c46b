"""Monitoring over HTTP: health, readiness, metrics.

Begin with `endpoint`, the routes; `scrape` makes `/metrics` from the objects in `sources`.
May import: every room that its layer allows (pyproject.toml); `native`, `store`, `wire`.
"""
