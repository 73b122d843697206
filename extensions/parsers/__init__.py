"""The parsers BLLIP, spaCy, Stanza and UDPipe, of libraries; see docs/how-to/syntax-metrics.md."""
