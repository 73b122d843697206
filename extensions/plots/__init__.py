"""Charts of reports and of searches in files, drawn by Matplotlib; see docs/explanation/optimizer.md."""
