"""The aligner `giza`: MGIZA++ by its programs; see docs/how-to/aligners.md."""
