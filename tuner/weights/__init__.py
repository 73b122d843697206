"""Feature weights, and the files that they are read from and written to.

It imports the floor below the rooms.
"""
