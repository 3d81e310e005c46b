"""Whether the official clients work with an endpoint: the scenarios, the engine that runs them, and the report."""
