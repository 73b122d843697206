"""Shows what a command found as one HTML file.

It stands above all other rooms of evaluation and imports their reports.
"""
