"""Computes the statistics of metrics in compiled loops, from arrays and numbers.

Inputs are read-only, and every kernel releases the interpreter lock. Python calls kernels; only
kernels call helpers.
"""
