"""Read n-best lists, one public file for each format."""
