"""Holds feature weights and reads and writes the files they stand in.

It imports the floor below the rooms.
"""
