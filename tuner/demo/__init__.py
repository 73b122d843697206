"""Tunes recorded lists and a decoder from Japanese to English, for `portmert demo`."""
