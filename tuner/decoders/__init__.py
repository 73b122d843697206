"""Runs decoders, one in each public module."""
