"""Reads the history of a run of tuning and reports it, iteration by iteration.

It imports runs and all packages below it, never comparison.
"""
