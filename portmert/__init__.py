"""Tunes translation weights exactly on any metric that has sufficient statistics."""
