"""Feature weights, and the formats of their files.

It imports base.
"""
