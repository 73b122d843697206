"""Metrics whose weights are learnt from human scores; see docs/metrics/terp.md."""
