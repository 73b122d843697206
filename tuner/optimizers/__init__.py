"""Optimizers: one per public module, all searching weights with exact line searches."""
