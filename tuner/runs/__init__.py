"""Run the outer loop from a configuration to tuned weights: decode, merge, optimize, again.

It imports decoders, components, search and all packages below them.
"""
