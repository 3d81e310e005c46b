"""JSON bodies, with fastjson's quirks in one place."""
