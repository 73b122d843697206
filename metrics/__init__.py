"""Defines translation metrics by sufficient statistics: numbers that add over segments.

It runs no programs and writes no logs, and reads a file only if an option names one (a lexicon, a
model). A public module has one metric or a family of metrics. A new metric is one new class, see
`portmert.metrics._base.Metric`.
"""

if __name__ != "portmert.metrics":  # one name each: another would load it twice
    raise ImportError("import portmert.metrics; this folder is a part of it")
