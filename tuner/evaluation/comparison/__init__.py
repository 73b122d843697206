"""Compares systems: scores, significance, and where they differ.

It imports history, significance and all packages below evaluation.
"""
