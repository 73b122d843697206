"""Defines translation metrics by sufficient statistics: numbers that add over segments.

No programs and no logging; files are read only where an option names one (a lexicon, a model). One
metric per public module; a new metric is one new file (see `portmert.metrics._base.Metric`).
"""

if __name__ != "portmert.metrics":  # one name each: another would load it twice
    raise ImportError("import portmert.metrics; this folder is a part of it")
