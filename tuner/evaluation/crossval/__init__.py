"""Tunes on half of the segments of given lists and scores the other half, for every choice.

It imports search and the rooms below it, and no other room of evaluation.
"""
