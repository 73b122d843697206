"""Fills the tables of the PORT paper with the user's own systems; see docs/metrics/port.md."""
