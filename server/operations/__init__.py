"""Operations: the HTTP server, metrics and health, fault injection."""
