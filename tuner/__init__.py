"""Exact tuning of translation weights on any metric that has sufficient statistics."""

__version__ = "0.1.0"
