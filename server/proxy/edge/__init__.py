"""What a proxy lets through: codes that its access control decides about, requests that wait for that, read-only."""
