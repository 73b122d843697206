"""Charts of reports and of searches in files, by Matplotlib; see docs/explanation/optimizer.md."""
