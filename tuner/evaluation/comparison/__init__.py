"""Compares systems: scores, significance, and where they differ.

It imports significance and all packages below evaluation.
"""
