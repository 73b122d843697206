"""Decoders, one in each public module."""
