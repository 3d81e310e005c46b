"""Moving the server's clock, for tests of applications (docs/testing-applications.md)."""
