"""The Rust client of 5.x."""
