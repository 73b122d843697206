"""Optimizers, one in each public module."""
