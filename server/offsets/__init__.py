"""How far groups have consumed."""
