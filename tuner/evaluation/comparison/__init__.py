"""Systems side by side: scores, significance, and where they differ."""
