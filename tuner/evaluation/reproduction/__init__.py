"""Fills the tables of the PORT paper with one's own systems."""
