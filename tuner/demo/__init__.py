"""Tune a decoder between two invented languages."""
