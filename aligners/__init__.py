"""Aligns words; one aligner per public module, all returning 0-based source-target links."""
