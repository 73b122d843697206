"""Search graphs in place of n-best lists: their best strings under any weights.

`Lists.from_graphs`, `--graphs`, the decoder `graphs`, and more hypotheses in `tune` from the
graphs that a decoder writes; see docs/how-to/graphs.md.
"""
