"""Tunes translation weights exactly on any metric that has sufficient statistics."""

__version__ = "0.1.0"
