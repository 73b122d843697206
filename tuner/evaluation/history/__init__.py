"""How one run of tuning went, iteration by iteration.

It imports runs and all rooms below it, never comparison.
"""
