"""Tests of the C kernel itself; where Python does its work there is nothing to test."""

from rocketwire import native

if native.kernel is None:
    collect_ignore_glob = ["test_*.py"]
