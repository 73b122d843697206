"""Semantic roles and discourse representations as single tools write them.

The annotator `semantics` reads files of SENNA, CoNLL's shared tasks, Boxer and the Parallel
Meaning Bank; see docs/how-to/syntax-metrics.md.
"""
