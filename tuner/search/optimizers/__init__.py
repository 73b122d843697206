"""Searches for weights, one optimizer in each public module."""
