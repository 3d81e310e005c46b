"""Request handlers: one module a family, each with its table of request codes."""
