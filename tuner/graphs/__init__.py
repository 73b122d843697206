"""Search graphs: lattices and hypergraphs of decoders, read into arrays and asked for k-best lists.

It may import `base`, `texts`, `weights` and `nbest`.
"""
