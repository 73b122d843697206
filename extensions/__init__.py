"""Extensions of portmert: each folder can be taken off, and the core works without it.

An extension holds all that is its own: operation, command, components, kernels. It registers as a
package of somebody else would, by the entry points in pyproject.toml (docs/how-to/own-metric.md).
It may import the core; neither the core nor another extension imports it.
"""
