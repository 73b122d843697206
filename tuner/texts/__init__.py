"""Makes texts ready for metrics and scores them: tokens, links, text steps, statistics.

It imports the floor below the rooms.
"""
