"""How well metrics agree with human scores of several systems' outputs.

Section 12 of the metric specification: on the level of systems, documents and segments, with
bootstrap intervals and tests of whether one metric agrees better than another.
"""
