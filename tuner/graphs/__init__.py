"""Search graphs of decoders, read into arrays and asked for their best strings.

It may import `base`, `texts`, `weights` and `nbest`.
"""
