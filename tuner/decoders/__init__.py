"""Decoders, which turn weights into n-best lists; one in each public module."""
