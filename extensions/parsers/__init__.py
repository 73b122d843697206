"""`portmert annotate`, and the parsers of libraries; see docs/how-to/syntax-metrics.md.

BLLIP, spaCy, Stanza and UDPipe.
"""
