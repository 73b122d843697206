"""`portmert report`: how runs of `tune` came to their weights; see docs/how-to/tune.md.

Pages of comparisons show it too.
"""
