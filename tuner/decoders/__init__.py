"""Decoders: one per public module."""
