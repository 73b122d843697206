"""Measures how well metrics agree with human scores of several systems' outputs.

Agreement is measured for systems, documents and segments, with bootstrap intervals and tests of
whether one metric agrees better than another. Formulas are in docs/metrics/meta-evaluation.md.
"""
