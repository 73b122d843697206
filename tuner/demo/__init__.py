"""Tunes a decoder between two invented languages, for `portmert demo`."""
