"""Shows the results of a command as one HTML file.

It is above all other packages of evaluation and imports their reports.
"""
