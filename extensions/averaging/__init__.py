"""`portmert.average`: the average of weights in several files; see docs/how-to/rerank.md."""
