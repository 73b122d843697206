"""The metric M2 of grammar correction, and gold edits as references; see docs/metrics/m2.md."""
