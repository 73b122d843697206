"""Tunes on half of the segments of given lists and scores the other half, for every choice.

It imports search and the packages below it, and no other package of evaluation.
"""
