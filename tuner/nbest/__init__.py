"""Reads, merges, checks and writes n-best lists.

It imports texts, weights and the floor below the rooms.
"""
