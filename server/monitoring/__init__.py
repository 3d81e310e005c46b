"""Monitoring over HTTP: health, readiness, metrics."""
