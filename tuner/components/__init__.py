"""Turns names in configurations into metrics, optimizers and all other components.

It imports every package below it.
"""
