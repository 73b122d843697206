"""Shows the results of a command as one HTML file.

It is above all other rooms of evaluation and imports their reports.
"""
