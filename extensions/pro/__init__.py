"""The optimizer `pro`, pairwise ranking; see docs/explanation/optimizer.md."""
