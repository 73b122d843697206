"""Shows documents of comparisons and runs as one HTML file.

It imports comparison (how numbers are written, the sentences of a summary), never the other way.
"""
