"""How the process is, told over HTTP: health, readiness, metrics."""
