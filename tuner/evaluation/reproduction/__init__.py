"""The tables of the PORT paper, filled with one's own systems."""
