"""Reads `--executor`: threads (base/threads.py) or a Dask cluster (extensions/cluster)."""
