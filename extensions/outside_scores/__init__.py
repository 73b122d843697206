"""Compares and scores systems by numbers that other programs computed; see docs/how-to/compare.md.

`compare a=FILE#KEY b=FILE#KEY` and `score --metric scores:FILE#KEY`, without texts.
"""
