"""Readers of search graphs: a format in each public file."""
