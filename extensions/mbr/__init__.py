"""Minimum Bayes risk: `rerank --mbr` and features `mbr:METRIC`; see docs/how-to/mbr.md."""
