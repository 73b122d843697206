"""Optimizers, which search for weights; one in each public module."""
