"""Computes what metrics count, in compiled loops: arrays and numbers in and out.

Inputs are read-only, and every kernel releases the interpreter lock. Python calls a kernel; only
kernels call a helper.
"""
