"""Tools for every room and the aligners: errors, files, programs, processes, numbers.

It imports no other room.
"""
