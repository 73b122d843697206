"""Translation metrics as sufficient statistics: numbers that add over segments.

Pure: no files, no programs, no logging. One metric per public module; a new metric is one new
file (see `metrics._base.Metric`).
"""
