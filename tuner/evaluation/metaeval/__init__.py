"""Measures how well metrics agree with human scores of several systems' outputs.

Formulas in docs/metrics/meta-evaluation.md. On the level of systems, documents and segments, with
bootstrap intervals and tests of whether one metric agrees better than another.
"""
