"""What every room stands on, the aligners too: errors, files, programs, processes, numbers.

It imports no other room.
"""
