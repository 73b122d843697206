"""Tools for every package and the aligners: errors, files, programs, processes, numbers.

It imports no other package.
"""
