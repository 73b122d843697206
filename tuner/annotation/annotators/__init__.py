"""Annotators: programs and files that give texts tags and parses, one in each public file."""
