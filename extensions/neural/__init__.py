"""The metric COMET and the annotators spaCy and Stanza; see docs/how-to/neural-metrics.md."""
