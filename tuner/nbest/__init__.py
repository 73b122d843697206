"""Read, merge, check and write n-best lists.

It imports texts, weights and base.
"""
