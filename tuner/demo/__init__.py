"""Tunes a decoder between two made-up languages, with everything that takes."""
