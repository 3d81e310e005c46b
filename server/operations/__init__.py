"""For who looks after the process: HTTP, metrics and health, faults on purpose."""
