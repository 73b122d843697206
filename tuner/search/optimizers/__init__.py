"""Optimizers: one per public module."""
