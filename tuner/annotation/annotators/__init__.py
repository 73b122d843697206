"""Holds programs and files that tag and parse texts, one in each public file."""
