"""`portmert.Reranker`: orders the candidates of one request after another; docs/how-to/python.md.

Services call it with weights that were tuned before.
"""
