"""Annotators, one in each public file: they tag and parse texts, or read tags and parses."""
