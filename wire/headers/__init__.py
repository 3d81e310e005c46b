"""Typed request and response headers: the extFields of each code, one module a family."""
