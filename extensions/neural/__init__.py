"""The metric COMET; see docs/how-to/neural-metrics.md."""
